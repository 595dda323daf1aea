#include "hermetic/backends/linux/process_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <string_view>
#include <utility>

namespace hermetic::linux_backend {
namespace {

constexpr std::size_t kMostKnown = 64;
constexpr std::size_t kLongestChain = 32;
constexpr std::size_t kLongestArguments = 4096;  // of one process, in bytes

std::string read_link(const std::string& path) {
  std::array<char, PATH_MAX> text;
  const ssize_t size = ::readlink(path.c_str(), text.data(), text.size());
  return size <= 0 ? "" : std::string(text.data(), static_cast<std::size_t>(size));
}

std::string read_start(const std::string& path, std::size_t most) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(most, '\0');
  const ssize_t size = file.is_open() ? ::read(file.get(), text.data(), text.size()) : 0;
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

std::vector<std::string> split_arguments(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

int number_in(std::string_view text) {
  int number = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// "Tgid:\t123\n" of /proc/N/status.
pid_t process_of_thread(pid_t thread) {
  const std::string text = read_start(fmt::format("/proc/{}/status", thread), 2048);
  constexpr std::string_view kKey = "\nTgid:\t";
  const std::size_t place = text.find(kKey);
  return place == std::string::npos ? thread
                                    : number_in(std::string_view(text).substr(place + kKey.size()));
}

UniqueFd open_pidfd(pid_t thread, pid_t process) {
  constexpr unsigned kOfThread = O_EXCL;  // PIDFD_THREAD, since Linux 6.9
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, thread, kOfThread)));
  if (pidfd.is_open()) return pidfd;
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
}

// The fields of /proc/N/stat after the name, which may hold anything.
struct Statistics {
  int parent = 0;
  std::string mark;  // parent, start time, and where code, stack and arguments begin
};

std::optional<Statistics> read_statistics(int file) {
  std::array<char, 2048> block;
  const ssize_t size = ::pread(file, block.data(), block.size(), 0);
  if (size <= 0) return std::nullopt;
  const std::string_view text(block.data(), static_cast<std::size_t>(size));
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  std::string_view rest = text.substr(name_end + 1);
  Statistics found;
  for (int field = 3; !rest.empty(); ++field) {  // numbered as in proc(5)
    rest.remove_prefix(1);
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view value = rest.substr(0, end);
    rest.remove_prefix(end);
    if (field == 4) found.parent = number_in(value);
    const bool tells = field == 4 || field == 22 || (field >= 26 && field <= 28) || field == 48;
    if (tells) (found.mark += value) += ' ';
  }
  return found;
}

}  // namespace

bool ProcessReader::is_the_same(const Known& known, Care care) {
  if (care == Care::Words) {
    std::array<char, kLongestArguments> block;
    const ssize_t size = ::pread(known.words.get(), block.data(), block.size(), 0);
    return size > 0 && std::string_view(block.data(), static_cast<std::size_t>(size)) == known.text;
  }
  const std::optional<Statistics> now = read_statistics(known.statistics.get());
  return now && now->mark == known.mark;
}

ProcessReader::Known* ProcessReader::look_at(pid_t thread, Care care) {
  for (auto known = known_.begin(); known != known_.end(); ++known) {
    if (known->thread != thread) continue;
    if (known->question == question_ || is_the_same(*known, care)) {
      known->question = question_;
      known_.splice(known_.begin(), known_, known);
      return &known_.front();
    }
    known_.erase(known);
    break;
  }
  Known fresh;
  fresh.thread = thread;
  const std::string folder = fmt::format("/proc/{}", thread);
  fresh.statistics = UniqueFd(::open((folder + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  if (!fresh.statistics.is_open()) return nullptr;
  const std::optional<Statistics> now = read_statistics(fresh.statistics.get());
  if (!now) return nullptr;
  fresh.mark = now->mark;
  fresh.facts.pid = process_of_thread(thread);
  fresh.facts.parent = now->parent;
  fresh.facts.executable = read_link(folder + "/exe");
  fresh.words = UniqueFd(::open((folder + "/cmdline").c_str(), O_RDONLY | O_CLOEXEC));
  fresh.text.resize(kLongestArguments);
  const ssize_t size = ::pread(fresh.words.get(), fresh.text.data(), fresh.text.size(), 0);
  fresh.text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  fresh.facts.arguments = split_arguments(fresh.text);
  fresh.facts.directory = read_link(folder + "/cwd");
  fresh.question = question_;
  fresh.pidfd = open_pidfd(thread, fresh.facts.pid);
  known_.push_front(std::move(fresh));
  if (known_.size() > kMostKnown) known_.pop_back();
  return &known_.front();
}

std::vector<ProcessFacts> ProcessReader::chain(pid_t thread) {
  std::vector<ProcessFacts> found;
  while (thread > 1 && thread != init_ && found.size() < kLongestChain) {
    const bool caller = found.empty();
    const Care care = caller ? Care::Exact : Care::Words;
    Known* known = look_at(thread, care);
    // Without address space randomisation the mark of another program may be the same.
    if (caller && known != nullptr &&
        known->facts.executable != read_link(fmt::format("/proc/{}/exe", thread))) {
      known->question = 0;
      known->mark.clear();
      known = look_at(thread, care);
    }
    if (known == nullptr) break;
    found.push_back(known->facts);
    // It may change at any time, and nothing tells.
    if (caller) found.back().directory = read_link(fmt::format("/proc/{}/cwd", thread));
    thread = known->facts.parent;
  }
  return found;
}

ProcessReader::Copy ProcessReader::descriptor_of(pid_t thread, int number) {
  const Known* known = closer_.is_stuck() ? nullptr : look_at(thread, Care::Exact);
  UniqueFd copy;
  if (known != nullptr && known->pidfd.is_open())
    copy = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_getfd, known->pidfd.get(), number, 0)));
  return {std::move(copy), closer_};
}

}  // namespace hermetic::linux_backend
