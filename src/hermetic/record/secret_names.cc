#include "hermetic/record/secret_names.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace hermetic {
namespace {

// Says by itself that a secret follows; also at the end of a word that was glued together, such as
// PGPASSWORD. No word of English or of computing ends like these and means something else.
constexpr std::array<std::string_view, 12> kStrong = {
    "TOKEN",      "SECRET", "SECRETS",   "PASSWORD",  "PASSWORDS",  "PASSWD",
    "PASSPHRASE", "APIKEY", "ACCESSKEY", "SECRETKEY", "PRIVATEKEY", "CREDENTIALS"};
// As strong, but only as a whole word.
constexpr std::array<std::string_view, 5> kWhole = {"CREDENTIAL", "COOKIE", "COOKIES", "CREDS",
                                                    "SSHPASS"};
// Needs company: "API_KEY", "DB_PASS".
constexpr std::array<std::string_view, 8> kWeak = {"KEY",     "KEYS", "AUTH", "PRIVATE",
                                                   "SESSION", "PASS", "PWD",  "TOKENS"};
// The name says where a secret is, of which kind, or how many there are.
constexpr std::array<std::string_view, 25> kAbout = {
    "FILE",    "FILES",  "PATH",     "DIR",    "DIRECTORY", "FOLDER",  "SOCK",
    "SOCKET",  "TYPE",   "MODE",     "METHOD", "ALGORITHM", "TIMEOUT", "LENGTH",
    "SIZE",    "COUNT",  "ENABLED",  "STDIN",  "PROMPT",    "JAR",     "MANAGER",
    "DESKTOP", "LAYOUT", "PROVIDER", "EXPIRY"};
// A desktop's session is no secret: XDG_SESSION_CLASS, DBUS_SESSION_BUS_ADDRESS.
constexpr std::array<std::string_view, 3> kDesktop = {"XDG", "DBUS", "DESKTOP"};

template <std::size_t N>
bool holds(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

// "apiKey_2" is API, KEY. Digits belong to no word: TOKEN2 is a token.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  char before = '\0';
  for (const char c : name) {
    const bool letter = is_upper(c) || is_lower(c);
    const bool begins = !letter || (is_upper(c) && is_lower(before));
    if (begins && !words.back().empty()) words.emplace_back();
    if (letter) words.back() += is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c;
    before = c;
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

bool is_strong(std::string_view word) {
  return holds(kWhole, word) || std::any_of(kStrong.begin(), kStrong.end(),
                                            [&](auto strong) { return word.ends_with(strong); });
}

enum class Secrecy { None, Alone, Company, Strong };

// Alone: one word, which could mean a secret.
Secrecy secrecy_of(std::string_view name) {
  const std::vector<std::string> words = words_of(name);
  if (words.empty() || holds(kAbout, words.back()) || words.front() == "NO") return Secrecy::None;
  if (std::any_of(words.begin(), words.end(), is_strong)) return Secrecy::Strong;
  const auto has = [&](std::string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  if (!std::any_of(words.begin(), words.end(), [](const auto& w) { return holds(kWeak, w); }))
    return Secrecy::None;
  if (has("PUBLIC") || has("PUB")) return Secrecy::None;
  if (has("SESSION") && holds(kDesktop, words.front())) return Secrecy::None;
  if (words.size() > 1) return has("MAX") ? Secrecy::None : Secrecy::Company;
  return words.front() == "PWD" ? Secrecy::None : Secrecy::Alone;
}

}  // namespace

bool is_secret_variable(std::string_view name) { return secrecy_of(name) != Secrecy::None; }

bool is_secret_option(std::string_view name) {
  const Secrecy secrecy = secrecy_of(name);
  return secrecy == Secrecy::Strong || secrecy == Secrecy::Company;
}

bool is_secret_header(std::string_view name) {
  const Secrecy secrecy = secrecy_of(name);
  if (secrecy != Secrecy::Strong && secrecy != Secrecy::Company) return false;
  const std::vector<std::string> words = words_of(name);
  return words.size() > 1 || words.front() != "TOKEN";
}

}  // namespace hermetic
