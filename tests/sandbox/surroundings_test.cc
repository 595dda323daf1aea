// What a command knows about where it is: devices, /proc, its own name, powers and environment.
#include <sys/stat.h>

#include "tests/sandbox/sandbox.h"

namespace hermetic {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Words act(std::string verb, std::string path) {
  return {misbehave("path_act"), std::move(verb), std::move(path)};
}

class Surroundings : public ::testing::TestWithParam<Mounts> {
 protected:
  void denied(const Words& what, const std::vector<int>& errors, Control control) {
    for (const Identity identity : {Identity::Builder, Identity::Root})
      expect_denied(sandboxed({}).identity(identity), what, errors, control, GetParam());
  }
  std::string output_here(const SpecBuilder& builder) { return output_of(builder, GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(With, Surroundings, ::testing::Values(Mounts::New, Mounts::Classic),
                         name_of_mounts);

TEST_P(Surroundings, TheListedDevicesAreThereAndNoOthers) {
  EXPECT_EQ(output_here(sandboxed({"ls", "/dev"})),
            "fd\nfull\nnull\nptmx\npts\nrandom\nshm\nstderr\nstdin\nstdout\ntty\nurandom\nzero\n");
  EXPECT_EQ(
      output_here(shell("head -c 8 /dev/zero | wc -c; head -c 8 /dev/urandom | wc -c; "
                        "echo x >/dev/null; echo x >/dev/full || echo full; echo x >/dev/stdout")),
      "8\n8\nfull\nx\n");
  EXPECT_EQ(output_here(shell("echo x >/dev/shm/x && cat /dev/shm/x; ls /dev/pts")), "x\nptmx\n");
}

// The node is the host's: as root outside, its owner could change it from inside.
TEST_P(Surroundings, ADeviceCannotBeChangedOrReplaced) {
  struct stat before = {};
  ASSERT_EQ(::stat("/dev/null", &before), 0);
  denied(act("change_mode", "/dev/null"), {EROFS, EPERM, EACCES}, Control::None);  // no control: it
  denied(act("remove", "/dev/null"), {EROFS, EBUSY, EACCES, ENOTDIR}, Control::None);  // is shared
  denied(act("touch", "/dev/zero"), {EROFS, EPERM, EACCES}, Control::SucceedsAsRoot);
  denied(act("make_device", "/dev/shm/device"), {EPERM, EACCES}, Control::None);
  denied(act("make_device", "/tmp/device"), {EPERM, EACCES}, Control::None);
  struct stat after = {};
  ASSERT_EQ(::stat("/dev/null", &after), 0);
  EXPECT_EQ(before.st_mode, after.st_mode);
}

// The host is up for longer than this test program.
TEST_P(Surroundings, UptimeStartsWithTheRunIfAsked) {
  const auto seconds = [](const std::string& uptime) { return std::stod(uptime); };
  const double host = seconds(run_plainly({"cat", "/proc/uptime"}).text);
  EXPECT_GE(seconds(output_here(sandboxed({"cat", "/proc/uptime"}))), host);
  EXPECT_LT(seconds(output_here(sandboxed({"cat", "/proc/uptime"}).own_uptime())), host);
  EXPECT_EQ(output_here(sandboxed({"date", "+%Y"}).own_uptime()),
            run_plainly({"date", "+%Y"}).text);
  EXPECT_EQ(run(sandboxed({"no-such-command"}).own_uptime(), captured(), GetParam()).ending,
            Ending(NotStarted{ENOENT}));
}

// Opened, never written: the file decides what the kernel runs when a program crashes.
TEST_P(Surroundings, KernelSettingsCannotBeWritten) {
  for (const char* path :
       {"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname",
        "/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/modprobe", "/proc/sysrq-trigger"})
    if (exists(path))
      denied(act("open_to_write", path), {EROFS, EACCES, EPERM, ENOENT}, Control::SucceedsAsRoot);
}

TEST_P(Surroundings, KernelSettingsCannotBeWrittenWithNestedNamespacesEither) {
  Draft nested;
  nested.allow_nested_namespaces = true;
  const SpecBuilder builder = sandboxed({}).overlay(nested);
  for (const char* path : {"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe"})
    if (exists(path))
      expect_denied(builder, act("open_to_write", path), {EROFS, EACCES, EPERM, ENOENT},
                    Control::SucceedsAsRoot, GetParam());
  const std::string sysrq = "/proc/sysrq-trigger";
  if (!exists(sysrq)) return;
  if (!is_root()) {
    expect_denied(builder, act("open_to_write", sysrq), {EACCES}, Control::None, GetParam());
    return;
  }
  // Root may write to what covers it, which no Landlock rule forbids here: it is the null device.
  const Words kind = {"stat", "-c", "%F %t:%T", sysrq};
  SpecBuilder looking = builder;
  EXPECT_EQ(output_here(looking.command(kind)), "character special file 1:3\n");
  EXPECT_THAT(run_plainly(kind).text, HasSubstr("regular")) << "the control";
}

TEST_P(Surroundings, SecretsOfTheMachineAreMasked) {
  for (const char* path : {"/proc/kcore", "/proc/keys", "/proc/timer_list"})
    EXPECT_EQ(output_here(shell(std::string("head -c 10 ") + path + " 2>/dev/null | wc -c")), "0\n")
        << path;
}

TEST_P(Surroundings, InitCannotBeLookedInto) {
  for (const char* file : {"environ", "mem", "maps", "auxv", "io", "stack", "syscall"})
    denied(act("read", std::string("/proc/1/") + file), {EACCES, EPERM}, Control::None);
  for (const char* link : {"root", "exe", "cwd", "fd/3", "ns/mnt"})
    denied(act("read_link", std::string("/proc/1/") + link), {EACCES, EPERM, ENOENT},
           Control::None);
  for (const char* path : {"/proc/1/root/", "/proc/1/cwd/"})
    denied(act("list", path), {EACCES, EPERM}, Control::None);
  for (const char* file : {"mem", "exe", "oom_score_adj"})
    denied(act("open_to_write", std::string("/proc/1/") + file), {EACCES, EPERM, EROFS},
           Control::None);
  // The control: a process of the same user that does not protect itself, the test.
  const std::string test = "/proc/" + std::to_string(::getpid());
  for (const char* file : {"environ", "maps", "auxv", "io"})
    EXPECT_EQ(run_plainly(act("read", test + "/" + file)).code, 0) << file;
  EXPECT_EQ(run_plainly(act("read_link", test + "/exe")).code, 0);
  EXPECT_EQ(run_plainly(act("list", test + "/root/")).code, 0);
  EXPECT_EQ(run_plainly(act("open_to_write", test + "/oom_score_adj")).code, 0);
}

TEST_P(Surroundings, OnlyOwnProcessesAreVisible) {
  EXPECT_EQ(output_here(shell("set -- /proc/[0-9]*; echo $*")),
            "/proc/1 /proc/2\n");  // init, sh
  const std::string host = std::to_string(::getpid());
  EXPECT_EQ(output_here(shell("ls -d /proc/" + host + " 2>/dev/null; kill -0 " + host +
                              " 2>/dev/null || echo none")),
            "none\n");
}

TEST_P(Surroundings, TheMachineHasANameOfItsOwn) {
  EXPECT_EQ(output_here(sandboxed({"uname", "-n"})), "hermetic\n");
  EXPECT_EQ(output_here(sandboxed({"uname", "-n"}).hostname("box")), "box\n");
  EXPECT_THAT(output_here(sandboxed({"cat", "/etc/hosts"}).hostname("box")),
              HasSubstr("127.0.0.1 box"));
}

TEST_P(Surroundings, TheUserIsTheSameEverywhere) {
  EXPECT_EQ(
      output_here(shell("id -u; id -g; id -G; id -un; id -gn; umask; echo $HOME; echo $USER")),
      "1000\n1000\n1000\nbuilder\nbuilder\n0022\n/tmp\nbuilder\n");
  EXPECT_EQ(output_here(shell("id -u; id -g; id -un; echo $USER").identity(Identity::Root)),
            "0\n0\nroot\nroot\n");
  EXPECT_EQ(output_here(shell("cut -d: -f1 /etc/passwd | tr '\\n' ' '")), "root builder nobody ");
}

TEST_P(Surroundings, TheCommandHasNoPowers) {
  for (const Identity identity : {Identity::Builder, Identity::Root}) {
    const std::string status =
        output_here(sandboxed({"cat", "/proc/self/status"}).identity(identity));
    for (const char* line :
         {"CapInh:\t0000000000000000", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000",
          "CapAmb:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"})
      EXPECT_THAT(status, HasSubstr(line));
  }
}

TEST_P(Surroundings, TheEnvironmentIsExact) {
  ::setenv("HERMETIC_TEST_SECRET", "canary", 1);
  SpecBuilder builder = sandboxed({"env"}).env("A", "1").env("EMPTY", "");
  builder.caller_environment({{"SECRET", "canary"}, {"PASSED", "p"}})
      .pass_env("PASSED")
      .pass_env("ABSENT");
  Words lines;
  std::istringstream text(output_here(builder));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  EXPECT_THAT(lines,
              ::testing::ElementsAre("A=1", "EMPTY=", "HOME=/tmp", ::testing::StartsWith("LANG="),
                                     "PASSED=p", ::testing::StartsWith("PATH="),
                                     ::testing::StartsWith("TZ="), "USER=builder"));
  ::unsetenv("HERMETIC_TEST_SECRET");
}

TEST_P(Surroundings, TheSessionIsItsOwnAndHasNoTerminal) {
  EXPECT_EQ(
      output_here(shell(
          "cut -d' ' -f6,7,8 /proc/self/stat | { read s t p; [ $s = $$ ] && echo leader $t $p; }")),
      "leader 0 -1\n");
  denied(act("open_to_read", "/dev/tty"), {ENXIO, EACCES}, Control::None);  // ctest has none either
}

TEST_P(Surroundings, CoresAreNotWritten) {
  // Setting it seems to work, as sanitizers need it to, and changes nothing.
  EXPECT_EQ(output_here(shell("ulimit -c 0 && ulimit -c | grep -c .")), "1\n");
  const std::string limits = output_here(shell("ulimit -c 0; grep core /proc/self/limits"));
  EXPECT_THAT(limits, HasSubstr(" 1 ")) << limits;
  EXPECT_THAT(output_here(shell("ulimit -Hc")), ::testing::AnyOf("0\n", "1\n"));
}

// Nothing of a run is there in the next one.
TEST_P(Surroundings, NothingIsLeftInMemoryForTheNextRun) {
  const std::string key = std::to_string(1'000'000 + ::getpid());
  for (const char* kind : {"sysv", "posix"}) {
    const Words make = {misbehave("shared_memory"), "make", kind, key};
    const Words find = {misbehave("shared_memory"), "find", kind, key};
    const Words remove = {misbehave("shared_memory"), "remove", kind, key};
    expect_allowed(sandboxed({}), make, GetParam());
    EXPECT_EQ(run_plainly(find).code, 1) << kind;  // not on the host
    expect_denied(sandboxed({}), find, {ENOENT}, Control::None, GetParam());
    // The control: it would be found.
    EXPECT_EQ(run_plainly(make).code, 0) << kind;
    EXPECT_EQ(run_plainly(find).code, 0) << kind;
    expect_denied(sandboxed({}), find, {ENOENT}, Control::Succeeds, GetParam());
    EXPECT_EQ(run_plainly(remove).code, 0) << kind;
  }
  // A queue cannot even be made: Landlock knows no path to it.
  const Words find = {misbehave("shared_memory"), "find", "queue", key};
  EXPECT_EQ(run_plainly({misbehave("shared_memory"), "make", "queue", key}).code, 0);
  expect_denied(sandboxed({}), find, {ENOENT, EACCES}, Control::Succeeds, GetParam());
  EXPECT_EQ(run_plainly({misbehave("shared_memory"), "remove", "queue", key}).code, 0);
}

}  // namespace
}  // namespace hermetic
