#include "hermetic/backends/observed/process_list.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <climits>
#include <memory>
#include <optional>
#include <sstream>

#include "hermetic/base/unique_fd.h"

namespace hermetic::observed {
namespace {

std::string read_small_file(const std::string& path) {
  constexpr std::size_t kMost = 65536;
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> block;
  while (file.is_open() && text.size() < kMost) {
    const ssize_t size = ::read(file.get(), block.data(), block.size());
    if (size <= 0) break;
    text.append(block.data(), static_cast<std::size_t>(size));
  }
  return text;
}

std::vector<std::string> names_of(const std::string& path) {
  struct Closer {
    void operator()(DIR* directory) const { ::closedir(directory); }
  };
  const std::unique_ptr<DIR, Closer> directory(::opendir(path.c_str()));
  std::vector<std::string> names;
  if (directory == nullptr) return names;
  while (const dirent* entry = ::readdir(directory.get())) names.emplace_back(entry->d_name);
  return names;
}

std::optional<pid_t> number(const std::string& text) {
  pid_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "12 (name with ) and spaces) S 1 12 12 …": the name ends at the last bracket.
std::optional<ProcessStatus> status_of(pid_t pid) {
  const std::string text = read_small_file(fmt::format("/proc/{}/stat", pid));
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  std::istringstream rest(text.substr(close + 1));
  ProcessStatus status{.pid = pid, .name = text.substr(open + 1, close - open - 1)};
  char state = 'X';
  pid_t group = 0;
  rest >> state >> status.parent >> group >> status.session;
  std::string skipped;
  constexpr int kBetween = 15;  // from the terminal to the start time, which is field 22
  for (int i = 0; i < kBetween; ++i) rest >> skipped;
  rest >> status.started;
  if (!rest || state == 'Z' || state == 'X') return std::nullopt;
  return status;
}

}  // namespace

std::vector<ProcessStatus> live_processes() {
  std::vector<ProcessStatus> all;
  for (const std::string& name : names_of("/proc"))
    if (const std::optional<pid_t> pid = number(name))
      if (std::optional<ProcessStatus> status = status_of(*pid)) all.push_back(std::move(*status));
  return all;
}

std::vector<ProcessStatus> traced_by(pid_t tracer) {
  const std::string line = fmt::format("\nTracerPid:\t{}\n", tracer);
  std::vector<ProcessStatus> traced;
  for (ProcessStatus& process : live_processes())
    if (read_small_file(fmt::format("/proc/{}/status", process.pid)).find(line) !=
        std::string::npos)
      traced.push_back(std::move(process));
  return traced;
}

ProcessFacts facts_of(const ProcessStatus& process) {
  ProcessFacts facts{.pid = process.pid,
                     .parent = process.parent,
                     .executable = "",
                     .arguments = {},
                     .directory = ""};
  std::array<char, PATH_MAX> target;
  const ssize_t size =
      ::readlink(fmt::format("/proc/{}/exe", process.pid).c_str(), target.data(), target.size());
  if (size > 0) facts.executable.assign(target.data(), static_cast<std::size_t>(size));
  std::istringstream words(read_small_file(fmt::format("/proc/{}/cmdline", process.pid)));
  for (std::string word; std::getline(words, word, '\0');) facts.arguments.push_back(word);
  if (facts.executable.empty()) facts.executable = process.name;
  return facts;
}

std::vector<std::uint64_t> sockets_of(pid_t process) {
  constexpr std::string_view kSocket = "socket:[";
  const std::string folder = fmt::format("/proc/{}/fd", process);
  std::vector<std::uint64_t> inodes;
  for (const std::string& name : names_of(folder)) {
    std::array<char, 64> target;
    const ssize_t size = ::readlink((folder + "/" + name).c_str(), target.data(), target.size());
    const std::string_view link(target.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    std::uint64_t inode = 0;
    if (!link.starts_with(kSocket)) continue;
    const char* begin = link.data() + kSocket.size();
    if (std::from_chars(begin, link.data() + link.size(), inode).ec == std::errc())
      inodes.push_back(inode);
  }
  return inodes;
}

}  // namespace hermetic::observed
