// Lockfiles of pip: a requirement on each line, which may be continued by a backslash.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "hermetic/spec/node_reader.h"
#include "hermetic/task/python_environment.h"

namespace hermetic::task {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\r'; };
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

bool is_plain(char c) { return c >= ' ' && c <= '~'; }

// "--hash=sha256:0123…"
bool is_hash(std::string_view word) {
  constexpr std::string_view kOption = "--hash=";
  return word.starts_with(kOption) && std::ranges::all_of(word.substr(kOption.size()), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == ':';
         });
}

}  // namespace

Result<Lockfile> parse_lockfile(std::string_view text, const std::string& file) {
  Lockfile lockfile;
  int number = 0;
  bool continued = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string spaced(text.substr(0, end));
    std::ranges::replace(spaced, '\t', ' ');
    std::string_view line = trimmed(spaced);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    const auto refuse = [&](std::string_view what, std::string_view remedy) {
      return invalid(fmt::format("'{}' {}", shown(line), what), std::string(remedy),
                     {file, number, 1});
    };
    if (line.starts_with('#')) continue;  // nothing is continued by a comment
    const bool goes_on = line.ends_with('\\');
    if (goes_on) line = trimmed(line.substr(0, line.size() - 1));
    // A backslash alone continues what was begun before it, or nothing.
    const bool is_continuation = std::exchange(continued, goes_on && (continued || !line.empty()));
    if (const std::size_t comment = line.find(" #"); comment != std::string_view::npos)
      line = trimmed(line.substr(0, comment));
    if (line.empty()) continue;
    // To pip a form feed, say, ends a line.
    if (!std::ranges::all_of(line, is_plain))
      return refuse("has letters that pip may read in another way", "write it in plain ASCII");
    const std::size_t option = line.starts_with('-') ? 0 : line.find(" -");
    std::string_view options = option == std::string_view::npos ? "" : trimmed(line.substr(option));
    if (is_continuation && option != 0)
      return refuse("does not belong to a requirement", "put hashes there, and nothing else");
    if (!is_continuation && option == 0)
      return refuse("is an option, which could fetch anything",
                    "leave it out: where packages come from is said to hermetic");
    if (!is_continuation) {
      const std::string_view requirement = trimmed(line.substr(0, option));
      const std::size_t pin = requirement.find("==");
      if (pin == std::string_view::npos || !is_name(trimmed(requirement.substr(0, pin))) ||
          requirement.find_first_of("*@$\\") != std::string_view::npos)
        return refuse("is not pinned", "write name==version");
      lockfile.names.emplace_back(trimmed(requirement.substr(0, pin)));
      if (!lockfile.text.empty()) lockfile.text += '\n';
      lockfile.text += requirement;
    }
    while (!options.empty()) {
      const std::string_view word = options.substr(0, options.find(' '));
      options = trimmed(options.substr(word.size()));
      if (!is_hash(word))
        return refuse("has an option other than a hash", "write --hash=sha256:DIGEST, or nothing");
      lockfile.has_hashes = true;
      lockfile.text += fmt::format(" {}", word);
    }
  }
  if (!lockfile.text.empty()) lockfile.text += '\n';
  return lockfile;
}

}  // namespace hermetic::task
