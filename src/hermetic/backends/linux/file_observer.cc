#include "hermetic/backends/linux/file_observer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>
#include <optional>

#include "hermetic/base/file_tree.h"
#include "hermetic/base/path.h"

namespace hermetic::linux_backend {
namespace {

#if defined(__x86_64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "which audit architecture is this?"
#endif

constexpr int kNone = -1;

// What was asked of a path, as bits.
enum Act : std::uint8_t {
  kRead = 1,
  kWrite = 2,
  kExecute = 4,
  kOpen = 8,      // its content, or the listing of a directory
  kReplace = 16,  // whatever was there before is of no interest
  kAbsent = 32,   // nothing was there when it was first asked for
  kMake = 64,     // as a directory
  kUsed = 128,    // its content, before it was replaced
};

constexpr std::array<std::pair<Act, Operation>, 3> kOperations = {
    {{kRead, Operation::Read}, {kWrite, Operation::Write}, {kExecute, Operation::Execute}}};

// Where a system call has its directory and its name, and what it wants.
struct NamedCall {
  int number;
  int directory;  // index of the argument, or kNone
  unsigned name;
  std::uint8_t acts;
  int open_flags = kNone;  // index of the open flags, which may ask for writing
  int at_flags = kNone;    // index of the flags that may say that there is no name
};

// A call with two names has two lines.
constexpr std::array kCalls = {
    NamedCall{SYS_openat, 0, 1, kRead, 2},
    NamedCall{SYS_newfstatat, 0, 1, kRead, kNone, 3},
    NamedCall{SYS_statx, 0, 1, kRead, kNone, 2},
    NamedCall{SYS_execve, kNone, 0, kExecute},
    NamedCall{SYS_execveat, 0, 1, kExecute},
    NamedCall{SYS_faccessat, 0, 1, kRead},
    NamedCall{SYS_faccessat2, 0, 1, kRead},
    NamedCall{SYS_openat2, 0, 1, kRead},
    NamedCall{SYS_chdir, kNone, 0, kRead},
    NamedCall{SYS_statfs, kNone, 0, kRead},
    NamedCall{SYS_inotify_add_watch, kNone, 1, kRead},
    NamedCall{SYS_getxattr, kNone, 0, kRead},
    NamedCall{SYS_lgetxattr, kNone, 0, kRead},
    NamedCall{SYS_mkdirat, 0, 1, kWrite | kMake},
    NamedCall{SYS_mknodat, 0, 1, kWrite},
    NamedCall{SYS_unlinkat, 0, 1, kWrite | kReplace},
    NamedCall{SYS_renameat2, 0, 1, kWrite},
    NamedCall{SYS_renameat2, 2, 3, kWrite | kReplace},
    NamedCall{SYS_symlinkat, 1, 2, kWrite},
    NamedCall{SYS_linkat, 0, 1, kRead},
    NamedCall{SYS_linkat, 2, 3, kWrite},
    NamedCall{SYS_fchmodat, 0, 1, kWrite},
    NamedCall{SYS_fchownat, 0, 1, kWrite},
    NamedCall{SYS_utimensat, 0, 1, kWrite},
    NamedCall{SYS_truncate, kNone, 0, kWrite},
    NamedCall{SYS_setxattr, kNone, 0, kWrite},
    NamedCall{SYS_lsetxattr, kNone, 0, kWrite},
    NamedCall{SYS_removexattr, kNone, 0, kWrite},
    NamedCall{SYS_lremovexattr, kNone, 0, kWrite},
#ifdef SYS_renameat
    NamedCall{SYS_renameat, 0, 1, kWrite},
    NamedCall{SYS_renameat, 2, 3, kWrite | kReplace},
#endif
#ifdef SYS_open  // the older calls exist on x86-64 only
    NamedCall{SYS_open, kNone, 0, kRead, 1},
    NamedCall{SYS_stat, kNone, 0, kRead},
    NamedCall{SYS_lstat, kNone, 0, kRead},
    NamedCall{SYS_access, kNone, 0, kRead},
    NamedCall{SYS_creat, kNone, 0, kWrite | kOpen | kReplace},
    NamedCall{SYS_mkdir, kNone, 0, kWrite | kMake},
    NamedCall{SYS_rmdir, kNone, 0, kWrite},
    NamedCall{SYS_mknod, kNone, 0, kWrite},
    NamedCall{SYS_unlink, kNone, 0, kWrite | kReplace},
    NamedCall{SYS_rename, kNone, 0, kWrite},
    NamedCall{SYS_rename, kNone, 1, kWrite | kReplace},
    NamedCall{SYS_symlink, kNone, 1, kWrite},
    NamedCall{SYS_link, kNone, 0, kRead},
    NamedCall{SYS_link, kNone, 1, kWrite},
    NamedCall{SYS_chmod, kNone, 0, kWrite},
    NamedCall{SYS_chown, kNone, 0, kWrite},
    NamedCall{SYS_lchown, kNone, 0, kWrite},
    NamedCall{SYS_utime, kNone, 0, kWrite},
    NamedCall{SYS_utimes, kNone, 0, kWrite},
    NamedCall{SYS_futimesat, 0, 1, kWrite},
#endif
};

// A command that asks for new names for ever must not fill our memory. Nobody reads as many; but
// whoever learns from them wants those of a large project, too.
constexpr std::size_t kMostAsked = 20'000;
constexpr std::size_t kMostAskedBytes = std::size_t{16} << 20U;
constexpr std::size_t kMostLearned = 1'000'000;
constexpr std::size_t kMostLearnedBytes = std::size_t{256} << 20U;

// Copies from the memory of the process; returns how much could be.
std::size_t copy_from(pid_t process, std::uint64_t address, void* to, std::size_t size) {
  iovec here = {.iov_base = to, .iov_len = size};
  // An address of the other process, never ours.
  void* const base = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
  iovec there = {.iov_base = base, .iov_len = size};
  const ssize_t got = ::process_vm_readv(process, &here, 1, &there, 1, 0);
  return got < 0 ? 0 : static_cast<std::size_t>(got);
}

using TextBuffer = std::array<char, std::size_t{PATH_MAX} + 1>;

// A string in the memory of the process; nothing if it cannot be read, and errno says why.
std::optional<std::string_view> read_text(pid_t process, std::uint64_t address,
                                          TextBuffer& buffer) {
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kUsual = 256;  // most names are shorter, and copying costs
  std::size_t size = 0;
  while (size < PATH_MAX) {
    // Up to the end of a page: the next one may not be there.
    const std::size_t most = std::min(kPage - address % kPage, PATH_MAX - size);
    const std::size_t got = copy_from(process, address, buffer.data() + size,
                                      size == 0 ? std::min(most, kUsual) : most);
    if (got == 0) return std::nullopt;
    const std::string_view part(buffer.data() + size, got);
    const std::size_t end = part.find('\0');
    if (end != std::string_view::npos) return std::string_view(buffer.data(), size + end);
    size += got;
    address += got;
  }
  return std::nullopt;
}

// Asked for anew each time: the number stands for another directory as soon as the process likes.
std::optional<std::string_view> directory_of(pid_t process, int descriptor, TextBuffer& buffer,
                                             ProcessReader* processes) {
  const auto read_link = [&](const std::string& link) -> std::optional<std::string_view> {
    const ssize_t size = ::readlink(link.c_str(), buffer.data(), PATH_MAX);
    if (size <= 0 || buffer[0] != '/') return std::nullopt;
    return std::string_view(buffer.data(), static_cast<std::size_t>(size));
  };
  if (descriptor == AT_FDCWD) return read_link(fmt::format("/proc/{}/cwd", process));
  if (processes == nullptr) return read_link(fmt::format("/proc/{}/fd/{}", process, descriptor));
  auto directory = processes->descriptor_of(process, descriptor);
  struct statx status = {};  // of what is known: a file system may be far away
  if (!directory.is_open() ||
      ::statx(directory.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &status) != 0 ||
      !S_ISDIR(status.stx_mode))
    return std::nullopt;
  const auto path = read_link(fmt::format("/proc/self/fd/{}", directory.get()));
  directory.close_here();
  return path;
}

// "..", "." and "//" taken out by name: good enough to tell people about.
void append_without_dots(std::string& path, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('/'), text.size());
    const std::string_view name = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      path.resize(parent_of(path.empty() ? "/" : std::string_view(path)).size());
      if (path == "/") path.clear();
    } else {
      path += '/';
      path += name;
    }
  }
}

