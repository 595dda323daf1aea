#include "hermetic/backends/linux/process_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <climits>
#include <cstddef>
#include <string_view>
#include <utility>

#include "hermetic/run/event_size.h"

namespace hermetic::linux_backend {
namespace {

constexpr std::size_t kMostKnown = 64;
constexpr std::size_t kLongestChain = 32;
constexpr std::size_t kLongestArguments = 4096;  // of one process, in bytes
constexpr std::size_t kMostArguments = 512;      // a word takes memory, however short it is
// Of a whole chain, with all that its strings take: the command chooses how long it is, and what
// hears of it keeps thousands.
constexpr std::size_t kLargestChain = std::size_t{48} << 10U;

std::string read_link(int folder, const char* name) {
  std::array<char, PATH_MAX> text;
  const ssize_t size = ::readlinkat(folder, name, text.data(), text.size());
  return size <= 0 ? "" : std::string(text.data(), static_cast<std::size_t>(size));
}

std::string read_start(int folder, const char* name, std::size_t most) {
  const UniqueFd file(::openat(folder, name, O_RDONLY | O_CLOEXEC));
  std::string text(most, '\0');
  const ssize_t size = file.is_open() ? ::read(file.get(), text.data(), text.size()) : 0;
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return text;
}

// False: there were more.
bool split_arguments(std::string_view text, std::vector<std::string>& words) {
  while (!text.empty()) {
    if (words.size() == kMostArguments) return false;
    const std::size_t end = std::min(text.find('\0'), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return true;
}

// Leaves out what takes more memory than there is. False: without any arguments it is too much.
bool shorten(ProcessFacts& facts, std::size_t most) {
  if (memory_of(facts) <= most) return true;
  std::vector<std::string> all = std::exchange(facts.arguments, {std::string(kCut)});
  facts.is_cut = true;
  std::size_t size = memory_of(facts);
  if (size > most) return false;
  std::size_t fitting = 0;
  while (fitting < all.size() && size + memory_of(all[fitting]) <= most)
    size += memory_of(all[fitting++]);
  facts.arguments.insert(facts.arguments.begin(), all.begin(),
                         all.begin() + static_cast<std::ptrdiff_t>(fitting));
  return true;
}

// The parents share what the caller leaves. A chain ends where names alone are too long.
void shorten(std::vector<ProcessFacts>& chain) {
  std::size_t size = 0;
  for (const ProcessFacts& facts : chain) size += memory_of(facts);
  if (size <= kLargestChain) return;
  const std::size_t share = (kLargestChain - memory_of(chain.front())) / (chain.size() - 1);
  for (std::size_t i = 1; i < chain.size(); ++i) {
    if (shorten(chain[i], share)) continue;
    chain.resize(i);
    chain.push_back({.executable = std::string(kCut), .is_cut = true});
    return;
  }
}

int number_in(std::string_view text) {
  int number = 0;
  (void)std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// "Tgid:\t123\n" of /proc/N/status.
pid_t process_of_thread(int folder, pid_t thread) {
  const std::string text = read_start(folder, "status", 2048);
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

// The parent in /proc/N/stat: the second field after the name, which may hold anything. 0 if the
// process is gone.
int read_parent(int folder) {
  const UniqueFd file(::openat(folder, "stat", O_RDONLY | O_CLOEXEC));
  std::array<char, 256> block;
  const ssize_t size = file.is_open() ? ::read(file.get(), block.data(), block.size()) : 0;
  const std::string_view text(block.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  const std::size_t name_end = text.rfind(')');
  constexpr std::size_t kStateAndSpaces = 4;  // ") S "
  if (name_end == std::string_view::npos || text.size() < name_end + kStateAndSpaces) return 0;
  return number_in(text.substr(name_end + kStateAndSpaces));
}

}  // namespace

bool ProcessReader::is_the_same(const Known& known, Care care) {
  std::array<char, kLongestArguments> block;
  const ssize_t size = ::pread(known.words.get(), block.data(), block.size(), 0);
  if (size <= 0 || std::string_view(block.data(), static_cast<std::size_t>(size)) != known.text)
    return false;
  // Before the command starts its process is init, with the very words of the command.
  const bool started = !known.facts.executable.starts_with("/memfd:");
  if (care == Care::Words && started) return true;
  return read_link(known.folder.get(), "exe") == known.facts.executable;
}

ProcessReader::Known* ProcessReader::look_at(pid_t thread, Care care) {
  if (thread <= 1 || thread == init_) return nullptr;
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
  fresh.folder =
      UniqueFd(::open(fmt::format("/proc/{}", thread).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  const int folder = fresh.folder.get();
  fresh.words = UniqueFd(::openat(folder, "cmdline", O_RDONLY | O_CLOEXEC));
  if (!fresh.words.is_open()) return nullptr;
  fresh.serial = ++last_serial_;
  fresh.facts.pid = process_of_thread(folder, thread);
  fresh.facts.parent = read_parent(folder);
  if (fresh.facts.parent == 0) return nullptr;
  fresh.facts.executable = read_link(folder, "exe");
  fresh.text.resize(kLongestArguments);
  const ssize_t size = ::pread(fresh.words.get(), fresh.text.data(), fresh.text.size(), 0);
  fresh.text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  char more = 0;
  fresh.facts.is_cut = !split_arguments(fresh.text, fresh.facts.arguments) ||
                       (fresh.text.size() == kLongestArguments &&
                        ::pread(fresh.words.get(), &more, 1, kLongestArguments) == 1);
  if (fresh.facts.is_cut) fresh.facts.arguments.emplace_back(kCut);
  fresh.facts.directory = read_link(folder, "cwd");
  fresh.question = question_;
  known_.push_front(std::move(fresh));
  if (known_.size() > kMostKnown) known_.pop_back();
  return &known_.front();
}

// A process has the same parent for as long as that lives. So one that was found to be it and is
// still there is it. Otherwise the number is read before and after it was looked at: if it is the
// same, it was nobody else's in between.
ProcessReader::Known* ProcessReader::parent_of(Known& child) {
  constexpr int kAttempts = 3;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const pid_t number = child.facts.parent;
    Known* found = look_at(number, Care::Words);
    if (number == init_ || (found != nullptr && found->serial == child.parent)) return found;
    child.facts.parent = read_parent(child.folder.get());
    if (child.facts.parent != number) continue;
    if (found != nullptr) child.parent = found->serial;
    return found;
  }
  return nullptr;
}

std::vector<ProcessFacts> ProcessReader::caller(pid_t thread) {
  const Known* known = look_at(thread, Care::Exact);
  return known == nullptr ? std::vector<ProcessFacts>() : std::vector{known->facts};
}

std::vector<ProcessFacts> ProcessReader::chain(pid_t thread) {
  std::vector<ProcessFacts> found;
  Known* known = look_at(thread, Care::Exact);
  // It may change at any time, and nothing tells.
  if (known != nullptr) known->facts.directory = read_link(known->folder.get(), "cwd");
  while (known != nullptr && found.size() < kLongestChain) {
    Known* parent = parent_of(*known);  // and the number of the parent is right
    found.push_back(known->facts);
    known = parent;
  }
  if (known != nullptr) found.push_back({.executable = std::string(kCut), .is_cut = true});
  shorten(found);
  return found;
}

ProcessReader::Copy ProcessReader::descriptor_of(pid_t thread, int number) {
  Known* known = closer_.is_stuck() ? nullptr : look_at(thread, Care::Exact);
  if (known != nullptr && !known->pidfd.is_open())
    known->pidfd = open_pidfd(thread, known->facts.pid);
  UniqueFd copy;
  if (known != nullptr && known->pidfd.is_open())
    copy = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_getfd, known->pidfd.get(), number, 0)));
  return {std::move(copy), closer_};
}

}  // namespace hermetic::linux_backend
