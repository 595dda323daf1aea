#include "hermetic/backends/observed/trace_line.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "hermetic/base/text.h"

namespace hermetic::observed {
namespace {

bool is_octal(char c) { return c >= '0' && c <= '7'; }
bool is_name(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || c == '_'; }

template <typename Number>
std::optional<Number> leading_number(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

// Past the text in quotes that begins at `place`; the size if it does not end.
std::size_t end_of_text(std::string_view line, std::size_t place) {
  for (++place; place < line.size(); ++place) {
    if (line[place] == '\\')
      ++place;
    else if (line[place] == '"')
      return place + 1;
  }
  return line.size();
}

// What names the file behind a descriptor is escaped as texts are, '>' among it.
std::size_t end_of_label(std::string_view line, std::size_t place) {
  for (++place; place < line.size(); ++place) {
    if (line[place] == '\\')
      ++place;
    else if (line[place] == '-' && place + 1 < line.size() && line[place + 1] == '>')
      ++place;  // from one address to another
    else if (line[place] == '>')
      return place + 1;
  }
  return line.size();
}

std::string unescaped(std::string_view text) {
  constexpr std::array<std::pair<char, char>, 6> kNamed = {
      {{'n', '\n'}, {'t', '\t'}, {'r', '\r'}, {'v', '\v'}, {'f', '\f'}, {'a', '\a'}}};
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      result += text[i];
      continue;
    }
    const char next = text[++i];
    if (is_octal(next)) {
      unsigned code = 0;
      std::size_t digits = 0;
      for (; digits < 3 && i + digits < text.size() && is_octal(text[i + digits]); ++digits)
        code = code * 8 + static_cast<unsigned>(text[i + digits] - '0');
      result += static_cast<char>(code);
      i += digits - 1;
      continue;
    }
    const auto named =
        std::ranges::find(kNamed, next, [](const auto& entry) { return entry.first; });
    result += named == kNamed.end() ? next : named->second;
  }
  return result;
}

constexpr std::string_view kUnfinished = " <unfinished ...>";
constexpr std::string_view kResumed = " resumed>";

std::string family_of(std::string_view name) {
  if (name.starts_with("AF_")) name.remove_prefix(3);
  if (name == "LOCAL") return "unix";
  std::string family;
  for (const char c : name) family += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return family;
}

// The kernel means the same by both.
std::string plain_address(std::string_view address) {
  constexpr std::string_view kMapped = "::ffff:";
  if (address.starts_with(kMapped) && address.find('.') != std::string_view::npos)
    address.remove_prefix(kMapped.size());
  return std::string(address);
}

std::string_view until(std::string_view text, std::string_view ends) {
  return text.substr(0, std::min(text.find_first_of(ends), text.size()));
}

}  // namespace

std::optional<TraceLine> parse_trace_line(std::string_view line) {
  const std::optional<int> pid = leading_number<int>(line);
  if (!pid || *pid <= 0) return std::nullopt;
  line.remove_prefix(std::min(line.find(' '), line.size()));
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  TraceLine result{.pid = *pid};
  if (line.starts_with("+++ ")) {
    // "+++ superseded by execve in pid 7 +++" is of a thread: what it becomes goes on.
    if (!line.starts_with("+++ exited") && !line.starts_with("+++ killed")) return std::nullopt;
    result.kind = TraceLine::Kind::Ended;
    return result;
  }
  if (constexpr std::string_view kBegin = "<... "; line.starts_with(kBegin)) {
    line.remove_prefix(kBegin.size());
    const std::size_t end = line.find(kResumed);
    if (end == std::string_view::npos || !std::ranges::all_of(line.substr(0, end), is_name))
      return std::nullopt;
    result.kind = TraceLine::Kind::Resumed;
    result.name = line.substr(0, end);
    result.text = line.substr(end + kResumed.size());
    return result;
  }
  const std::size_t bracket = line.find('(');
  if (bracket == std::string_view::npos || bracket == 0 ||
      !std::ranges::all_of(line.substr(0, bracket), is_name))
    return std::nullopt;
  result.name = line.substr(0, bracket);
  // A call that is complete ends with its result: nothing that the command says can be the end.
  if (line.ends_with(kUnfinished)) {
    result.kind = TraceLine::Kind::Unfinished;
    line.remove_suffix(kUnfinished.size());
  }
  result.text = line.substr(bracket);
  return result;
}