enum class Name { None, Hidden, Known };

Name path_of(const seccomp_notif& question, const NamedCall& call, std::string& path,
             ProcessReader* processes) {
  const auto process = static_cast<pid_t>(question.pid);
  TextBuffer name_buffer;
  const auto name = read_text(process, question.data.args[call.name], name_buffer);
  if (!name && errno == EPERM) return Name::Hidden;
  if (!name || name->empty()) return Name::None;
  path.clear();
  if (name->front() != '/') {
    const int descriptor =
        call.directory == kNone ? AT_FDCWD : static_cast<int>(question.data.args[call.directory]);
    TextBuffer directory_buffer;
    const auto directory = directory_of(process, descriptor, directory_buffer, processes);
    if (!directory) return Name::None;
    append_without_dots(path, *directory);
  }
  append_without_dots(path, *name);
  if (path.empty()) path = "/";
  return Name::Known;
}

std::uint8_t acts_of_open(std::uint64_t flags) {
  constexpr std::uint64_t kChanging = O_CREAT | O_TRUNC;
  const bool writes = (flags & O_ACCMODE) != O_RDONLY || (flags & kChanging) != 0;
  const bool path_only = (flags & O_PATH) != 0;
  if (path_only) return kRead;
  // What is opened for both may be read; so is what must be there to be written.
  unsigned acts = kOpen | (writes ? kWrite : kRead);
  if ((flags & O_TRUNC) != 0) acts |= kReplace;
  // Read, if it is there already.
  if ((flags & O_ACCMODE) == O_RDONLY && (flags & O_TRUNC) == 0 && writes) acts |= kMake | kRead;
  return static_cast<std::uint8_t>(acts);
}

