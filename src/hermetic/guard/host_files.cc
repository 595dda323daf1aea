#include "hermetic/guard/host_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "hermetic/base/unique_fd.h"
#include "hermetic/guard/dns_message.h"

namespace hermetic::guard {
namespace {

constexpr std::size_t kLargestFile = std::size_t{1} << 20U;
constexpr std::size_t kMostServers = 3;
constexpr std::size_t kMostDomains = 6;

template <class Act>
void for_each_line(std::string_view text, std::string_view comment, const Act& act) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    act(line.substr(0, std::min(line.find_first_of(comment), line.size())));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
}

std::vector<std::string_view> words_of(std::string_view line) {
  constexpr std::string_view kSpaces = " \t\r\v\f";
  std::vector<std::string_view> words;
  for (;;) {
    const std::size_t begin = line.find_first_not_of(kSpaces);
    if (begin == std::string_view::npos) return words;
    line.remove_prefix(begin);
    const std::size_t end = std::min(line.find_first_of(kSpaces), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

// As rules and questions have it; "" for what is no name.
std::string canonical_name(std::string_view name) {
  if (name.ends_with('.')) name.remove_suffix(1);
  return is_encodable_name(name) ? lower_case(name) : "";
}

std::optional<Nameserver> parse_nameserver(std::string_view text) {
  const std::size_t percent = std::min(text.find('%'), text.size());
  const std::optional<Address> address = parse_address(text.substr(0, percent));
  if (!address) return {};
  return Nameserver{.address = *address,
                    .interface = std::string(text.substr(std::min(text.size(), percent + 1)))};
}

// "timeout:2" with the value kept within its bounds.
std::optional<unsigned> option_value(std::string_view word, std::string_view key, unsigned most) {
  if (!word.starts_with(key)) return {};
  word.remove_prefix(key.size());
  unsigned value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return {};
  return std::clamp(value, 1U, most);
}

}  // namespace

HostTable parse_hosts(std::string_view text) {
  HostTable table;
  for_each_line(text, "#", [&](std::string_view line) {
    const std::vector<std::string_view> words = words_of(line);
    if (words.empty()) return;
    const std::optional<Address> address = parse_address(words.front());
    if (!address) return;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string name = canonical_name(words[i]);
      if (name.empty()) continue;
      std::vector<Address>& known = table[name];
      if (std::find(known.begin(), known.end(), *address) == known.end()) known.push_back(*address);
    }
  });
  return table;
}

ResolverSettings parse_resolver_settings(std::string_view text) {
  ResolverSettings settings;
  for_each_line(text, "#;", [&](std::string_view line) {
    const std::vector<std::string_view> words = words_of(line);
    if (words.size() < 2) return;
    if (words[0] == "nameserver" && settings.nameservers.size() < kMostServers) {
      if (const auto server = parse_nameserver(words[1])) settings.nameservers.push_back(*server);
    } else if (words[0] == "search" || words[0] == "domain") {  // the last one counts
      settings.search.clear();
      for (std::size_t i = 1; i < words.size() && settings.search.size() < kMostDomains; ++i)
        if (std::string name = canonical_name(words[i]); !name.empty())
          settings.search.push_back(std::move(name));
    } else if (words[0] == "options") {
      for (const std::string_view word : words) {
        if (const auto value = option_value(word, "timeout:", 30))
          settings.timeout = std::chrono::seconds(*value);
        if (const auto value = option_value(word, "attempts:", 5)) settings.attempts = *value;
      }
    }
  });
  if (settings.nameservers.empty())
    settings.nameservers.push_back({.address = ipv4_address(0x7F000001), .interface = {}});
  return settings;
}

std::string read_host_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  std::string text;
  while (file.is_open() && text.size() < kLargestFile) {
    const std::size_t had = text.size();
    text.resize(std::min(kLargestFile, had + 65536));
    const ssize_t count = ::read(file.get(), text.data() + had, text.size() - had);
    text.resize(had + (count > 0 ? static_cast<std::size_t>(count) : 0));
    if (count <= 0) break;
  }
  return text;
}

}  // namespace hermetic::guard
