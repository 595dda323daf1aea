// Compiles the system-call filters with libseccomp and prints them as C++: run by the build, not by
// users.
//
// A deny list, but for sockets and personalities: a build may call anything that is ordinary, and
// what is refused is refused like a kernel that does not have it. Arguments are compared by their
// low 32 bits where the kernel looks at no more, or a set high bit would slip through
// (CVE-2019-10063).
#include <asm/ioctls.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "hermetic/backends/linux/init_protocol.h"

namespace {

struct Variant {
  bool nested;      // user namespaces, and the mounts made in them, are allowed
  bool no_fork;     // threads are, processes are not
  bool no_exec;     // nothing but the execveat() that carries the key of the run
  bool no_set_id;   // an output is changed in place: no file there may get a set-user-id or
                    // set-group-id bit
  bool fixed_cpus;  // on which CPUs it runs is not the command's choice
};

// What a new kernel adds after this is not there inside: mseal(2), 6.10. It covers
// open_tree_attr(2) too.
constexpr unsigned kLastKnownCall = 462;

void require(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "make_filters: %s failed\n", what);
  std::exit(1);
}

sock_filter load(std::size_t place) {
  return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<unsigned>(place));
}
sock_filter answer(unsigned value) { return BPF_STMT(BPF_RET | BPF_K, value); }
sock_filter refuse(int error) { return answer(SECCOMP_RET_ERRNO | static_cast<unsigned>(error)); }
sock_filter jump_if_equal(unsigned value, std::size_t distance) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, static_cast<unsigned char>(distance), 0);
}
// The kernel looks at no more than that of the arguments below.
sock_filter load_low_half(std::size_t argument) {
  return load(offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t));
}

using Block = std::vector<sock_filter>;

// Goes on with `block`, which answers in every case, if the accumulator is `value`; after it
// otherwise.
void add_case(Block& program, unsigned value, const Block& block) {
  program.push_back(
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, static_cast<unsigned char>(block.size())));
  program.insert(program.end(), block.begin(), block.end());
}

// Allows if the argument is one of the values.
Block only(std::size_t argument, const std::vector<unsigned>& values, int error) {
  Block block = {load_low_half(argument)};
  for (std::size_t i = 0; i < values.size(); ++i)
    block.push_back(jump_if_equal(values[i], values.size() - i));
  block.push_back(refuse(error));
  block.push_back(answer(SECCOMP_RET_ALLOW));
  return block;
}

Block internet_sockets(unsigned echo) {
  constexpr unsigned kTypeBits = 0xF;  // without SOCK_CLOEXEC and SOCK_NONBLOCK
  Block block = {load_low_half(1), BPF_STMT(BPF_ALU | BPF_AND | BPF_K, kTypeBits)};
  add_case(block, SOCK_STREAM, only(2, {0, IPPROTO_TCP}, EPROTONOSUPPORT));
  add_case(block, SOCK_DGRAM, only(2, {0, IPPROTO_UDP, IPPROTO_UDPLITE, echo}, EPROTONOSUPPORT));
  // As the kernel says it to a process without capabilities.
  add_case(block, SOCK_RAW, {refuse(EPERM)});
  block.push_back(refuse(EPROTONOSUPPORT));
  return block;
}

// An allow list, unlike the rest: behind each family and protocol there is much code, which the
// kernel loads as a module for any process, and the list of families grows. What is left is what
// builds and tests use; the namespace decides what those reach.
Block sockets() {
  Block block = {load_low_half(0)};
  add_case(block, AF_UNIX, {answer(SECCOMP_RET_ALLOW)});
  add_case(block, AF_INET, internet_sockets(IPPROTO_ICMP));
  add_case(block, AF_INET6, internet_sockets(IPPROTO_ICMPV6));
  add_case(block, AF_NETLINK, only(2, {NETLINK_ROUTE}, EPROTONOSUPPORT));
  block.push_back(refuse(EAFNOSUPPORT));
  return block;
}

