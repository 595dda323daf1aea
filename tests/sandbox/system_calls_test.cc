// System calls that a command has no business with. Those that would do harm are made with
// arguments that no kernel accepts: the filter answers before the kernel looks at them, and the
// control shows that outside the kernel did look.
#include <asm/ioctls.h>
#include <linux/sched.h>
#include <netinet/in.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "tests/sandbox/sandbox.h"

namespace hermetic {
namespace {

constexpr std::uint64_t kHighBits = std::uint64_t{1} << 32U;

Words call(std::uint64_t number, std::vector<std::uint64_t> arguments = {}) {
  Words words = {misbehave("system_call"), std::to_string(number)};
  for (const std::uint64_t argument : arguments) words.push_back(std::to_string(argument));
  return words;
}
// Kernels are built without it by now.
bool has_udp_lite() {
  return UniqueFd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDPLITE)).is_open();
}
constexpr std::uint64_t kNone = ~std::uint64_t{0};  // -1: no descriptor, no flags, no address

struct Refused {
  const char* name;
  long number;
  std::vector<std::uint64_t> arguments;
  int error;
};

class SystemCall : public ::testing::TestWithParam<Refused> {};

TEST_P(SystemCall, IsRefused) {
  const Refused& refused = GetParam();
  const Words act = call(static_cast<std::uint64_t>(refused.number), refused.arguments);
  for (const Identity identity : {Identity::Builder, Identity::Root})
    expect_denied(sandboxed({}).identity(identity), act, {refused.error}, Control::None);
  const std::string inside = "denied " + std::to_string(refused.error) + " ";
  const Plain outside = run_plainly(act);
  // No control where this kernel does not have the call, or says the same to every plain user.
  const bool missing = outside.text.starts_with("denied " + std::to_string(ENOSYS) + " ");
  if (missing || !is_root()) return;
  EXPECT_FALSE(outside.text.starts_with(inside)) << outside.text;
}

std::string name_of_call(const ::testing::TestParamInfo<Refused>& call) { return call.param.name; }

INSTANTIATE_TEST_SUITE_P(
    Of, SystemCall,
    ::testing::Values(
        Refused{"keyctl", SYS_keyctl, {kNone}, ENOSYS}, Refused{"add_key", SYS_add_key, {}, ENOSYS},
        Refused{"request_key", SYS_request_key, {}, ENOSYS},
        Refused{"bpf", SYS_bpf, {kNone, 0, 0}, ENOSYS},
        Refused{"perf_event_open", SYS_perf_event_open, {0, 0, kNone, kNone, kNone}, ENOSYS},
        Refused{"io_uring_setup", SYS_io_uring_setup, {0, 0}, ENOSYS},
        Refused{"io_uring_enter", SYS_io_uring_enter, {kNone}, ENOSYS},
        Refused{"io_uring_register", SYS_io_uring_register, {kNone, kNone}, ENOSYS},
        // Outside they are EBADF.
        Refused{"set_lease", SYS_fcntl, {kNone, 1024, 0}, EPERM},
        Refused{"notify", SYS_fcntl, {kNone, 1026, 0}, EPERM},
        Refused{"userfaultfd", SYS_userfaultfd, {0x7fffffff}, ENOSYS},
        Refused{"open_by_handle_at", SYS_open_by_handle_at, {kNone, 0, 0}, ENOSYS},
        Refused{"kexec_load", SYS_kexec_load, {0, kNone, 0, 0x0fffffff}, ENOSYS},
        Refused{"init_module", SYS_init_module, {0, 0, 0}, ENOSYS},
        Refused{"finit_module", SYS_finit_module, {kNone, 0, 0x7fffffff}, ENOSYS},
        Refused{"delete_module", SYS_delete_module, {0, 0}, ENOSYS},
        Refused{"fanotify_init", SYS_fanotify_init, {kNone, 0}, ENOSYS},
        Refused{"clone3", SYS_clone3, {0, 0}, ENOSYS},
        Refused{"clock_settime", SYS_clock_settime, {kNone, 0}, EPERM},
        Refused{"clock_adjtime", SYS_clock_adjtime, {kNone, 0}, EPERM},
        Refused{"swapon", SYS_swapon, {0, 0}, EPERM},
        Refused{"reboot", SYS_reboot, {0, 0, 0}, EPERM},  // without the magic numbers
        Refused{"syslog", SYS_syslog, {kNone, 0, 0}, EPERM},
        Refused{"quotactl", SYS_quotactl, {kNone, 0, 0, 0}, EPERM},
        Refused{"mount", SYS_mount, {0, 0, 0, 0, 0}, EPERM},
        Refused{"umount2", SYS_umount2, {0, kNone}, EPERM},
        Refused{"pivot_root", SYS_pivot_root, {0, 0}, EPERM},
        Refused{"move_mount", SYS_move_mount, {kNone, 0, kNone, 0, 0}, EPERM},
        Refused{"open_tree", SYS_open_tree, {kNone, 0, kNone}, EPERM},
        Refused{"fsopen", SYS_fsopen, {0, kNone}, EPERM},
        Refused{"fsmount", SYS_fsmount, {kNone, kNone, 0}, EPERM},
        Refused{"mount_setattr", 442, {kNone, 0, kNone, 0, 0}, EPERM},
        Refused{"setns", SYS_setns, {kNone, 0}, EPERM},
        Refused{"unshare_user", SYS_unshare, {CLONE_NEWUSER | kHighBits}, EPERM},
        Refused{"ioctl_TIOCSTI", SYS_ioctl, {0, TIOCSTI, 0}, EPERM},
        Refused{"ioctl_TIOCSTI_with_high_bits", SYS_ioctl, {0, TIOCSTI | kHighBits, 0}, EPERM},
        Refused{"ioctl_TIOCLINUX", SYS_ioctl, {0, TIOCLINUX | kHighBits, 0}, EPERM}),
    name_of_call);

