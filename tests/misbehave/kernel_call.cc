// Makes one system call that a way out begins with, so that it succeeds where nothing forbids it
// and does no harm then: kernel_call NAME.
#include <asm/ldt.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/fanotify.h>
#include <linux/if_alg.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/vm_sockets.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/quota.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "tests/misbehave/act.h"

namespace {

using misbehave::tell;

constexpr long kProcessKeyring = -2;

bool io_uring() {
  io_uring_params parameters = {};
  return ::syscall(SYS_io_uring_setup, 1, &parameters) >= 0;
}

bool userfaultfd() {
  constexpr int kUserModeOnly = 1;  // what a plain user may ask for
  return ::syscall(SYS_userfaultfd, O_CLOEXEC | kUserModeOnly) >= 0;
}

bool join_keyring() { return ::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) >= 0; }

bool add_key() {
  return ::syscall(SYS_add_key, "user", "hermetic-test", "x", 1, kProcessKeyring) >= 0;
}

bool request_key() {
  return add_key() &&
         ::syscall(SYS_request_key, "user", "hermetic-test", nullptr, kProcessKeyring) >= 0;
}

bool bpf() {
  bpf_attr attributes = {};
  attributes.map_type = BPF_MAP_TYPE_ARRAY;
  attributes.key_size = 4;
  attributes.value_size = 4;
  attributes.max_entries = 1;
  return ::syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof attributes) >= 0;
}

bool perf_event() {
  perf_event_attr attributes = {};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.exclude_kernel = 1;
  return ::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0) >= 0;
}

// The walk of "shocker": a handle is a number, and numbers can be guessed.
bool open_by_handle() {
  alignas(file_handle) char bytes[sizeof(file_handle) + 128] = {};
  auto* const handle = reinterpret_cast<file_handle*>(bytes);
  handle->handle_bytes = 128;
  int mount = 0;
  if (::name_to_handle_at(AT_FDCWD, "/usr", handle, &mount, 0) != 0) return false;
  const int directory = ::open("/usr", O_RDONLY | O_DIRECTORY);
  return ::open_by_handle_at(directory, handle, O_RDONLY) >= 0;
}

bool clone3_with(std::uint64_t flags) {
  struct clone_args arguments = {};
  arguments.flags = flags;
  arguments.exit_signal = SIGCHLD;
  const long pid = ::syscall(SYS_clone3, &arguments, sizeof arguments);
  if (pid == 0) ::_exit(0);
  const int error = errno;
  if (pid > 0) ::waitpid(static_cast<pid_t>(pid), nullptr, 0);
  errno = error;
  return pid > 0;
}

bool fanotify() { return ::syscall(SYS_fanotify_init, FAN_REPORT_FID, O_RDONLY) >= 0; }

bool modify_ldt() {
  user_desc descriptor = {};
  descriptor.limit = 1;
  descriptor.read_exec_only = 1;
  descriptor.seg_not_present = 1;
  return ::syscall(SYS_modify_ldt, 1, &descriptor, sizeof descriptor) == 0;
}

bool gain_capabilities() {
  __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct wanted[2] = {};
  wanted[0].permitted = wanted[0].effective = 1U << unsigned{CAP_NET_RAW};
  return ::syscall(SYS_capset, &header, wanted) == 0;
}

bool have_capabilities() {
  __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct mine[2] = {};
  errno = 0;
  const bool asked = ::syscall(SYS_capget, &header, mine) == 0;
  if (asked) errno = EPERM;
  return asked && (mine[0].permitted | mine[1].permitted) != 0;
}

// For a file that belongs to somebody else and has the set-user-id bit.
bool have_another_user() {
  errno = EPERM;
  return ::getuid() != ::geteuid();
}

bool become_root() { return ::setresuid(0, 0, 0) == 0; }

// Says that we are another program. Where that is allowed it fails later: this one is mapped.
bool change_memory_map() {
  prctl_mm_map map = {};
  map.start_code = map.start_data = map.end_data = 0x10000;
  map.end_code = 0x11000;
  map.start_brk = map.brk = map.start_stack = 0x20000;
  map.arg_start = map.arg_end = map.env_start = map.env_end = 0x20000;
  map.exe_fd = static_cast<std::uint32_t>(::open("/bin/true", O_RDONLY));
  return ::prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof map, 0) == 0;
}