// A question, and what setarch(1) and debuggers set: the name of a 32-bit machine, addresses that
// are not random. The others make memory executable that was not meant to be (READ_IMPLIES_EXEC),
// map page zero, or change what system calls return.
Block personalities() {
  Block block = {load_low_half(0)};
  add_case(block, 0xFFFFFFFF, {answer(SECCOMP_RET_ALLOW)});
  block.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K,
                           ~unsigned{hermetic::linux_backend::kAllowedPersonality}, 0, 1));
  block.push_back(refuse(EINVAL));
  block.push_back(answer(SECCOMP_RET_ALLOW));
  return block;
}

// Before what libseccomp makes, which is a deny list. Calls of another architecture have other
// numbers, and do not exist.
Block allow_lists() {
  Block program = {
      load(offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, seccomp_arch_native(), 1, 0),
      refuse(ENOSYS),
      load(offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, kLastKnownCall, 0, 1),
      refuse(ENOSYS),
  };
  add_case(program, SYS_socket, sockets());
  add_case(program, SYS_personality, personalities());
  return program;
}

class Filter {
 public:
  Filter() : context_(seccomp_init(SCMP_ACT_ALLOW)) {
    require(context_ != nullptr, "seccomp_init");
    // System calls of another architecture (i386, x32) do not exist.
    require(seccomp_attr_set(context_, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS)) == 0,
            "BADARCH");
    require(seccomp_attr_set(context_, SCMP_FLTATR_CTL_OPTIMIZE, 2) == 0, "OPTIMIZE");
  }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;
  ~Filter() { seccomp_release(context_); }

  void deny(const char* call, int error) {
    const int number = seccomp_syscall_resolve_name(call);
    require(number != __NR_SCMP_ERROR, call);
    if (number < 0) return;  // known, but not on this architecture
    require(seccomp_rule_add_array(context_, SCMP_ACT_ERRNO(static_cast<unsigned>(error)), number,
                                   0, nullptr) == 0,
            call);
  }
  void deny_number(int number, int error) {
    require(seccomp_rule_add_array(context_, SCMP_ACT_ERRNO(static_cast<unsigned>(error)), number,
                                   0, nullptr) == 0,
            "a rule for a number");
  }
  void deny_if(const char* call, int error, const std::vector<scmp_arg_cmp>& conditions) {
    const int number = seccomp_syscall_resolve_name(call);
    require(number != __NR_SCMP_ERROR, call);
    if (number < 0) return;
    require(
        seccomp_rule_add_array(context_, SCMP_ACT_ERRNO(static_cast<unsigned>(error)), number,
                               static_cast<unsigned>(conditions.size()), conditions.data()) == 0,
        call);
  }

  [[nodiscard]] std::vector<sock_filter> compile() const {
    const int file = memfd_create("filter", 0);
    require(file >= 0 && seccomp_export_bpf(context_, file) == 0, "seccomp_export_bpf");
    const off_t size = lseek(file, 0, SEEK_END);
    std::vector<sock_filter> program = allow_lists();
    std::vector<sock_filter> compiled(static_cast<std::size_t>(size) / sizeof(sock_filter));
    require(pread(file, compiled.data(), static_cast<std::size_t>(size), 0) == size, "pread");
    close(file);
    program.insert(program.end(), compiled.begin(), compiled.end());
    return program;
  }

 private:
  scmp_filter_ctx context_;
};

scmp_arg_cmp low_bits(unsigned argument, scmp_datum_t mask, scmp_datum_t value) {
  return {.arg = argument, .op = SCMP_CMP_MASKED_EQ, .datum_a = mask, .datum_b = value};
}

void deny_kernel_surface(Filter& filter) {
  for (const char* call :
       {"add_key", "request_key", "keyctl", "bpf", "perf_event_open", "io_uring_setup",
        "io_uring_enter", "io_uring_register", "userfaultfd", "kexec_load", "kexec_file_load",
        "init_module", "finit_module", "delete_module", "open_by_handle_at", "fanotify_init",
        "uselib", "modify_ldt", "clone3"})
    // clone3() hides its flags in memory where no filter sees them; every libc goes on with
    // clone().
    filter.deny(call, ENOSYS);
  for (const char* call :
       {"clock_settime", "settimeofday", "stime", "clock_adjtime", "adjtimex", "swapon", "swapoff",
        "reboot", "acct", "quotactl", "quotactl_fd", "syslog", "iopl", "ioperm", "vhangup"})
    filter.deny(call, EPERM);
}

