#include "hermetic/record/secret_shapes.h"

#include <algorithm>
#include <array>

#include "hermetic/base/text.h"
#include "hermetic/record/secret_names.h"

namespace hermetic {
namespace {

using Spans = std::vector<SecretSpan>;
constexpr std::size_t kNone = std::string_view::npos;

bool is_alphanumeric(char c) {
  return is_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f' || c == '\0';
}
bool is_quote(char c) { return c == '"' || c == '\'' || c == '`'; }
bool is_name(char c) { return is_alphanumeric(c) || c == '_' || c == '-' || c == '.'; }

enum class Alphabet { Alphanumeric, Upper, Underscore, Dash, Url };

bool belongs(Alphabet alphabet, char c) {
  switch (alphabet) {
    case Alphabet::Alphanumeric: return is_alphanumeric(c);
    case Alphabet::Upper: return is_digit(c) || (c >= 'A' && c <= 'Z');
    case Alphabet::Underscore: return is_alphanumeric(c) || c == '_';
    case Alphabet::Dash: return is_alphanumeric(c) || c == '-';
    case Alphabet::Url: return is_alphanumeric(c) || c == '-' || c == '_';
  }
  return false;
}

// What stands before a token is not looked at: a token that was glued to something is one, too.
// The lengths are somewhat below those that are given out.
struct TokenForm {
  std::string_view prefix;
  Alphabet alphabet;
  std::size_t shortest;  // of what follows the prefix
};
constexpr std::array<TokenForm, 27> kTokens = {{
    {"ghp_", Alphabet::Alphanumeric, 30},
    {"gho_", Alphabet::Alphanumeric, 30},
    {"ghu_", Alphabet::Alphanumeric, 30},
    {"ghs_", Alphabet::Alphanumeric, 30},
    {"ghr_", Alphabet::Alphanumeric, 30},
    {"github_pat_", Alphabet::Underscore, 22},
    {"glpat-", Alphabet::Url, 16},
    {"AKIA", Alphabet::Upper, 16},
    {"ASIA", Alphabet::Upper, 16},
    {"xoxa-", Alphabet::Dash, 10},
    {"xoxb-", Alphabet::Dash, 10},
    {"xoxe-", Alphabet::Dash, 10},
    {"xoxo-", Alphabet::Dash, 10},
    {"xoxp-", Alphabet::Dash, 10},
    {"xoxr-", Alphabet::Dash, 10},
    {"xoxs-", Alphabet::Dash, 10},
    {"xapp-", Alphabet::Dash, 10},
    {"AIza", Alphabet::Url, 30},
    {"npm_", Alphabet::Alphanumeric, 30},
    {"pypi-Ag", Alphabet::Url, 30},
    {"hf_", Alphabet::Alphanumeric, 30},
    {"sk-ant-", Alphabet::Url, 20},
    {"sk-proj-", Alphabet::Url, 20},
    {"sk_live_", Alphabet::Alphanumeric, 16},
    {"rk_live_", Alphabet::Alphanumeric, 16},
    {"dop_v1_", Alphabet::Alphanumeric, 40},
    {"shpat_", Alphabet::Alphanumeric, 30},
}};

template <class Belongs>
std::size_t end_of_run(std::string_view text, std::size_t from, Belongs belongs_to_it) {
  while (from < text.size() && belongs_to_it(text[from])) ++from;
  return from;
}

// The secret of an AWS id often stands beside it, parted by a colon, a comma or blanks.
std::size_t end_of_aws_neighbour(std::string_view text, std::size_t end) {
  constexpr std::size_t kLength = 40;
  constexpr std::size_t kWidest = 4;
  const std::string_view near = text.substr(end, kWidest);
  const std::size_t gap = end_of_run(near, 0, [](char c) {
    return is_blank(c) || is_quote(c) || c == ':' || c == ',' || c == ';';
  });
  if (gap == 0) return end;
  const std::size_t begin = end + gap;
  const std::size_t stop = end_of_run(
      text, begin, [](char c) { return is_alphanumeric(c) || c == '/' || c == '+' || c == '='; });
  return stop - begin >= kLength ? stop : end;
}

void find_tokens(std::string_view text, Spans& spans) {
  for (std::size_t at = 0; at < text.size();) {
    const auto* const form = std::find_if(kTokens.begin(), kTokens.end(), [&](const auto& token) {
      return text.substr(at).starts_with(token.prefix);
    });
    if (form == kTokens.end()) {
      ++at;
      continue;
    }
    const std::size_t begin = at + form->prefix.size();
    std::size_t end = end_of_run(text, begin, [&](char c) { return belongs(form->alphabet, c); });
    // Too short: nothing that begins inside it is skipped.
    if (end - begin < form->shortest) {
      ++at;
      continue;
    }
    if (form->alphabet == Alphabet::Upper) end = end_of_aws_neighbour(text, end);
    spans.push_back({at, end});
    at = end;
  }
}

// header.claims.signature, the first two of which are JSON objects in base64.
void find_web_tokens(std::string_view text, Spans& spans) {
  const auto part = [&](std::size_t from) {
    return end_of_run(text, from, [](char c) { return belongs(Alphabet::Url, c); });
  };
  for (std::size_t at = 0; (at = text.find("eyJ", at)) != kNone;) {
    const std::size_t header = part(at);
    if (!text.substr(header).starts_with(".eyJ")) {
      at = header;
      continue;
    }
    std::size_t end = part(header + 1);
    if (end < text.size() && text[end] == '.') end = part(end + 1);
    spans.push_back({at, end});
    at = end;
  }
}

void find_private_keys(std::string_view text, Spans& spans) {
  constexpr std::string_view kBegin = "-----BEGIN ";
  constexpr std::string_view kKind = "PRIVATE KEY";
  constexpr std::string_view kEnd = "-----END ";
  constexpr std::string_view kDashes = "-----";
  constexpr std::size_t kLongestKind = 40;
  for (std::size_t at = 0; (at = text.find(kBegin, at)) != kNone;) {
    const std::size_t kind = at + kBegin.size();
    if (text.substr(kind, kLongestKind).find(kKind) == kNone) {
      at = kind;
      continue;
    }
    // A text that was cut has no end.
    std::size_t end = text.find(kEnd, kind);
    if (end != kNone) end = text.find(kDashes, end + kEnd.size());
    end = end == kNone ? text.size() : end + kDashes.size();
    spans.push_back({at, end});
    at = end;
  }
}

bool all_digits(std::string_view text) { return std::all_of(text.begin(), text.end(), is_digit); }

// Where the user info of an address ends, whose first word after :// this is, or npos. A password
// that should have been encoded may hold what ends the authority: then it is the last @ that
// counts.
std::size_t end_of_user_info(std::string_view authority, std::size_t last_at) {
  if (const std::size_t at = authority.rfind('@'); at != kNone) return at;
  const std::size_t colon = authority.find(':');
  if (colon == kNone || authority.front() == '[') return kNone;
  const bool is_port = all_digits(authority.substr(colon + 1));
  return is_port ? kNone : last_at;
}

void add_user_info(std::size_t begin, std::string_view user_info, Spans& spans) {
  constexpr std::size_t kLongestUser = 20;  // longer ones are tokens
  const std::size_t colon = user_info.find(':');
  const std::size_t user_end = std::min(colon, user_info.size());
  if (user_end >= kLongestUser) spans.push_back({begin, begin + user_end});
  if (colon != kNone && colon + 1 < user_info.size())
    spans.push_back({begin + colon + 1, begin + user_info.size()});
}

// scheme://user:password@host
void find_user_info(std::string_view text, Spans& spans) {
  const auto is_address = [](char c) {
    return !is_blank(c) && !is_quote(c) && c != '<' && c != '>';
  };
  // Of the word that was looked at last: an address may hold others.
  std::size_t word_end = 0;
  std::size_t last_at = kNone;
  for (std::size_t at = 0; (at = text.find("://", at)) != kNone;) {
    const std::size_t begin = at + 3;
    at = begin;
    if (begin > word_end) {
      word_end = end_of_run(text, begin, is_address);
      last_at = text.substr(begin, word_end - begin).rfind('@');
      if (last_at != kNone) last_at += begin;
    }
    const std::string_view word = text.substr(begin, word_end - begin);
    const bool before = last_at == kNone || last_at < begin;
    const std::size_t end = end_of_user_info(word.substr(0, word.find_first_of("/?#")),
                                             before ? kNone : last_at - begin);
    if (end == kNone) continue;
    add_user_info(begin, word.substr(0, end), spans);
    at = begin + end;
  }
}

// The end of a value in any text. A quote before it ends it, too.
std::size_t end_of_value(std::string_view text, std::size_t begin) {
  if (begin > 0 && is_quote(text[begin - 1])) {
    const std::size_t quote = text.find(text[begin - 1], begin);
    return quote == kNone ? text.size() : quote;
  }
  return end_of_run(text, begin, [](char c) { return !is_blank(c) && !is_quote(c) && c != '&'; });
}

// A quote, which may stand in a quoted text itself: \"
std::size_t skip_quote(std::string_view text, std::size_t from) {
  const std::size_t quote = end_of_run(text, from, [](char c) { return c == '\\'; });
  return quote < text.size() && is_quote(text[quote]) ? quote + 1 : from;
}

std::size_t skip_blanks(std::string_view text, std::size_t from) {
  return end_of_run(text, from, [](char c) { return c == ' ' || c == '\t'; });
}

// "Bearer " is told, what follows is not.
std::size_t skip_scheme(std::string_view text, std::size_t begin) {
  constexpr std::array<std::string_view, 6> kSchemes = {"bearer", "basic",     "token",
                                                        "digest", "negotiate", "apikey"};
  for (const std::string_view scheme : kSchemes) {
    const std::string_view word = text.substr(begin, scheme.size());
    const bool same = std::equal(word.begin(), word.end(), scheme.begin(), scheme.end(),
                                 [](char a, char b) { return (a | 0x20) == b; });
    if (!same) continue;
    const std::size_t value = skip_blanks(text, begin + scheme.size());
    if (value > begin + scheme.size()) return value;
  }
  return begin;
}

bool is_authorization(std::string_view name) {
  constexpr std::string_view kName = "authorization";
  if (name.size() < kName.size()) return false;
  name.remove_prefix(name.size() - kName.size());
  return std::equal(name.begin(), name.end(), kName.begin(),
                    [](char a, char b) { return (a | 0x20) == b; });
}

// Nobody writes names that are longer, and each "=" looks back that far.
constexpr std::size_t kLongestName = 64;

// The name may be in quotes, which may stand in a quoted text themselves: \"name\" :
std::string_view name_before(std::string_view text, std::size_t end) {
  constexpr int kMostBackslashes = 4;
  if (end > 0 && text[end - 1] == ' ') --end;
  if (end > 0 && is_quote(text[end - 1])) {
    --end;
    for (int i = 0; i < kMostBackslashes && end > 0 && text[end - 1] == '\\'; ++i) --end;
  }
  std::size_t begin = end;
  while (begin > 0 && end - begin < kLongestName && is_name(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

// name=value, "name": "value", Name: value
void find_assignments(std::string_view text, Spans& spans) {
  for (std::size_t at = 0; (at = text.find_first_of("=:", at)) != kNone;) {
    const std::size_t separator = at++;
    const std::string_view name = name_before(text, separator);
    if (name.empty() || text.substr(at).starts_with(':')) continue;
    const bool authorization = is_authorization(name);
    const bool assigned = text[separator] == '=';
    if (!authorization && !(assigned ? is_secret_option(name) : is_secret_header(name))) continue;
    std::size_t begin = assigned ? separator + 1 : skip_blanks(text, separator + 1);
    begin = skip_quote(text, begin);
    begin = skip_scheme(text, begin);
    const std::size_t end = end_of_value(text, begin);
    if (end > begin) spans.push_back({begin, end});
    at = std::max(at, end);
  }
}

// --token VALUE, in the middle of a text such as that of sh -c.
void find_options(std::string_view text, Spans& spans) {
  for (std::size_t at = 0; (at = text.find("--", at)) != kNone;) {
    const std::size_t name = at + 2;
    const std::size_t name_end = end_of_run(text, name, is_name);
    at = std::max(name_end, name);
    const std::size_t blanks = skip_blanks(text, name_end);
    if (blanks == name_end || name_end - name > kLongestName) continue;
    if (!is_secret_option(text.substr(name, name_end - name))) continue;
    const std::size_t begin = skip_quote(text, blanks);
    if (text.substr(begin).starts_with("--")) continue;
    const std::size_t end = end_of_value(text, begin);
    if (end > begin) spans.push_back({begin, end});
    at = std::max(at, end);
  }
}

}  // namespace

std::vector<SecretSpan> find_secret_shapes(std::string_view text) {
  Spans spans;
  find_tokens(text, spans);
  find_web_tokens(text, spans);
  find_private_keys(text, spans);
  find_user_info(text, spans);
  find_assignments(text, spans);
  find_options(text, spans);
  return spans;
}

std::size_t secret_assignment(std::string_view argument) {
  const std::size_t equals = argument.find('=');
  if (equals > kLongestName) return kNone;  // or there is none
  const std::string_view name = argument.substr(0, equals);
  if (!std::all_of(name.begin(), name.end(), is_name) || !is_secret_option(name)) return kNone;
  return equals + 1;
}

bool announces_secret(std::string_view argument) {
  return argument.size() > 2 && argument.size() <= kLongestName && argument[0] == '-' &&
         std::all_of(argument.begin(), argument.end(), is_name) && is_secret_option(argument);
}

bool announces_user(std::string_view argument) {
  constexpr std::array<std::string_view, 4> kOptions = {"-u", "-U", "--user", "--proxy-user"};
  return std::find(kOptions.begin(), kOptions.end(), argument) != kOptions.end();
}

std::size_t password_of_user(std::string_view argument) {
  const std::size_t colon = argument.find(':');
  // A user and a group of numbers, as in docker run -u 1000:1000.
  if (colon == kNone || all_digits(argument.substr(colon + 1))) return kNone;
  return colon + 1;
}

}  // namespace hermetic