bool raise_interface() {
  const int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
  ifreq request = {};
  request.ifr_name[0] = 'l';
  request.ifr_name[1] = 'o';
  request.ifr_flags = IFF_UP;
  return ::ioctl(fd, SIOCSIFFLAGS, &request) == 0;
}

bool firewall_table() {
  constexpr int kReplace = 64;  // IPT_SO_SET_REPLACE
  char table[96] = {};
  return ::setsockopt(::socket(AF_INET, SOCK_DGRAM, 0), IPPROTO_IP, kReplace, table,
                      sizeof table) == 0;
}

bool pair_of(int family) {
  int ends[2];
  return ::socketpair(family, SOCK_STREAM, 0, ends) == 0;
}

bool becomes(int type, int level, int option, const void* value, socklen_t size) {
  return ::setsockopt(::socket(AF_INET, type, 0), level, option, value, size) == 0;
}

// Without a connection no protocol is laid over it. But this is: what is not IKE is for IPsec then.
bool carries_esp() {
  const int method = UDP_ENCAP_ESPINUDP;
  return becomes(SOCK_DGRAM, IPPROTO_UDP, UDP_ENCAP, &method, sizeof method);
}

bool becomes_ipv4() {
  const int fd = ::socket(AF_INET6, SOCK_DGRAM, 0);
  sockaddr_in6 mapped = {};
  mapped.sin6_family = AF_INET6;
  mapped.sin6_port = htons(9);
  mapped.sin6_addr.s6_addr[10] = mapped.sin6_addr.s6_addr[11] = 0xFF;
  mapped.sin6_addr.s6_addr[12] = 127;
  mapped.sin6_addr.s6_addr[15] = 1;
  const int family = AF_INET;
  // Without a network the second call has to be made all the same.
  (void)::connect(fd, reinterpret_cast<sockaddr*>(&mapped), sizeof mapped);
  return ::setsockopt(fd, IPPROTO_IPV6, IPV6_ADDRFORM, &family, sizeof family) == 0;
}

// To the one that a terminal has anyway.
bool change_line_discipline() {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  const int ordinary = 0;  // N_TTY
  return terminal >= 0 && ::ioctl(terminal, TIOCSETD, &ordinary) == 0;
}

// Asks the kernel to load what makes bridges or virtual networks, before it asks who wants it.
bool load_of_network_module(unsigned long request) {
  std::array<char, 64> name = {};
  return ::ioctl(::socket(AF_INET, SOCK_DGRAM, 0), request, name.data()) >= 0;
}

// Of what is executed, too: it is the set that is passed on.
bool have_a_bounding_set() {
  int found = 0;
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability)
    found += ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0);
  errno = EPERM;
  return found > 0;
}

bool lease() {
  char name[] = "/tmp/hermetic-lease-XXXXXX";
  const int fd = ::mkstemp(name);
  const bool done = fd >= 0 && ::fcntl(fd, F_SETLEASE, F_WRLCK) == 0;
  const int error = errno;
  ::unlink(name);
  errno = error;
  return done;
}

// A program that is in no mount.
bool execute_from_memory() {
  const int from = ::open("/bin/true", O_RDONLY);
  const int to = ::memfd_create("program", MFD_CLOEXEC);
  char block[65536];
  for (ssize_t size = 0; (size = ::read(from, block, sizeof block)) > 0;)
    if (::write(to, block, static_cast<std::size_t>(size)) != size) return false;
  char name[] = "true";
  char* const argv[] = {name, nullptr};
  char* const envp[] = {nullptr};
  ::fexecve(to, argv, envp);
  return false;
}