void deny_namespaces_and_mounts(Filter& filter) {
  for (const char* call : {"mount", "umount2", "umount", "pivot_root", "move_mount", "open_tree",
                           "fsopen", "fsconfig", "fsmount", "fspick", "mount_setattr", "setns"})
    filter.deny(call, EPERM);
  for (const char* call : {"clone", "unshare"})
    filter.deny_if(call, EPERM, {low_bits(0, CLONE_NEWUSER, CLONE_NEWUSER)});
}

void deny_other_sockets(Filter& filter) {
  // socketpair() makes sockets of the family before it finds that it has no pairs.
  filter.deny_if("socketpair", EAFNOSUPPORT,
                 {{.arg = 0, .op = SCMP_CMP_NE, .datum_a = AF_UNIX, .datum_b = 0}});
  // A socket that was allowed does not become another kind afterwards: TLS, SMC or ESP over TCP,
  // L2TP or ESP over UDP, IPv4 out of IPv6.
  constexpr scmp_datum_t kAll = 0xFFFFFFFF;
  struct Option {
    scmp_datum_t level;
    scmp_datum_t name;
  };
  for (const Option& option :
       {Option{IPPROTO_TCP, TCP_ULP}, Option{IPPROTO_UDP, UDP_ENCAP},
        Option{IPPROTO_UDPLITE, UDP_ENCAP}, Option{IPPROTO_IPV6, IPV6_ADDRFORM}})
    filter.deny_if("setsockopt", ENOPROTOOPT,
                   {low_bits(1, kAll, option.level), low_bits(2, kAll, option.name)});
}

// The kernel loads what makes bridges and virtual networks before it asks whether the caller may.
void deny_network_modules(Filter& filter) {
  for (const unsigned request :
       {unsigned{SIOCGIFBR}, unsigned{SIOCSIFBR}, unsigned{SIOCBRADDBR}, unsigned{SIOCBRDELBR},
        unsigned{SIOCBRADDIF}, unsigned{SIOCBRDELIF}, unsigned{SIOCGIFVLAN}, unsigned{SIOCSIFVLAN},
        unsigned{SIOCADDDLCI}, unsigned{SIOCDELDLCI}})
    filter.deny_if("ioctl", ENOTTY, {low_bits(1, 0xFFFFFFFF, request)});
}

// A pool of pages that no control group counts.
void deny_huge_pages(Filter& filter) {
  constexpr unsigned kOfSegment = 04000;  // SHM_HUGETLB
  filter.deny_if("mmap", ENOMEM, {low_bits(3, MAP_HUGETLB, MAP_HUGETLB)});
  filter.deny_if("memfd_create", EINVAL, {low_bits(1, MFD_HUGETLB, MFD_HUGETLB)});
  filter.deny_if("shmget", ENOMEM, {low_bits(2, kOfSegment, kOfSegment)});
}

// Init has the command's user, and some calls ask for no more than that: slowed down it would end
// the run late, and without files it could not count.
void deny_changes_of_init(Filter& filter) {
  constexpr scmp_datum_t kAll = 0xFFFFFFFF;
  constexpr scmp_datum_t kInit = 1;
  constexpr int kIoProcess = 1;  // IOPRIO_WHO_PROCESS
  constexpr int kIoUser = 3;     // IOPRIO_WHO_USER
  filter.deny_if(
      "prlimit64", EPERM,
      {low_bits(0, kAll, kInit), {.arg = 2, .op = SCMP_CMP_NE, .datum_a = 0, .datum_b = 0}});
  for (const char* call :
       {"sched_setscheduler", "sched_setparam", "sched_setattr", "sched_setaffinity"})
    filter.deny_if(call, EPERM, {low_bits(0, kAll, kInit)});
  filter.deny_if("setpriority", EPERM, {low_bits(0, kAll, PRIO_PROCESS), low_bits(1, kAll, kInit)});
  filter.deny_if("setpriority", EPERM, {low_bits(0, kAll, PRIO_USER)});
  filter.deny_if("ioprio_set", EPERM, {low_bits(0, kAll, kIoProcess), low_bits(1, kAll, kInit)});
  filter.deny_if("ioprio_set", EPERM, {low_bits(0, kAll, kIoUser)});
}