TEST(SystemCalls, ClockCannotBeSet) {
  // With neither a time nor a zone nothing changes where it is allowed.
  expect_denied(call(SYS_settimeofday, {0, 0}), EPERM, Control::SucceedsAsRoot);
}

TEST(SystemCalls, OtherArchitecturesDoNotExist) {
#if defined(__x86_64__)
  if (run_plainly({misbehave("other_architecture"), "int80"}).code != 0)
    GTEST_SKIP() << "this kernel runs no programs of other architectures";
  expect_denied({misbehave("other_architecture"), "int80"}, ENOSYS, Control::Succeeds);
  // No control for x32: most kernels are built without it, and say ENOSYS as well.
  expect_denied({misbehave("other_architecture"), "x32"}, ENOSYS, Control::None);
#endif
}

TEST(SystemCalls, NewerOnesThanTheFilterKnowsDoNotExist) {
  expect_denied(call(463), ENOSYS, Control::None);  // setxattrat(2), where the kernel has it
  expect_denied(call(kHighBits - 1), ENOSYS, Control::None);
}

TEST(SystemCalls, OrdinaryOnesWork) {
  expect_allowed(sandboxed({}), call(SYS_getpid));
  expect_allowed(sandboxed({}), call(SYS_socket, {AF_UNIX, SOCK_STREAM, 0}));
  expect_allowed(sandboxed({}), call(SYS_socket, {AF_INET, SOCK_DGRAM, 0}));
  expect_allowed(sandboxed({}), call(SYS_socket, {AF_INET6, SOCK_STREAM, 0}));
  expect_allowed(sandboxed({}), call(SYS_socket, {AF_NETLINK, SOCK_RAW, 0}));
  expect_allowed(sandboxed({}), {misbehave("make_process"), "fork"});
  expect_allowed(sandboxed({}), {misbehave("make_process"), "vfork"});
  expect_allowed(sandboxed({}), {misbehave("make_process"), "thread"});
}

