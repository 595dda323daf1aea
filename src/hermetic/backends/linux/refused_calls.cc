#include "hermetic/backends/linux/refused_calls.h"

#include <fmt/format.h>
#include <linux/audit.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "hermetic/backends/linux/filter_program.h"

namespace hermetic::linux_backend {
namespace {

#if defined(__x86_64__)
constexpr unsigned kThisArchitecture = AUDIT_ARCH_X86_64;
constexpr bool kHasX32 = true;
#else
constexpr unsigned kThisArchitecture = AUDIT_ARCH_AARCH64;
constexpr bool kHasX32 = false;
#endif
constexpr unsigned kX32Bit = 0x40000000;
constexpr unsigned kNegative = 0x80000000;
constexpr std::size_t kMostRefused = 1000;

struct Named {
  unsigned number;
  std::string_view name;
};

// Those that only a program with a purpose makes. What the C library tries for each process or file
// before it goes on with an older call is refused without a question: clone3(), openat2() and so
// on.
constexpr std::array kNamed = {
    Named{SYS_add_key, "add_key"},
    Named{SYS_request_key, "request_key"},
    Named{SYS_keyctl, "keyctl"},
    Named{SYS_bpf, "bpf"},
    Named{SYS_perf_event_open, "perf_event_open"},
    Named{SYS_io_uring_enter, "io_uring_enter"},
    Named{SYS_io_uring_register, "io_uring_register"},
    Named{SYS_userfaultfd, "userfaultfd"},
    Named{SYS_kexec_load, "kexec_load"},
    Named{SYS_kexec_file_load, "kexec_file_load"},
    Named{SYS_init_module, "init_module"},
    Named{SYS_finit_module, "finit_module"},
    Named{SYS_delete_module, "delete_module"},
    Named{SYS_open_by_handle_at, "open_by_handle_at"},
    Named{SYS_fanotify_init, "fanotify_init"},
    Named{SYS_clock_settime, "clock_settime"},
    Named{SYS_settimeofday, "settimeofday"},
    Named{SYS_clock_adjtime, "clock_adjtime"},
    Named{SYS_adjtimex, "adjtimex"},
    Named{SYS_swapon, "swapon"},
    Named{SYS_swapoff, "swapoff"},
    Named{SYS_reboot, "reboot"},
    Named{SYS_acct, "acct"},
    Named{SYS_quotactl, "quotactl"},
    Named{SYS_syslog, "syslog"},
    Named{SYS_vhangup, "vhangup"},
    Named{SYS_mount, "mount"},
    Named{SYS_umount2, "umount2"},
    Named{SYS_pivot_root, "pivot_root"},
    Named{SYS_move_mount, "move_mount"},
    Named{SYS_open_tree, "open_tree"},
    Named{SYS_fsopen, "fsopen"},
    Named{SYS_fsconfig, "fsconfig"},
    Named{SYS_fsmount, "fsmount"},
    Named{SYS_fspick, "fspick"},
    Named{SYS_setns, "setns"},
#if defined(__x86_64__)
    Named{SYS_uselib, "uselib"},
    Named{SYS_modify_ldt, "modify_ldt"},
    Named{SYS_iopl, "iopl"},
    Named{SYS_ioperm, "ioperm"},
#endif
};

sock_filter word_at(std::size_t place) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(place));
}
sock_filter if_number(unsigned value, unsigned char yes, unsigned char no) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no);
}

// `what` for another table and for these calls; goes on after it otherwise, with the number loaded.
std::vector<sock_filter> answered_with(unsigned what, const std::vector<unsigned>& calls) {
  const sock_filter answer = BPF_STMT(BPF_RET | BPF_K, what);
  std::vector<sock_filter> program = {word_at(offsetof(seccomp_data, arch)),
                                      if_number(kThisArchitecture, 1, 0), answer,
                                      word_at(offsetof(seccomp_data, nr))};
  if (kHasX32) {
    // A negative number is a call of no table. A debugger that skips a call writes -1, also while
    // the listener is not yet passed on.
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kNegative, 2, 0));
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kX32Bit, 0, 1));
    program.push_back(answer);
  }
  for (const unsigned call : calls) {
    program.push_back(if_number(call, 0, 1));
    program.push_back(answer);
  }
  return program;
}

bool is_of_another_table(const seccomp_data& data) {
  return data.arch != kThisArchitecture ||
         (kHasX32 && data.nr >= 0 && (static_cast<unsigned>(data.nr) & kX32Bit) != 0);
}

bool refuses(const std::vector<sock_filter>& filter, const seccomp_data& data) {
  const std::uint32_t answer = answer_of(filter, data);
  return (answer & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO;
}

}  // namespace

std::vector<unsigned> told_calls(const std::vector<sock_filter>& filter) {
  std::vector<unsigned> calls;
  for (const Named& named : kNamed) {
    seccomp_data data = {};
    data.nr = static_cast<int>(named.number);
    data.arch = kThisArchitecture;
    if (refuses(filter, data)) calls.push_back(named.number);
  }
  return calls;
}

std::vector<sock_filter> refused_calls_filter(const std::vector<unsigned>& calls) {
  return answered_with(SECCOMP_RET_USER_NOTIF, calls);
}

std::vector<sock_filter> exempt_refused_calls(const std::vector<unsigned>& calls) {
  return answered_with(SECCOMP_RET_ALLOW, calls);
}

std::string name_of_call(const seccomp_data& data) {
#if defined(__x86_64__)
  if (data.arch == AUDIT_ARCH_I386) return "i386";
#else
  if (data.arch == AUDIT_ARCH_ARM) return "arm";
#endif
  if (is_of_another_table(data)) return data.arch == kThisArchitecture ? "x32" : "foreign";
  const auto* const found =
      std::ranges::find(kNamed, static_cast<unsigned>(data.nr), &Named::number);
  return found == kNamed.end() ? fmt::format("number {}", data.nr) : std::string(found->name);
}

bool RefusedCalls::is_asked(const seccomp_data& data) const {
  return is_of_another_table(data) ||
         std::ranges::find(told_, static_cast<unsigned>(data.nr)) != told_.end();
}

int RefusedCalls::answer(const seccomp_data& data) const {
  const std::uint32_t answer = answer_of(filter_, data);
  if ((answer & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ALLOW) return 0;
  return -static_cast<int>(answer & SECCOMP_RET_DATA);
}

std::optional<Event> RefusedCalls::hear(const seccomp_data& data,
                                        const std::vector<ProcessFacts>& processes) {
  const std::string call = name_of_call(data);
  const std::string by = processes.empty() ? "" : processes.front().executable;
  const auto [place, fresh] = places_.try_emplace({call, by}, refused_.size());
  if (!fresh) {
    ++refused_[place->second].count;
    return std::nullopt;
  }
  if (refused_.size() >= kMostRefused) {
    places_.erase(place);
    return std::nullopt;
  }
  refused_.push_back({.call = call, .by = by});
  Event event{.kind = Event::Kind::Call, .act = "refuse", .subject = call};
  if (is_of_another_table(data))
    event.detail = fmt::format("call {} of a table that is not this machine's own",
                               static_cast<unsigned>(data.nr) & ~kX32Bit);
  event.verdict = Verdict::Deny;
  event.rule = "system-calls-filtered";
  event.processes = processes;
  return event;
}

}  // namespace hermetic::linux_backend