TraceCall parse_trace_call(std::string_view text) {
  TraceCall call;
  if (!text.starts_with('(')) return call;
  std::string argument;
  int depth = 1;
  std::size_t place = 1;
  const auto finish = [&] {
    const std::size_t begin = std::min(argument.find_first_not_of(' '), argument.size());
    argument.erase(0, begin);
    if (!argument.empty()) call.arguments.push_back(std::exchange(argument, {}));
  };
  while (place < text.size() && depth > 0) {
    const char c = text[place];
    std::size_t next = place + 1;
    if (c == '"') next = end_of_text(text, place);
    if (c == '<' && place > 0 && is_digit(text[place - 1])) next = end_of_label(text, place);
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (depth == 0 || (c == ',' && depth == 1))
      finish();
    else
      argument += text.substr(place, next - place);
    place = next;
  }
  if (depth > 0) finish();
  if (const std::size_t equals = text.find("= ", place); equals != std::string_view::npos)
    call.result = leading_number<long>(text.substr(equals + 2));
  return call;
}

std::optional<std::string> text_of_argument(std::string_view argument) {
  if (!argument.starts_with('"')) return std::nullopt;
  const std::size_t end = end_of_text(argument, 0);
  return unescaped(argument.substr(1, std::max<std::size_t>(end, 2) - 2));
}

std::vector<std::string> texts_of_argument(std::string_view argument) {
  std::vector<std::string> texts;
  if (!argument.starts_with('[')) return texts;
  for (std::size_t place = 0; place < argument.size();) {
    if (argument[place] != '"') {
      ++place;
      continue;
    }
    const std::size_t end = end_of_text(argument, place);
    if (end - place >= 2) texts.push_back(unescaped(argument.substr(place + 1, end - place - 2)));
    place = end;
  }
  return texts;
}

std::vector<TraceAddress> addresses_in(std::string_view argument) {
  constexpr std::string_view kFamily = "sa_family=";
  std::vector<TraceAddress> found;
  for (std::size_t place = 0; place < argument.size();) {
    const std::string_view rest = argument.substr(place);
    if (rest.starts_with('"')) {
      const std::size_t end = end_of_text(argument, place);
      const std::string_view before = argument.substr(0, place);
      // The only texts that are not the command's own.
      if (!found.empty() &&
          (before.ends_with("inet_addr(") || before.ends_with("inet_pton(AF_INET6, ")) &&
          end - place >= 2)
        found.back().address = plain_address(argument.substr(place + 1, end - place - 2));
      const bool abstract = before.ends_with("sun_path=@");
      if (!found.empty() && found.back().family == "unix" && end - place >= 2 &&
          (abstract || before.ends_with("sun_path=")))
        found.back().path =
            (abstract ? "@" : "") + unescaped(argument.substr(place + 1, end - place - 2));
      place = end;
      continue;
    }
    if (rest.starts_with(kFamily)) {
      found.push_back({.family = family_of(until(rest.substr(kFamily.size()), ",} ")),
                       .address = "",
                       .port = 0});
    } else if (!found.empty() && rest.starts_with("_port=htons(")) {
      found.back().port =
          leading_number<unsigned>(rest.substr(std::string_view("_port=htons(").size()))
              .value_or(0);
    }
    ++place;
  }
  return found;
}

TraceSocket parse_trace_socket(std::string_view argument) {
  TraceSocket socket;
  socket.descriptor = leading_number<int>(argument).value_or(-1);
  const std::size_t begin = argument.find('<');
  if (begin == std::string_view::npos) return socket;
  std::string_view label = argument.substr(begin + 1);
  const std::size_t colon = label.find(":[");
  if (colon == std::string_view::npos) return socket;
  std::string_view protocol = label.substr(0, colon);
  const bool sixth = protocol.ends_with("v6");
  if (sixth) protocol.remove_suffix(2);
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kProtocols = {
      {{"TCP", "tcp"},
       {"UDP", "udp"},
       {"UDP-Lite", ""},
       {"UDPLITE", ""},
       {"RAW", "raw"},
       {"PING", "icmp"}}};
  const auto known =
      std::ranges::find(kProtocols, protocol, [](const auto& entry) { return entry.first; });
  if (known == kProtocols.end()) return socket;
  socket.protocol = known->second;
  socket.family = sixth ? "inet6" : "inet";
  label.remove_prefix(colon + 2);
  std::string_view own = label.substr(0, std::min(label.find("->"), label.size()));
  const std::size_t port = own.rfind(':');
  if (port == std::string_view::npos) return socket;  // a number: it is not bound
  socket.port = leading_number<unsigned>(own.substr(port + 1)).value_or(0);
  own = own.substr(0, port);
  if (own.starts_with('[')) own.remove_prefix(1);
  if (own.ends_with(']')) own.remove_suffix(1);
  socket.address = plain_address(own);
  return socket;
}

}  // namespace hermetic::observed
