// Ways out that begin with one system call: each is made for real, in a form that does no harm.
#include "tests/escape/escape.h"

namespace hermetic {
namespace {

struct WayOut {
  const char* name;
  Words act;  // a program of tests/misbehave and its arguments
  std::vector<int> errors;
  Outside outside;
};
void PrintTo(const WayOut& way, std::ostream* stream) { *stream << way.name; }

std::string name_of(const ::testing::TestParamInfo<WayOut>& way) { return way.param.name; }

class SystemCallWayOut : public ::testing::TestWithParam<WayOut> {};

TEST_P(SystemCallWayOut, IsClosed) {
  const WayOut& way = GetParam();
  Words act = way.act;
  act[0] = misbehave(act[0]);
  expect_refused(sandboxed({}), act, way.errors, way.outside);
}

INSTANTIATE_TEST_SUITE_P(
    Kernel, SystemCallWayOut,
    ::testing::Values(
        WayOut{"io_uring", {"kernel_call", "io_uring"}, {ENOSYS}, Outside::Succeeds},
        WayOut{"userfaultfd", {"kernel_call", "userfaultfd"}, {ENOSYS}, Outside::Succeeds},
        WayOut{
            "CVE_2016_0728_keyctl", {"kernel_call", "join_keyring"}, {ENOSYS}, Outside::Succeeds},
        WayOut{"add_key", {"kernel_call", "add_key"}, {ENOSYS}, Outside::Succeeds},
        WayOut{"request_key", {"kernel_call", "request_key"}, {ENOSYS}, Outside::Succeeds},
        WayOut{"CVE_2021_3490_bpf", {"kernel_call", "bpf"}, {ENOSYS}, Outside::SucceedsAsRoot},
        WayOut{"bpf_is_not_even_asked", {"kernel_call", "bpf"}, {ENOSYS}, Outside::Differs},
        WayOut{"CVE_2013_2094_perf_event_open",
               {"kernel_call", "perf_event"},
               {ENOSYS},
               Outside::Succeeds},
        WayOut{"shocker_open_by_handle_at",
               {"kernel_call", "open_by_handle"},
               {ENOSYS},
               is_root() ? Outside::Succeeds : Outside::Differs},
        WayOut{"clone3_with_unknown_flags",
               {"kernel_call", "clone3_unknown_flags"},
               {ENOSYS},
               Outside::Differs},
        WayOut{"CVE_2021_41133_clone3_new_user_namespace",
               {"kernel_call", "clone3_new_user"},
               {ENOSYS},
               Outside::Succeeds},
        WayOut{"fanotify", {"kernel_call", "fanotify"}, {ENOSYS}, Outside::Succeeds},
        WayOut{
            "CVE_2015_5157_modify_ldt", {"kernel_call", "modify_ldt"}, {ENOSYS}, Outside::Succeeds},
        WayOut{"init_module", {"kernel_call", "load_module"}, {ENOSYS}, Outside::DiffersAsRoot},
        WayOut{"kexec_load", {"kernel_call", "kexec"}, {ENOSYS}, Outside::Unknown},
        WayOut{"swapon", {"kernel_call", "swapon"}, {EPERM}, Outside::DiffersAsRoot},
        WayOut{"acct", {"kernel_call", "acct"}, {EPERM}, Outside::DiffersAsRoot},
        WayOut{"quotactl", {"kernel_call", "quotactl"}, {EPERM}, Outside::Differs},
        WayOut{"syslog", {"kernel_call", "syslog"}, {EPERM}, Outside::SucceedsAsRoot},
        WayOut{"settimeofday", {"kernel_call", "set_clock"}, {EPERM}, Outside::SucceedsAsRoot},
        WayOut{"ioperm", {"kernel_call", "ports"}, {EPERM}, Outside::SucceedsAsRoot}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Sockets, SystemCallWayOut,
    ::testing::Values(
        WayOut{"CVE_2020_14386_packet_socket",
               {"kernel_call", "packet_socket"},
               {EAFNOSUPPORT},
               Outside::SucceedsInNamespace},
        WayOut{"raw_socket", {"kernel_call", "raw_socket"}, {EPERM}, Outside::SucceedsInNamespace},
        WayOut{"CVE_2021_26708_vsock", {"kernel_call", "vsock"}, {EAFNOSUPPORT}, Outside::Unknown},
        WayOut{"AF_ALG", {"kernel_call", "crypto_socket"}, {EAFNOSUPPORT}, Outside::Unknown},
        WayOut{"CVE_2021_23133_sctp",
               {"kernel_call", "sctp_socket"},
               {EPROTONOSUPPORT},
               Outside::Differs},
        WayOut{"CVE_2017_6074_dccp",
               {"kernel_call", "dccp_socket"},
               {EPROTONOSUPPORT},
               Outside::Differs},
        WayOut{"mptcp", {"kernel_call", "mptcp_socket"}, {EPROTONOSUPPORT}, Outside::Succeeds},
        // Many kernels are built without these, and say so themselves.
        WayOut{"l2tp", {"kernel_call", "l2tp_socket"}, {EPROTONOSUPPORT}, Outside::Unknown},
        WayOut{"smc", {"kernel_call", "smc_socket"}, {EAFNOSUPPORT}, Outside::Unknown},
        WayOut{"smc_by_protocol",
               {"kernel_call", "smc_protocol"},
               {EPROTONOSUPPORT},
               Outside::Unknown},
        WayOut{"packet_socket_by_type",
               {"kernel_call", "packet_by_type"},
               {EPROTONOSUPPORT},
               Outside::SucceedsInNamespace},
        WayOut{"CVE_2023_0461_tls_over_tcp",
               {"kernel_call", "tls_over_tcp"},
               {ENOPROTOOPT},
               Outside::Differs},
        WayOut{"smc_over_tcp", {"kernel_call", "smc_over_tcp"}, {ENOPROTOOPT}, Outside::Differs},
        WayOut{"esp_over_udp", {"kernel_call", "esp_over_udp"}, {ENOPROTOOPT}, Outside::Succeeds},
        WayOut{"ipv4_out_of_ipv6",
               {"kernel_call", "ipv4_out_of_ipv6"},
               {ENOPROTOOPT},
               Outside::Differs},
        WayOut{"bridge_by_ioctl", {"kernel_call", "bridge"}, {ENOTTY}, Outside::Differs},
        WayOut{"vlan_by_ioctl", {"kernel_call", "virtual_network"}, {ENOTTY}, Outside::Differs},
        WayOut{"CVE_2024_1086_netlink_netfilter",
               {"kernel_call", "netlink_firewall"},
               {EPROTONOSUPPORT},
               Outside::Succeeds},
        WayOut{"netlink_uevent",
               {"kernel_call", "netlink_events"},
               {EPROTONOSUPPORT},
               Outside::Succeeds},
        WayOut{"CVE_2021_22555_iptables",
               {"kernel_call", "firewall_table"},
               {EPERM},
               Outside::DiffersInNamespace},
        WayOut{"netlink_raise_interface",
               {"kernel_call", "raise_interface"},
               {EPERM},
               Outside::SucceedsInNamespace},
        WayOut{"socketpair_of_another_family",
               {"kernel_call", "socketpair_inet"},
               {EAFNOSUPPORT},
               Outside::Differs}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Powers, SystemCallWayOut,
    ::testing::Values(
        WayOut{
            "capset", {"kernel_call", "gain_capabilities"}, {EPERM}, Outside::SucceedsInNamespace},
        WayOut{"capability_bounding_set",
               {"kernel_call", "have_a_bounding_set"},
               {EPERM},
               Outside::Succeeds},
        WayOut{"READ_IMPLIES_EXEC",
               {"kernel_call", "make_all_memory_executable"},
               {EINVAL},
               Outside::Succeeds},
        WayOut{"MMAP_PAGE_ZERO", {"kernel_call", "map_page_zero"}, {EINVAL}, Outside::Succeeds},
        WayOut{"PR_SET_MM",
               {"kernel_call", "change_memory_map"},
               {EPERM},
               Outside::DiffersInNamespace},
        WayOut{"lease_on_a_file", {"kernel_call", "lease"}, {EPERM}, Outside::Succeeds}),
    name_of);

#if defined(__x86_64__)
INSTANTIATE_TEST_SUITE_P(
    Architectures, SystemCallWayOut,
    ::testing::Values(WayOut{"int80", {"other_architecture", "int80"}, {ENOSYS}, Outside::Succeeds},
                      // Most kernels are built without it and say ENOSYS themselves.
                      WayOut{"x32", {"other_architecture", "x32"}, {ENOSYS}, Outside::Unknown}),
    name_of);
#endif

INSTANTIATE_TEST_SUITE_P(Filters, SystemCallWayOut,
                         ::testing::Values(WayOut{"no_trick_at_all",
                                                  {"filter_act", "nothing"},
                                                  {ENOSYS},
                                                  Outside::Succeeds},
                                           WayOut{"seccomp_listener_from_inside",
                                                  {"filter_act", "answer_for_the_kernel"},
                                                  {EBUSY},
                                                  Outside::Succeeds},
                                           WayOut{"seccomp_bypass_by_ptrace",
                                                  {"filter_act", "change_a_call"},
                                                  {ENOSYS},
                                                  Outside::Succeeds},
                                           WayOut{"seccomp_filter_read_back",
                                                  {"filter_act", "read_the_filter"},
                                                  {EACCES, EPERM},
                                                  Outside::DiffersAsRoot}),
                         name_of);

INSTANTIATE_TEST_SUITE_P(
    Terminal, SystemCallWayOut,
    ::testing::Values(
        WayOut{"CVE_2017_5226_TIOCSTI", {"terminal_act", "type"}, {EPERM}, Outside::Differs},
        WayOut{"CVE_2019_10063_TIOCSTI_with_high_bits",
               {"terminal_act", "type_with_high_bits"},
               {EPERM},
               Outside::Differs},
        WayOut{"CVE_2023_28100_TIOCLINUX", {"terminal_act", "paste"}, {EPERM}, Outside::Differs},
        // Another one would be a protocol of the kernel's: CVE-2020-14416, CVE-2023-6546.
        WayOut{"TIOCSETD", {"kernel_call", "line_discipline"}, {EPERM}, Outside::Succeeds}),
    name_of);

TEST(Escape, Setresuid) {
  const Words act = {misbehave("kernel_call"), "become_root"};
  const Attempt inside = attempt(sandboxed(act));
  EXPECT_EQ(inside.output, "denied " + std::to_string(EINVAL) + " EINVAL\n");  // it is nobody here
  expect_control(act, Outside::SucceedsInNamespace, inside.output);
}

// Landlock adds up: more rules only take away. The file is an input, so the mount says no as well.
TEST(Escape, LandlockRulesThatAllowEverything) {
  const TempDir dir;
  const std::string canary = dir.file("in/canary", "canary");
  const Words act = {misbehave("filter_act"), "allow_everything", canary};
  expect_refused(sandboxed({}).input(dir / "in"), act, {EROFS, EACCES}, Outside::Unknown);
  EXPECT_EQ(content_of(canary), "canary");
  EXPECT_EQ(run_plainly(act).code, 0);
  EXPECT_EQ(content_of(canary), "");
}

TEST(Escape, MemfdExecWhereNothingElseMayRun) {
  expect_refused(sandboxed({}).process({.allow_exec = false}),
                 {misbehave("kernel_call"), "execute_from_memory"}, {EPERM}, Outside::Unknown);
  EXPECT_EQ(run_plainly({misbehave("kernel_call"), "execute_from_memory"}).code, 0);
}

}  // namespace
}  // namespace hermetic