TEST(SystemCalls, SocketsOfOtherFamiliesCannotBeMade) {
  for (const int family :
       {AF_PACKET, AF_VSOCK, AF_ALG, AF_KEY, AF_BLUETOOTH, AF_XDP, AF_TIPC, AF_CAN, AF_RDS, 12})
    for (const int type : {SOCK_RAW, SOCK_SEQPACKET}) {
      const auto number = static_cast<std::uint64_t>(family);
      expect_denied(call(SYS_socket, {number, static_cast<std::uint64_t>(type), 0}), EAFNOSUPPORT,
                    Control::None);
      expect_denied(call(SYS_socket, {number | kHighBits, static_cast<std::uint64_t>(type), 0}),
                    EAFNOSUPPORT, Control::None);
    }
  // The controls that hold on every kernel.
  EXPECT_EQ(run_plainly(call(SYS_socket, {AF_UNIX, SOCK_SEQPACKET, 0})).code, 0);
  EXPECT_EQ(run_plainly(call(SYS_socket, {AF_PACKET, SOCK_RAW, 0})).code, is_root() ? 0 : 1);
}

TEST(SystemCalls, OnlyTheRoutesOfNetlinkCanBeAskedFor) {
  constexpr std::uint64_t kAudit = 9;
  constexpr std::uint64_t kUevent = 15;
  for (const std::uint64_t protocol : {kAudit, kUevent, kUevent | kHighBits})
    expect_denied(call(SYS_socket, {AF_NETLINK, SOCK_RAW, protocol}), EPROTONOSUPPORT,
                  Control::None);
  EXPECT_EQ(run_plainly(call(SYS_socket, {AF_NETLINK, SOCK_RAW, kUevent})).code, 0);
}

// Every family, type and protocol, and what the filter is to say: the list of what may be made, and
// nothing that a newer kernel adds.
TEST(SystemCalls, SocketsAreMadeOfTheFamiliesTypesAndProtocolsOfTheListOnly) {
  const Words act = {misbehave("make_sockets")};
  const std::string inside = output_of(sandboxed(act));
  EXPECT_EQ(inside,
            "1 1 0\n1 1 1\n1 2 0\n1 2 1\n1 3 0\n1 3 1\n1 5 0\n1 5 1\n"
            "2 1 0\n2 1 6\n2 2 0\n2 2 17\n" +
                std::string(has_udp_lite() ? "2 2 136\n" : "") +
                "10 1 0\n10 1 6\n10 2 0\n10 2 17\n" + (has_udp_lite() ? "10 2 136\n" : "") +
                "16 2 0\n16 3 0\n");
  // The control: where nothing is filtered there is more.
  const Plain outside = run_plainly(act);
  EXPECT_EQ(outside.code, 0);
  EXPECT_GT(outside.text.size(), inside.size());
}

TEST(SystemCalls, PersonalitiesAreThoseThatDebuggersAndSetarchNeed) {
  constexpr std::uint64_t kPerLinux32 = 0x8;
  constexpr std::uint64_t kNotRandom = 0x40000;
  const auto personality = [](std::uint64_t value) { return call(SYS_personality, {value}); };
  for (const std::uint64_t value : {std::uint64_t{0xFFFFFFFF}, kNone, std::uint64_t{0}, kPerLinux32,
                                    kNotRandom, kPerLinux32 | kNotRandom, kNotRandom | kHighBits})
    expect_allowed(sandboxed({}), personality(value));
  for (unsigned bit = 0; bit < 32; ++bit) {
    const std::uint64_t value = std::uint64_t{1} << bit;
    if (value == kPerLinux32 || value == kNotRandom) continue;
    for (const std::uint64_t refused : {value, value | kNotRandom | kHighBits})
      expect_denied(personality(refused), EINVAL, Control::Succeeds);
  }
  // All but the question.
  expect_denied(personality(0xFFFFFFFE), EINVAL, Control::Succeeds);
}

TEST(SystemCalls, PersonalityOfTheCallerIsLimitedToTheSame) {
  const int before = ::personality(0xFFFFFFFF);
  ::personality(MMAP_PAGE_ZERO | ADDR_NO_RANDOMIZE);
  const std::string inside = output_of(shell("cat /proc/self/personality"));
  const Plain control = run_plainly({"cat", "/proc/self/personality"});
  ::personality(static_cast<unsigned>(before));
  EXPECT_EQ(inside, "00040000\n");
  EXPECT_EQ(control.text, "00140000\n");
}

