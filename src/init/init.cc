// hermetic-init: pid 1 inside a Linux sandbox. Starts the command, reaps everything, forwards
// signals, reports how it ended, and takes the whole sandbox down with it.
//
// Why it exists: a command that is pid 1 itself survives the signals that should end it and
// inherits orphans that it does not reap. No libc, no allocation: argv and envp are the command's
// own.
#include <asm/ioctls.h>
#include <asm/signal.h>
#include <asm/unistd.h>
#include <linux/errno.h>
#include <linux/filter.h>
#include <linux/poll.h>
#include <linux/prctl.h>
#include <linux/resource.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/time_types.h>
#include <linux/wait.h>

#include "hermetic/backends/linux/init_protocol.h"
#include "init/observe.h"
#include "init/probes.h"
#include "init/survivors.h"
#include "init/system_calls.h"

namespace hermetic::init {
namespace {

using linux_backend::InitConfig;
using linux_backend::InitReport;
using linux_backend::InitSignal;
using linux_backend::InitStep;
using linux_backend::kInitSocket;

constexpr int kSignalCount = 31;  // real-time signals start as they are; nobody ignores them
constexpr unsigned long kSignalSetBytes = 8;
constexpr long kWholeSize = 0x20;  // MSG_TRUNC: recvfrom() tells the size that was sent

struct KernelSigaction {  // what rt_sigaction(2) really takes
  void* handler = nullptr;
  unsigned long flags = 0;
  void* restorer = nullptr;
  unsigned long mask = 0;
};

alignas(16) char config_bytes[linux_backend::kLargestConfig];

[[noreturn]] void leave(int code) {
  for (;;) call(__NR_exit_group, code);
}

void send(const InitReport& report) {
  constexpr long kNoSignal = 0x4000;  // MSG_NOSIGNAL
  call(__NR_sendto, kInitSocket, address(&report), sizeof report, kNoSignal);
}

[[noreturn]] void fail(InitStep step, long error, std::uint32_t probes_succeeded = 0) {
  send({.kind = InitReport::Kind::StepFailed,
        .step = static_cast<std::uint32_t>(step),
        .os_error = static_cast<std::int32_t>(-error),
        .probes_succeeded = probes_succeeded});
  leave(125);
}

void set_signal_mask(unsigned long mask) {
  call(__NR_rt_sigprocmask, SIG_SETMASK, address(&mask), 0, kSignalSetBytes);
}

// The caller may ignore signals, and execve() keeps that: the command starts with none ignored.
void reset_signal(int number) {
  const KernelSigaction usual;
  call(__NR_rt_sigaction, number, address(&usual), 0, kSignalSetBytes);
}

void reset_signals() {
  for (int number = 1; number <= kSignalCount; ++number) reset_signal(number);
  set_signal_mask(0);
}

bool equal(const char* a, const char* b, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i)
    if (a[i] != b[i]) return false;
  return true;
}

const char* search_path(char** envp) {
  for (; *envp != nullptr; ++envp)
    if (equal(*envp, "PATH=", 5)) return *envp + 5;
  return "/usr/bin:/bin";
}

bool has_slash(const char* text) {
  for (; *text != '\0'; ++text)
    if (*text == '/') return true;
  return false;
}

std::size_t length_of(const char* text) {
  std::size_t length = 0;
  while (text[length] != '\0') ++length;
  return length;
}

// Writes directory/name; false if it does not fit.
template <std::size_t room>
bool join(char (&path)[room], const char* directory, std::size_t size, const char* name) {
  const std::size_t length = length_of(name);
  if (size + length + 2 > room) return false;
  for (std::size_t i = 0; i < size; ++i) path[i] = directory[i];
  path[size] = '/';
  for (std::size_t i = 0; i <= length; ++i) path[size + 1 + i] = name[i];
  return true;
}

// Calls `attempt` with the paths that argv[0] can mean, until one does not say "not there". Returns
// the errno that says most: a program that exists but cannot be executed is no missing one.
template <class Attempt>
long search(char** argv, char** envp, Attempt attempt) {
  if (has_slash(argv[0])) return attempt(argv[0]);
  long result = -ENOENT;
  char candidate[4096];
  for (const char* directory = search_path(envp);;) {
    std::size_t size = 0;
    while (directory[size] != ':' && directory[size] != '\0') ++size;
    if (size > 0 && join(candidate, directory, size, argv[0])) {
      const long answer = attempt(candidate);
      if (answer != -ENOENT && answer != -ENOTDIR && answer != -EACCES) return answer;
      if (answer == -EACCES) result = answer;
    }
    if (directory[size] == '\0') return result;
    directory += size + 1;
  }
}

// With a key, by the one call that the filter knows it by.
long execute(const InitConfig& config, char** argv, char** envp) {
  return search(argv, envp, [&](const char* path) {
    if (config.only_this_program == 0)
      return call(__NR_execve, address(path), address(argv), address(envp));
    return call(__NR_execveat, -100 /* AT_FDCWD */, address(path), address(argv), address(envp), 0,
                static_cast<long>(config.program_key));
  });
}

// Shared with the child, which runs in our memory until it executes the command.
struct StartFailure {
  volatile InitStep step = InitStep::StartProcess;
  volatile long error = 0;
  volatile bool executing = false;
  volatile std::uint32_t probes_succeeded = 0;
};

long check_clock(const InitConfig& config) {
  __kernel_timespec now = {};
  const long result = call(__NR_clock_gettime, 1 /* CLOCK_MONOTONIC */, address(&now));
  if (result < 0) return result;
  const auto nanoseconds = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
                           static_cast<std::uint64_t>(now.tv_nsec);
  return nanoseconds < config.host_clock_nanoseconds ? 0 : -EOPNOTSUPP;
}

// Not before the listener is passed on: what a user passes at one time, in whatever programs, is
// held against this limit of whoever passes one more, unix(7).
long limit_open_files(unsigned long most) {
  const rlimit64 limit = {.rlim_cur = most, .rlim_max = most};
  return call(__NR_prlimit64, 0, RLIMIT_NOFILE, address(&limit));
}

[[noreturn]] void become_command(const InitConfig& config, char** argv, char** envp,
                                 StartFailure& failure) {
  const auto check = [&](InitStep step, long result) {
    if (result >= 0) return;
    failure.step = step;
    failure.error = result;
    leave(125);
  };
  check(InitStep::NewSession, call(__NR_setsid));
  if (config.own_terminal != 0)
    check(InitStep::TakeTerminal, call(__NR_ioctl, config.own_terminal - 1, TIOCSCTTY, 0));
  const char* directory = config_bytes + directory_begin(config);
  check(InitStep::ChangeDirectory, call(__NR_chdir, address(directory)));
  if (config.host_clock_nanoseconds != 0) check(InitStep::CheckClock, check_clock(config));
  if (config.observer_count > 0) {
    const sock_fprog observer = {
        .len = static_cast<unsigned short>(config.observer_count),
        .filter = reinterpret_cast<sock_filter*>(config_bytes + observer_begin(config))};
    check(InitStep::Observe, observe(observer, static_cast<long>(config.program_key)));
  }
  call(__NR_close, kInitSocket);
  if (config.open_files != 0) check(InitStep::LimitOpenFiles, limit_open_files(config.open_files));
  reset_signals();
  const sock_fprog filter = {
      .len = static_cast<unsigned short>(config.filter_count),
      .filter = reinterpret_cast<sock_filter*>(config_bytes + sizeof config)};
  if (config.filter_count > 0)
    check(InitStep::LoadFilter, call(__NR_seccomp, SECCOMP_SET_MODE_FILTER, 0, address(&filter)));
  if (config.probes != 0) {
    failure.probes_succeeded = run_probes({.wanted = config.probes,
                                           .secret = config_bytes + secret_begin(config),
                                           .input = config_bytes + input_begin(config),
                                           .key = static_cast<long>(config.program_key)});
    check(InitStep::Prove, failure.probes_succeeded == 0 ? 0 : -EPERM);
  }
  failure.executing = true;
  failure.error = execute(config, argv, envp);
  leave(125);
}

// As vfork(2): the child borrows our memory and stack and we sleep until it executes the command.
// It never returns from this function, so that our frame stays whole.
__attribute__((noinline)) long start_command(const InitConfig& config, char** argv, char** envp,
                                             StartFailure& failure, long memory) {
  const long pid = call(__NR_clone, memory | CLONE_VFORK | SIGCHLD);
  if (pid == 0) become_command(config, argv, envp, failure);
  return pid;
}

// A time namespace that was unshared begins with the next program on newer kernels, and only with
// the next process on older ones (6.1), which may not share our memory then. It gets a copy, and
// says what went wrong in a page that both have.
long start_in_time_namespace(const InitConfig& config, char** argv, char** envp,
                             StartFailure& failure) {
  constexpr long kReadAndWrite = 3;       // PROT_READ | PROT_WRITE
  constexpr long kSharedAndEmpty = 0x21;  // MAP_SHARED | MAP_ANONYMOUS
  const long page = call(__NR_mmap, 0, sizeof failure, kReadAndWrite, kSharedAndEmpty, -1, 0);
  if (page < 0) return page;
  auto& shared = *reinterpret_cast<StartFailure*>(page);
  shared.step = failure.step;
  const long pid = start_command(config, argv, envp, shared, 0);
  failure.step = shared.step;
  failure.error = shared.error;
  failure.executing = shared.executing;
  failure.probes_succeeded = shared.probes_succeeded;
  return pid;
}

std::uint64_t microseconds(const __kernel_old_timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(time.tv_usec);
}

// The digits of `text`; 0 if there are none.
std::uint64_t number_in(const char* text) {
  std::uint64_t number = 0;
  for (; *text >= '0' && *text <= '9'; ++text)
    number = number * 10 + static_cast<std::uint64_t>(*text - '0');
  return number;
}

// Reads the start of a file of /proc into `text` and closes it with a NUL. Returns its length.
template <std::size_t room>
std::size_t read_text(const char* path, char (&text)[room]) {
  const long file = call(__NR_openat, -100 /* AT_FDCWD */, address(path), 02000000 /* O_CLOEXEC */);
  if (file < 0) return 0;
  const long size = call(__NR_read, file, address(text), room - 1);
  call(__NR_close, file);
  const std::size_t length = size > 0 ? static_cast<std::size_t>(size) : 0;
  text[length] = '\0';
  return length;
}

// The last number that a process or thread of this namespace was given, less ours. The file ends
// with it.
std::uint64_t count_started() {
  char text[128];
  std::size_t length = read_text("/proc/loadavg", text);
  while (length > 0 && text[length - 1] != ' ') --length;
  const std::uint64_t last = number_in(text + length);
  return last > 0 ? last - 1 : 0;
}

// "    lo:     1234 …": what was received is what was sent.
std::uint64_t count_network() {
  char text[2048];
  const std::size_t length = read_text("/proc/self/net/dev", text);
  for (std::size_t i = 0; i + 3 < length; ++i) {
    if (!equal(text + i, "lo:", 3)) continue;
    const char* number = text + i + 3;
    while (*number == ' ') ++number;
    return number_in(number);
  }
  return 0;
}

std::uint64_t smaller(std::uint64_t a, std::uint64_t b) { return a < b ? a : b; }

// What we and those that we have waited for have read and written. Opened while it is still ours to
// open; -1 if it could not be.
struct Transfers {
  long file = -1;
  std::uint64_t before[linux_backend::kTransferCounts] = {};
};
Transfers transfers;

// "rchar: 1\nwchar: 2\n…"
void read_transfers(std::uint64_t (&counts)[linux_backend::kTransferCounts]) {
  char text[256];
  const long size = transfers.file < 0
                        ? 0
                        : call(__NR_pread64, transfers.file, address(text), sizeof text - 1, 0);
  text[size > 0 ? size : 0] = '\0';
  const char* place = text;
  for (std::uint64_t& count : counts) {
    while (*place != '\0' && (*place < '0' || *place > '9')) ++place;
    count = number_in(place);
    while (*place >= '0' && *place <= '9') ++place;
  }
}

void watch_transfers() {
  transfers.file =
      call(__NR_openat, -100 /* AT_FDCWD */, address("/proc/self/io"), 02000000 /* O_CLOEXEC */);
  read_transfers(transfers.before);
}

// The command is gone: whatever it left behind goes too, and is counted.
[[noreturn]] void finish(InitReport report) {
  if (report.kind == InitReport::Kind::Ended) count_survivors(report);
  call(__NR_kill, -1, SIGKILL);
  for (;;) {
    const long pid = call(__NR_wait4, -1, 0, __WALL, 0);
    if (pid == -ECHILD) break;
  }
  rusage usage = {};
  call(__NR_getrusage, RUSAGE_CHILDREN, address(&usage));
  report.user_microseconds = microseconds(usage.ru_utime);
  report.system_microseconds = microseconds(usage.ru_stime);
  report.peak_kilobytes = static_cast<std::uint64_t>(usage.ru_maxrss);
  report.minor_faults = static_cast<std::uint64_t>(usage.ru_minflt);
  report.major_faults = static_cast<std::uint64_t>(usage.ru_majflt);
  report.voluntary_switches = static_cast<std::uint64_t>(usage.ru_nvcsw);
  report.involuntary_switches = static_cast<std::uint64_t>(usage.ru_nivcsw);
  report.started_processes = count_started();
  read_transfers(report.transfers);
  for (std::size_t i = 0; i < linux_backend::kTransferCounts; ++i)
    report.transfers[i] =
        smaller(report.transfers[i] - smaller(report.transfers[i], transfers.before[i]),
                linux_backend::kLargestUsage);
  const auto& config = *reinterpret_cast<const InitConfig*>(config_bytes);
  if (config.count_network != 0)
    report.network_bytes = smaller(count_network(), linux_backend::kLargestUsage);
  send(report);
  leave(0);
}

bool is_stop(int status) { return (status & 0xff) == 0x7f; }

// Somebody made us its tracer, which any child can do: it goes on as if it had none. The trap of an
// execve() is for a tracer only.
void let_go(long pid, int status) {
  const int signal = (status >> 8) & 0xff;
  call(__NR_ptrace, 17 /* PTRACE_DETACH */, pid, 0, signal == SIGTRAP ? 0 : signal);
}

// True if there may be more: a command that leaves children without end must not keep us from
// hearing hermetic.
bool reap(long command) {
  constexpr int kAtOnce = 64;
  for (int i = 0; i < kAtOnce; ++i) {
    int status = 0;
    const long pid = call(__NR_wait4, -1, address(&status), WNOHANG | __WALL, 0);
    if (pid <= 0) return false;
    if (is_stop(status))
      let_go(pid, status);
    else if (pid == command)
      finish({.kind = InitReport::Kind::Ended, .wait_status = status});
  }
  return true;
}

void forward(long command, const InitSignal& signal) {
  call(__NR_kill, signal.to_all != 0 ? -1 : command, signal.number);
}

// Readable when a child has ended.
long watch_children() {
  const unsigned long children = 1UL << (SIGCHLD - 1);
  return call(__NR_signalfd4, -1, address(&children), kSignalSetBytes, 02000000 /* O_CLOEXEC */);
}

[[noreturn]] void serve(long command, long signals, const InitConfig& config) {
  pollfd watched[2] = {{.fd = static_cast<int>(signals), .events = POLLIN, .revents = 0},
                       {.fd = kInitSocket, .events = POLLIN, .revents = 0}};
  for (;;) {
    const __kernel_timespec at_once = {};
    const bool more = reap(command);
    call(__NR_ppoll, address(watched), 2, more ? address(&at_once) : 0, 0, kSignalSetBytes);
    if (watched[0].revents != 0) {
      char information[128];
      call(__NR_read, signals, address(information), sizeof information);
    }
    if (watched[1].revents != 0) {
      InitSignal signal;
      const long size =
          call(__NR_recvfrom, kInitSocket, address(&signal), sizeof signal, kWholeSize);
      if (size > 0 && linux_backend::is_whole_signal(signal, static_cast<std::size_t>(size)))
        forward(command, signal);
      // Hermetic is gone, killed perhaps: so is everything it started. Leaving is enough, the
      // kernel ends a pid namespace with its first process.
      if (size == 0 && config.stay_when_alone == 0) leave(125);
      if (size == 0) watched[1].fd = -1;
    }
  }
}

[[noreturn]] void run(char** argv, char** envp) {
  watch_transfers();
  // Nobody inside may look into us: /proc/1 belongs to nobody, and ptrace is refused.
  if (const long hidden = call(__NR_prctl, PR_SET_DUMPABLE, 0); hidden < 0)
    fail(InitStep::Hide, hidden);
  set_signal_mask(~0UL);
  reset_signal(SIGCHLD);  // a caller that ignores it would leave us with no child to wait for
  const long size =
      call(__NR_recvfrom, kInitSocket, address(config_bytes), sizeof config_bytes, kWholeSize);
  const auto& config = *reinterpret_cast<const InitConfig*>(config_bytes);
  if (size < 0) fail(InitStep::ReadConfig, size);
  if (!linux_backend::is_whole_config(config_bytes, static_cast<std::size_t>(size)))
    fail(InitStep::ReadConfig, -EPROTO);

  // Before there is a command: without it, its end would never be noticed.
  const long signals = watch_children();
  if (signals < 0) fail(InitStep::WatchChildren, signals);
  StartFailure failure;
  long command = start_command(config, argv, envp, failure, CLONE_VM);
  if (command == -EINVAL && config.host_clock_nanoseconds != 0)
    command = start_in_time_namespace(config, argv, envp, failure);
  if (command < 0) fail(InitStep::StartProcess, command);
  if (failure.error != 0 && !failure.executing)
    fail(failure.step, failure.error, failure.probes_succeeded);
  if (failure.error != 0)
    finish({.kind = InitReport::Kind::NotStarted,
            .os_error = static_cast<std::int32_t>(-failure.error)});
  send({.kind = InitReport::Kind::Started, .probes_tried = config.probes});
  // Our standard descriptors are the caller's: holding them open would keep its pipes from ending.
  for (int descriptor = 0; descriptor <= 2; ++descriptor) call(__NR_close, descriptor);
  serve(command, signals, config);
}

}  // namespace

extern "C" [[noreturn, gnu::used]] void hermetic_init_main(long* stack) {
  const long count = stack[0];
  char** argv = reinterpret_cast<char**>(stack + 1);
  run(argv, argv + count + 1);
}

}  // namespace hermetic::init

// The kernel starts us with the stack pointer at argc; see the ABI's "process initialisation".
#if defined(__x86_64__)
asm(".globl _start\n_start:\n  mov %rsp, %rdi\n  and $-16, %rsp\n  call hermetic_init_main\n");
#else
asm(".globl _start\n_start:\n  mov x0, sp\n  bl hermetic_init_main\n");
#endif

// The compiler may call these for plain assignments.
extern "C" void* memset(void* target, int value, std::size_t size) {
  auto* bytes = static_cast<volatile char*>(target);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(value);
  return target;
}
extern "C" void* memcpy(void* target, const void* source, std::size_t size) {
  auto* to = static_cast<volatile char*>(target);
  const auto* from = static_cast<const char*>(source);
  for (std::size_t i = 0; i < size; ++i) to[i] = from[i];
  return target;
}