std::uint8_t acts_of(const seccomp_notif& question, const NamedCall& call) {
  if (call.open_flags != kNone) return acts_of_open(question.data.args[call.open_flags]);
  if (call.number != SYS_openat2) return call.acts;
  open_how how = {};
  if (copy_from(static_cast<pid_t>(question.pid), question.data.args[2], &how, sizeof how.flags) !=
      sizeof how.flags)
    return call.acts;
  return acts_of_open(how.flags);
}

AskedPath asked_path(std::string_view path, unsigned acts, Operation operation) {
  return {.path = std::string(path),
          .operation = operation,
          .opened = (acts & kOpen) != 0,
          .replaced = (acts & kReplace) != 0,
          .made = (acts & kMake) != 0,
          .absent = (acts & kAbsent) != 0,
          .used_before = (acts & kUsed) != 0};
}

// A program that is given as a descriptor: where it lies, or what it is if that is nowhere.
std::optional<std::string> file_of(const seccomp_notif& question, ProcessReader& processes) {
  const auto file = processes.descriptor_of(static_cast<pid_t>(question.pid),
                                            static_cast<int>(question.data.args[0]));
  if (!file.is_open()) return kHiddenPath;
  TextBuffer buffer;
  const ssize_t size =
      ::readlink(fmt::format("/proc/self/fd/{}", file.get()).c_str(), buffer.data(), PATH_MAX);
  return size <= 0 ? kHiddenPath : std::string(buffer.data(), static_cast<std::size_t>(size));
}

void ask(std::vector<sock_filter>& program, int number) {
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 1));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
}

void ask_if_named(std::vector<sock_filter>& program, int number, int flags) {
  const std::size_t offset =
      offsetof(seccomp_data, args) + sizeof(std::uint64_t) * static_cast<unsigned>(flags);
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(number), 0, 4));
  program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(offset)));
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, AT_EMPTY_PATH, 0, 1));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
}

}  // namespace

std::vector<sock_filter> file_observer_filter(std::span<const int> others) {
  std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  int before = -1;
  for (const NamedCall& call : kCalls) {
    if (call.number == before) continue;  // its second name
    before = call.number;
    if (call.at_flags == kNone)
      ask(program, call.number);
    else
      ask_if_named(program, call.number, call.at_flags);
  }
  for (const int number : others) ask(program, number);
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  return program;
}

