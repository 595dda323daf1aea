#include "hermetic/monitor/group_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "hermetic/base/unique_fd.h"

namespace hermetic {

std::string read_group_file(int group, const char* name) {
  const UniqueFd file(::openat(group, name, O_RDONLY | O_CLOEXEC));
  std::string text;
  if (!file.is_open()) return text;
  std::array<char, 4096> block;  // NOLINT(*-member-init): written before it is read
  for (ssize_t size = 0; (size = ::read(file.get(), block.data(), block.size())) > 0;)
    text.append(block.data(), static_cast<std::size_t>(size));
  return text;
}

int write_group_file(int group, const char* name, std::string_view text) {
  const UniqueFd file(::openat(group, name, O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) return errno;
  return ::write(file.get(), text.data(), text.size()) < 0 ? errno : 0;
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

}  // namespace hermetic