TEST(SystemCalls, NothingIsLeftOfAnyCapabilitySet) {
  for (const Identity identity : {Identity::Builder, Identity::Root})
    for (const Mounts mounts : {Mounts::New, Mounts::Classic})
      EXPECT_EQ(output_of(shell("grep Cap /proc/self/status").identity(identity), mounts),
                "CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\n"
                "CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\n"
                "CapAmb:\t0000000000000000\n");
  EXPECT_THAT(run_plainly({"grep", "CapBnd", "/proc/self/status"}).text,
              ::testing::Not(::testing::HasSubstr("0000000000000000")));
}

TEST(Namespaces, CannotBeMade) {
  const auto make = [](const char* how, std::uint64_t flags) {
    return Words{misbehave("make_namespace"), how, std::to_string(flags)};
  };
  for (const char* how : {"clone", "unshare"}) {
    expect_denied(make(how, CLONE_NEWUSER), EPERM, Control::Succeeds);
    expect_denied(make(how, CLONE_NEWUSER | CLONE_NEWNS), EPERM, Control::Succeeds);
    for (const int flag : {CLONE_NEWNS, CLONE_NEWNET, CLONE_NEWIPC, CLONE_NEWUTS, CLONE_NEWPID})
      expect_denied(sandboxed({}).identity(Identity::Root),
                    make(how, std::uint64_t{static_cast<unsigned>(flag)}), {EPERM},
                    Control::SucceedsAsRoot);
  }
}

TEST(Namespaces, CanBeMadeIfTheSpecSaysSo) {
  Draft nested;
  nested.allow_nested_namespaces = true;
  const Words act = {misbehave("make_namespace"), "unshare",
                     std::to_string(CLONE_NEWUSER | CLONE_NEWNS)};
  expect_allowed(sandboxed({}).overlay(nested), act);
}

// With nested namespaces a command can have every capability, but over its own mounts only.
TEST(Namespaces, NestedOnesHaveNoPowerOverTheMounts) {
  if (is_root()) GTEST_SKIP() << "for root /proc stays read only, so that no map can be written";
  const TempDir dir;
  dir.file("in/file", "canary");
  dir.file("secret/file", "canary");
  dir.file("in/key", "canary");
  Draft nested;
  nested.allow_nested_namespaces = true;
  const std::string in = dir / "in";
  const auto try_as_root = [&](const std::string& script) {
    const SpecBuilder builder = sandboxed({"unshare", "-Urm", "sh", "-c", script + " && echo done"})
                                    .input(in, {dir / "in/key"})
                                    .overlay(nested);
    return run(builder).standard_output.text;
  };
  EXPECT_EQ(try_as_root("mount -t tmpfs none /tmp"), "done\n");  // the control: it may mount
  EXPECT_EQ(try_as_root("mount -o remount,rw,bind " + in), "");
  EXPECT_EQ(try_as_root("mount -o remount,rw,bind / "), "");
  EXPECT_EQ(try_as_root("umount " + in), "");
  EXPECT_EQ(try_as_root("umount -l " + in + "/key && cat " + in + "/key"), "");
  EXPECT_EQ(try_as_root("mkdir /tmp/m && mount --bind " + in + " /tmp/m && echo x >/tmp/m/file"),
            "");
  EXPECT_EQ(
      try_as_root("mkdir /tmp/m && mount --rbind / /tmp/m && mount -o remount,rw,bind /tmp/m"), "");
  EXPECT_EQ(try_as_root("mkdir /tmp/m && mount --bind " + in + " /tmp/m && cat /tmp/m/key"), "");
  EXPECT_EQ(
      try_as_root(
          "mkdir /tmp/p && mount -t proc proc /tmp/p && true >/tmp/p/sys/kernel/core_pattern"),
      "");
  EXPECT_EQ(content_of(dir / "in/file"), "canary");
}

TEST(Tracing, InitIsOutOfReach) {
  for (const char* how : {"init", "seize_init", "memory_of_init", "descriptor_of_init"})
    for (const Identity identity : {Identity::Builder, Identity::Root})
      expect_denied(sandboxed({}).identity(identity), {misbehave("trace"), how}, {EPERM, EACCES},
                    Control::None);
}

TEST(Tracing, DebuggersWorkOnOwnChildren) {
  EXPECT_EQ(run_plainly({misbehave("trace"), "child"}).code, 0);
  expect_allowed(sandboxed({}), {misbehave("trace"), "child"});
}

}  // namespace
}  // namespace hermetic
