// Lockfiles of pip: a requirement on each line, which may be continued by a backslash.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "hermetic/base/text.h"
#include "hermetic/task/python_environment.h"

namespace hermetic::task {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.' ||
           c == '[' || c == ']' || c == ',';
  });
}

}  // namespace

Result<Lockfile> parse_lockfile(std::string_view text, const std::string& file) {
  Lockfile lockfile;
  int number = 0;
  bool continued = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    const auto refuse = [&](std::string_view what, std::string_view remedy) {
      return invalid(fmt::format("'{}' {}", printable(line), what), std::string(remedy),
                     {file, number, 1});
    };
    const bool goes_on = line.ends_with('\\');
    if (goes_on) line = trimmed(line.substr(0, line.size() - 1));
    const bool is_continuation = std::exchange(continued, goes_on);
    if (const std::size_t comment = line.find(" #"); comment != std::string_view::npos)
      line = trimmed(line.substr(0, comment));
    if (line.empty() || line.starts_with('#')) continue;
    lockfile.has_hashes = lockfile.has_hashes || line.find("--hash=") != std::string_view::npos;
    if (is_continuation) {
      if (line.starts_with("--hash=")) continue;
      return refuse("does not belong to a requirement", "put hashes there, and nothing else");
    }
    if (line.starts_with('-'))
      return refuse("is an option, which could fetch anything",
                    "leave it out: where packages come from is said to hermetic");
    const std::size_t pin = line.find("==");
    if (pin == std::string_view::npos || !is_name(trimmed(line.substr(0, pin))) ||
        line.find('*') != std::string_view::npos || line.find('@') != std::string_view::npos)
      return refuse("is not pinned", "write name==version");
    lockfile.names.emplace_back(trimmed(line.substr(0, pin)));
  }
  return lockfile;
}

}  // namespace hermetic::task