bool run(std::string_view name) {
  if (name == "io_uring") return io_uring();
  if (name == "userfaultfd") return userfaultfd();
  if (name == "join_keyring") return join_keyring();
  if (name == "add_key") return add_key();
  if (name == "request_key") return request_key();
  if (name == "bpf") return bpf();
  if (name == "perf_event") return perf_event();
  if (name == "open_by_handle") return open_by_handle();
  if (name == "clone3_unknown_flags") return clone3_with(1ULL << 40U);
  if (name == "clone3_new_user") return clone3_with(CLONE_NEWUSER);
  if (name == "fanotify") return fanotify();
  if (name == "modify_ldt") return modify_ldt();
  if (name == "gain_capabilities") return gain_capabilities();
  if (name == "have_capabilities") return have_capabilities();
  if (name == "have_another_user") return have_another_user();
  if (name == "become_root") return become_root();
  if (name == "change_memory_map") return change_memory_map();
  if (name == "raise_interface") return raise_interface();
  if (name == "firewall_table") return firewall_table();
  if (name == "socketpair_inet") return pair_of(AF_INET);
  if (name == "packet_socket") return ::socket(AF_PACKET, SOCK_RAW, 0) >= 0;
  if (name == "raw_socket") return ::socket(AF_INET, SOCK_RAW, IPPROTO_ICMP) >= 0;
  if (name == "vsock") return ::socket(AF_VSOCK, SOCK_STREAM, 0) >= 0;
  if (name == "crypto_socket") return ::socket(AF_ALG, SOCK_SEQPACKET, 0) >= 0;
  if (name == "sctp_socket") return ::socket(AF_INET, SOCK_SEQPACKET | SOCK_CLOEXEC, 0) >= 0;
  if (name == "dccp_socket") return ::socket(AF_INET6, SOCK_DCCP, IPPROTO_DCCP) >= 0;
  if (name == "mptcp_socket") return ::socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP) >= 0;
  if (name == "l2tp_socket") return ::socket(AF_INET, SOCK_DGRAM, 115 /* IPPROTO_L2TP */) >= 0;
  if (name == "smc_socket") return ::socket(AF_SMC, SOCK_STREAM, 0) >= 0;
  if (name == "smc_protocol") return ::socket(AF_INET, SOCK_STREAM, 256 /* IPPROTO_SMC */) >= 0;
  if (name == "packet_by_type") return ::socket(AF_INET, SOCK_PACKET, 0) >= 0;
  if (name == "tls_over_tcp") return becomes(SOCK_STREAM, IPPROTO_TCP, TCP_ULP, "tls", 4);
  if (name == "smc_over_tcp") return becomes(SOCK_STREAM, IPPROTO_TCP, TCP_ULP, "smc", 4);
  if (name == "esp_over_udp") return carries_esp();
  if (name == "ipv4_out_of_ipv6") return becomes_ipv4();
  if (name == "line_discipline") return change_line_discipline();
  if (name == "bridge") return load_of_network_module(0x8940 /* SIOCGIFBR */);
  if (name == "virtual_network") return load_of_network_module(0x8982 /* SIOCGIFVLAN */);
  if (name == "make_all_memory_executable") return ::personality(READ_IMPLIES_EXEC) != -1;
  if (name == "map_page_zero") return ::personality(MMAP_PAGE_ZERO | ADDR_NO_RANDOMIZE) != -1;
  if (name == "have_a_bounding_set") return have_a_bounding_set();
  if (name == "netlink_firewall") return ::socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER) >= 0;
  if (name == "netlink_events") return ::socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT) >= 0;
  if (name == "lease") return lease();
  if (name == "execute_from_memory") return execute_from_memory();
  if (name == "swapon") return ::syscall(SYS_swapon, "/nonexistent", 0) == 0;
  if (name == "acct") return ::syscall(SYS_acct, "/nonexistent") == 0;
  if (name == "quotactl") return ::quotactl(QCMD(Q_SYNC, USRQUOTA), nullptr, 0, nullptr) == 0;
  if (name == "syslog") return ::syscall(SYS_syslog, 10 /* the size of the log */, 0, 0) >= 0;
  if (name == "set_clock") return ::syscall(SYS_settimeofday, 0, 0) == 0;
  if (name == "load_module") return ::syscall(SYS_init_module, nullptr, 0, "") == 0;
  if (name == "kexec") return ::syscall(SYS_kexec_load, 0, 100000, 0, 0) == 0;
  if (name == "ports") return ::syscall(SYS_ioperm, 0x80, 1, 1) == 0;
  misbehave::usage("kernel_call NAME");
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) misbehave::usage("kernel_call NAME");
  errno = 0;
  tell(run(words[1]));
}