// The caller may be root: a set-user-id file that appears on the host would be root's.
void deny_set_id_bits(Filter& filter) {
  struct Call {
    const char* name;
    unsigned mode;  // index of the argument
  };
  for (const Call& call :
       {Call{"chmod", 1}, Call{"fchmod", 1}, Call{"fchmodat", 2}, Call{"fchmodat2", 2},
        Call{"creat", 1}, Call{"open", 2}, Call{"openat", 3}, Call{"mknod", 1}, Call{"mknodat", 2}})
    for (const scmp_datum_t bit : {04000U, 02000U})
      filter.deny_if(call.name, EPERM, {low_bits(call.mode, bit, bit)});
  // Its mode is in memory, where no filter sees it; everybody goes on with openat().
  filter.deny("openat2", ENOSYS);
  constexpr int kFchmodat2 = 452;  // 6.6; libseccomp 2.5 does not know it
  filter.deny_number(kFchmodat2, ENOSYS);
}

std::vector<sock_filter> compile(const Variant& variant) {
  Filter filter;
  deny_kernel_surface(filter);
  deny_other_sockets(filter);
  deny_network_modules(filter);
  deny_huge_pages(filter);
  deny_changes_of_init(filter);
  // Typing into, or talking to the console of, a terminal that is not ours.
  // A line discipline is a protocol of the kernel's, loaded as a module for any process.
  for (const unsigned request : {unsigned{TIOCSTI}, unsigned{TIOCLINUX}, unsigned{TIOCSETD}})
    filter.deny_if("ioctl", EPERM, {low_bits(1, 0xFFFFFFFF, request)});
  // A lease on an input makes its owner wait.
  for (const unsigned command : {1024U /* F_SETLEASE */, 1026U /* F_NOTIFY */})
    filter.deny_if("fcntl", EPERM, {low_bits(1, 0xFFFFFFFF, command)});
  // A core limit of 0 would start the host's crash handler where 1 does not. Sanitizers set it and
  // end if they cannot: they are told that it is done.
  constexpr int kDone = 0;
  filter.deny_if("setrlimit", kDone, {low_bits(0, 0xFFFFFFFF, RLIMIT_CORE)});
  filter.deny_if("prlimit64", kDone,
                 {low_bits(1, 0xFFFFFFFF, RLIMIT_CORE),
                  {.arg = 2, .op = SCMP_CMP_NE, .datum_a = 0, .datum_b = 0}});
  if (!variant.nested) deny_namespaces_and_mounts(filter);
  if (variant.no_fork) {
    filter.deny("fork", EPERM);
    filter.deny("vfork", EPERM);
    filter.deny_if("clone", EPERM, {low_bits(0, CLONE_THREAD, 0)});
  }
  if (variant.no_exec) {
    filter.deny("execve", EPERM);
    filter.deny_if("execveat", EPERM,
                   {{.arg = 5,
                     .op = SCMP_CMP_NE,
                     .datum_a = hermetic::linux_backend::kProgramKeyPlaceholder,
                     .datum_b = 0}});
  }
  if (variant.no_set_id) deny_set_id_bits(filter);
  if (variant.fixed_cpus) filter.deny("sched_setaffinity", EPERM);
  return filter.compile();
}

}  // namespace

int main() {
  constexpr unsigned kVariants = 32;
  std::puts("// Made by tools/make_filters.cc; do not edit.");
  for (unsigned number = 0; number < kVariants; ++number) {
    const Variant variant{.nested = (number & 1) != 0,
                          .no_fork = (number & 2) != 0,
                          .no_exec = (number & 4) != 0,
                          .no_set_id = (number & 8) != 0,
                          .fixed_cpus = (number & 16) != 0};
    std::printf("constexpr sock_filter kFilter%u[] = {\n", number);
    for (const sock_filter& instruction : compile(variant))
      std::printf("    {0x%04x, %u, %u, 0x%08x},\n", instruction.code, instruction.jt,
                  instruction.jf, instruction.k);
    std::puts("};");
  }
  std::puts("constexpr std::span<const sock_filter> kFilters[] = {");
  for (unsigned number = 0; number < kVariants; ++number) std::printf("    kFilter%u,\n", number);
  std::puts("};");
  return std::fflush(stdout) == 0 ? 0 : 1;
}