std::optional<std::string> program_asked_for(const seccomp_notif& question,
                                             ProcessReader& processes) {
  std::string path;
  for (const NamedCall& call : kCalls) {
    if (call.number != question.data.nr || call.acts != kExecute) continue;
    switch (path_of(question, call, path, &processes)) {
      case Name::Known: return path;
      case Name::Hidden: return kHiddenPath;
      case Name::None: break;
    }
    if (call.number == SYS_execveat && (question.data.args[4] & AT_EMPTY_PATH) != 0)
      return file_of(question, processes);
  }
  return std::nullopt;
}

std::vector<std::string> arguments_given(const seccomp_notif& question) {
  constexpr std::size_t kMostWords = 256;
  constexpr std::size_t kMostBytes = 4096;
  const auto process = static_cast<pid_t>(question.pid);
  std::array<std::uint64_t, kMostWords> words = {};
  const std::uint64_t place = question.data.args[question.data.nr == SYS_execveat ? 2 : 1];
  // The list may end where its page does.
  constexpr std::size_t kPage = 4096;
  std::size_t got =
      copy_from(process, place, words.data(), std::min(sizeof words, kPage - place % kPage));
  if (got != 0 && got < sizeof words)
    got += copy_from(process, place + got, reinterpret_cast<char*>(words.data()) + got,
                     sizeof words - got);
  std::vector<std::string> arguments;
  std::size_t bytes = 0;
  TextBuffer buffer;
  for (std::size_t i = 0; i < got / sizeof words[0]; ++i) {
    if (words[i] == 0) return arguments;
    const auto text = read_text(process, words[i], buffer);
    if (!text || (bytes += text->size() + 1) > kMostBytes) break;
    arguments.emplace_back(*text);
  }
  if (got != 0) arguments.emplace_back(kCut);
  return arguments;
}

const std::vector<AskedPath>& FileObserver::hear(const seccomp_notif& question,
                                                 ProcessReader* processes) {
  fresh_.clear();
  is_hidden_ = false;
  for (const NamedCall& call : kCalls) {
    if (call.number != question.data.nr) continue;
    const Name name = path_of(question, call, path_, processes);
    if (name == Name::Known) note(path_, acts_of(question, call));
    if (name == Name::Hidden) is_hidden_ = true;
  }
  return fresh_;
}

bool FileObserver::is_full() const {
  if (look_ == Look::OnHost)
    return asked_.size() >= kMostLearned || asked_bytes_ >= kMostLearnedBytes;
  return asked_.size() >= kMostAsked || asked_bytes_ >= kMostAskedBytes;
}

void FileObserver::note(std::string_view path, std::uint8_t acts) {
  std::uint8_t* known = nullptr;
  for (Paths* paths : {&asked_, &latest_})
    if (const auto found = paths->find(path); found != paths->end()) known = &found->second;
  const std::uint8_t before = known == nullptr ? 0 : *known;
  const bool uses = (acts & kExecute) != 0 || (acts & (kRead | kOpen)) == (kRead | kOpen);
  if (uses && ((before | acts) & (kReplace | kAbsent)) == 0) acts |= kUsed;
  if (known != nullptr) {
    *known |= acts;
  } else {
    std::string text(path);
    if (look_ == Look::OnHost && !is_present(text)) acts |= kAbsent;
    const bool full = is_full();
    (full ? latest_ : asked_).emplace(std::move(text), acts);
    (full ? latest_bytes_ : asked_bytes_) += path.size();
    if (latest_.size() >= kMostAsked || latest_bytes_ >= kMostAskedBytes) {
      latest_.clear();
      latest_bytes_ = 0;
    }
  }
  for (const auto& [act, operation] : kOperations)
    if ((acts & ~before & act) != 0) fresh_.push_back(asked_path(path, acts, operation));
}

std::vector<AskedPath> FileObserver::asked() const {
  std::vector<AskedPath> list;
  for (const auto& [path, acts] : asked_) {
    for (const auto& [act, operation] : kOperations)
      if ((acts & act) != 0) list.push_back(asked_path(path, acts, operation));
  }
  std::sort(list.begin(), list.end(), [](const AskedPath& a, const AskedPath& b) {
    return std::tie(a.path, a.operation) < std::tie(b.path, b.operation);
  });
  return list;
}

}  // namespace hermetic::linux_backend
