#include "hermetic/backends/linux/file_observer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string_view>

#include "hermetic/base/path.h"

namespace hermetic::linux_backend {
namespace {

constexpr int kNoDirectory = -1;

// Where a system call has its directory and its name, and what it wants.
struct NamedCall {
  int number;
  int directory;  // index of the argument, or kNoDirectory
  unsigned name;
  Operation operation;
  int flags = -1;  // index of the open flags, which may ask for writing
};

constexpr std::array kCalls = {
    NamedCall{SYS_openat, 0, 1, Operation::Read, 2},
    NamedCall{SYS_newfstatat, 0, 1, Operation::Read},
    NamedCall{SYS_statx, 0, 1, Operation::Read},
    NamedCall{SYS_faccessat, 0, 1, Operation::Read},
    NamedCall{SYS_faccessat2, 0, 1, Operation::Read},
    NamedCall{SYS_readlinkat, 0, 1, Operation::Read},
    NamedCall{SYS_openat2, 0, 1, Operation::Read},
    NamedCall{SYS_execve, kNoDirectory, 0, Operation::Execute},
    NamedCall{SYS_execveat, 0, 1, Operation::Execute},
    NamedCall{SYS_chdir, kNoDirectory, 0, Operation::Read},
    NamedCall{SYS_mkdirat, 0, 1, Operation::Write},
    NamedCall{SYS_unlinkat, 0, 1, Operation::Write},
    NamedCall{SYS_renameat2, 2, 3, Operation::Write},
    NamedCall{SYS_symlinkat, 1, 2, Operation::Write},
    NamedCall{SYS_linkat, 2, 3, Operation::Write},
    NamedCall{SYS_fchmodat, 0, 1, Operation::Write},
#ifdef SYS_open  // the older calls exist on x86-64 only
    NamedCall{SYS_open, kNoDirectory, 0, Operation::Read, 1},
    NamedCall{SYS_stat, kNoDirectory, 0, Operation::Read},
    NamedCall{SYS_lstat, kNoDirectory, 0, Operation::Read},
    NamedCall{SYS_access, kNoDirectory, 0, Operation::Read},
    NamedCall{SYS_readlink, kNoDirectory, 0, Operation::Read},
    NamedCall{SYS_creat, kNoDirectory, 0, Operation::Write},
    NamedCall{SYS_mkdir, kNoDirectory, 0, Operation::Write},
    NamedCall{SYS_unlink, kNoDirectory, 0, Operation::Write},
    NamedCall{SYS_rename, kNoDirectory, 1, Operation::Write},
    NamedCall{SYS_symlink, kNoDirectory, 1, Operation::Write},
#endif
};

const NamedCall* find_call(int number) {
  for (const NamedCall& call : kCalls)
    if (call.number == number) return &call;
  return nullptr;
}

// A command that asks for new names for ever must not fill our memory. Nobody reads as many.
constexpr std::size_t kMostAsked = 20'000;

// A string in the memory of the process; nothing if it cannot be read.
std::optional<std::string> read_text(pid_t process, std::uint64_t address) {
  std::string text;
  while (text.size() < PATH_MAX) {
    // Up to the end of a page: the next one may not be there.
    std::array<char, 4096> block;
    const std::size_t size = 4096 - address % 4096;
    iovec here = {.iov_base = block.data(), .iov_len = size};
    // An address of the other process, never ours.
    void* const base = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
    iovec there = {.iov_base = base, .iov_len = size};
    const ssize_t got = ::process_vm_readv(process, &here, 1, &there, 1, 0);
    if (got <= 0) return std::nullopt;
    const std::string_view part(block.data(), static_cast<std::size_t>(got));
    const std::size_t end = part.find('\0');
    text += part.substr(0, end);
    if (end != std::string_view::npos) return text;
    address += static_cast<std::uint64_t>(got);
  }
  return std::nullopt;
}

std::optional<std::string> directory_of(pid_t process, int descriptor) {
  const std::string link = descriptor == AT_FDCWD
                               ? fmt::format("/proc/{}/cwd", process)
                               : fmt::format("/proc/{}/fd/{}", process, descriptor);
  std::array<char, PATH_MAX> text;
  const ssize_t size = ::readlink(link.c_str(), text.data(), text.size());
  if (size <= 0 || text[0] != '/') return std::nullopt;
  return std::string(text.data(), static_cast<std::size_t>(size));
}

// "..", "." and "//" taken out by name: good enough to tell people about.
std::string without_dots(std::string_view text) {
  std::string path = "/";
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('/'), text.size());
    const std::string_view name = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (name.empty() || name == ".") continue;
    path = name == ".." ? std::string(parent_of(path)) : join(path, name);
  }
  return path;
}

std::optional<std::string> path_of(const seccomp_notif& question, const NamedCall& call) {
  const auto process = static_cast<pid_t>(question.pid);
  std::optional<std::string> name = read_text(process, question.data.args[call.name]);
  if (!name || name->empty()) return std::nullopt;
  if (name->front() == '/') return without_dots(*name);
  const int descriptor = call.directory == kNoDirectory
                             ? AT_FDCWD
                             : static_cast<int>(question.data.args[call.directory]);
  const std::optional<std::string> directory = directory_of(process, descriptor);
  if (!directory) return std::nullopt;
  return without_dots(*directory + "/" + *name);
}

Operation operation_of(const seccomp_notif& question, const NamedCall& call) {
  if (call.flags < 0) return call.operation;
  const auto flags = static_cast<unsigned>(question.data.args[call.flags]);
  const bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0;
  return writes ? Operation::Write : call.operation;
}

}  // namespace

std::vector<sock_filter> file_observer_filter() {
  std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const NamedCall& call : kCalls) {
    program.push_back(
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call.number), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  return program;
}

std::optional<std::string> program_asked_for(const seccomp_notif& question) {
  const NamedCall* call = find_call(question.data.nr);
  if (call == nullptr || call->operation != Operation::Execute) return std::nullopt;
  return path_of(question, *call);
}

void FileObserver::hear(const seccomp_notif& question) {
  if (const NamedCall* call = find_call(question.data.nr))
    if (const std::optional<std::string> path = path_of(question, *call))
      if (asked_.size() < kMostAsked) asked_.emplace(*path, operation_of(question, *call));
}

std::vector<AskedPath> FileObserver::asked() const {
  std::vector<AskedPath> list;
  for (const auto& [path, operation] : asked_) list.push_back({path, operation});
  return list;
}

}  // namespace hermetic::linux_backend
