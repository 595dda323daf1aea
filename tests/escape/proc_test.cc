// Ways out through /proc and into other processes.
#include "tests/escape/escape.h"

namespace hermetic {
namespace {

// What reaches into a process, and how it goes with one that does not protect itself.
struct Reach {
  const char* name;
  const char* verb;
  Outside outside;
};
void PrintTo(const Reach& reach, std::ostream* stream) { *stream << reach.name; }

class ReachForInit : public ::testing::TestWithParam<Reach> {};

TEST_P(ReachForInit, IsRefused) {
  // Without a sandbox the first process is one that the test made, not that of the machine.
  const std::string whom = sandbox_is_open() ? "child" : "1";
  expect_refused(sandboxed({}), {misbehave("look_into"), GetParam().verb, whom},
                 {EPERM, EACCES, ENOENT}, Outside::Unknown);
  expect_control({misbehave("look_into"), GetParam().verb, "child"}, GetParam().outside, "");
}

INSTANTIATE_TEST_SUITE_P(
    By, ReachForInit,
    ::testing::Values(Reach{"ptrace_attach", "attach", Outside::Succeeds},
                      Reach{"ptrace_seize", "seize", Outside::Succeeds},
                      Reach{"process_vm_readv", "read_memory", Outside::Succeeds},
                      Reach{"process_vm_writev", "write_memory", Outside::Succeeds},
                      Reach{"proc_pid_mem", "open_memory", Outside::Succeeds},
                      Reach{"process_madvise", "advise", Outside::SucceedsAsRoot},
                      Reach{"CVE_2016_9962_pidfd_getfd", "take_descriptor", Outside::Succeeds},
                      Reach{"CVE_2016_9962_proc_1_fd", "open_descriptor", Outside::Succeeds},
                      Reach{"kcmp", "compare", Outside::Succeeds},
                      Reach{"proc_1_root", "list_root", Outside::Succeeds},
                      Reach{"proc_1_cwd", "list_directory", Outside::Succeeds},
                      Reach{"CVE_2019_5736_proc_1_exe", "open_program", Outside::Succeeds},
                      Reach{"proc_1_exe_link", "read_program", Outside::Succeeds},
                      Reach{"proc_1_ns", "open_namespace", Outside::Succeeds},
                      Reach{"proc_1_environ", "read_environment", Outside::Succeeds}),
    [](const ::testing::TestParamInfo<Reach>& reach) { return reach.param.name; });

// The command is init's own image, named by a script: the program that would be overwritten is
// executed, not opened. A second run shows that the image is what it was.
TEST(Escape, CVE_2019_5736_ProcSelfExeAsInterpreter) {
  const TempDir dir;
  const std::string script = dir.file("script", "#!/proc/self/exe\n");
  std::filesystem::permissions(script, std::filesystem::perms::all);
  if (!sandbox_is_open()) {  // where it would execute itself for ever
    EXPECT_NE(attempt(sandboxed({script}).input(script)).ending, Ending(Exited{0}));
  }
  // Nor can any program that the host will execute later.
  const std::string program = dir / "program";
  std::filesystem::copy_file("/bin/true", program);
  const auto size = std::filesystem::file_size(program);
  const std::string overwrite = "echo x >>" + program + " && echo written; true";
  EXPECT_EQ(attempt(shell(overwrite).input(program)).output, "");
  EXPECT_EQ(std::filesystem::file_size(program), size);
  EXPECT_EQ(run_plainly({"sh", "-c", overwrite}).text, "written\n");
}

class KernelFile : public ::testing::TestWithParam<const char*> {};

// Opened, never written.
TEST_P(KernelFile, CannotBeOpenedToWrite) {
  const std::string path = std::string("/proc/") + GetParam();
  if (!exists(path)) GTEST_SKIP() << "this kernel has no " << path;
  expect_refused(sandboxed({}), {misbehave("path_act"), "open_to_write", path},
                 {EROFS, EACCES, EPERM, ENOENT}, Outside::SucceedsAsRoot);
}
INSTANTIATE_TEST_SUITE_P(Of, KernelFile,
                         ::testing::Values("sys/kernel/core_pattern", "sys/kernel/modprobe",
                                           "sys/kernel/hostname", "sysrq-trigger",
                                           "sys/vm/overcommit_memory", "sys/kernel/ns_last_pid",
                                           "self/oom_score_adj", "self/uid_map"),
                         [](const ::testing::TestParamInfo<const char*>& file) {
                           std::string name = file.param;
                           for (char& c : name)
                             if (c == '/' || c == '-') c = '_';
                           return name;
                         });

// Every file of the kernel's own, not only those that somebody thought of.
TEST(Escape, AnyWritableFileOfProc) {
  const std::string script =
      "find /proc -path '/proc/[0-9]*' -prune -o -type f -print 2>/dev/null >/tmp/files; "
      "wc -l </tmp/files >&2; while read -r f; do (: >>\"$f\") 2>/dev/null && echo \"$f\"; "
      "done </tmp/files; true";
  NOT_TRIED_IN_THE_OPEN("some of them act when they are opened");
  for (const Identity identity : {Identity::Builder, Identity::Root}) {
    const Attempt inside = attempt(shell(script).identity(identity));
    EXPECT_EQ(inside.ending, Ending(Exited{0})) << inside.errors;
    EXPECT_EQ(inside.output, "");
    EXPECT_GT(std::atoi(inside.errors.c_str()), 100) << "nothing was tried";
  }
}

// Magic links lead to where the process is, and that is inside.
class MagicLink : public ::testing::TestWithParam<const char*> {};

TEST_P(MagicLink, DoesNotLeadOut) {
  const TempDir dir;
  const std::string secret = dir.file("secret", "canary");
  const Words act = {misbehave("path_act"), "read", GetParam() + secret};
  expect_refused(sandboxed({}), act, {ENOENT, EACCES}, Outside::Unknown);
  if (!sandbox_is_open()) {
    EXPECT_EQ(run_plainly({"env", "-C", "/", act[0], act[1], act[2]}).code, 0);
  }
}
INSTANTIATE_TEST_SUITE_P(Of, MagicLink,
                         ::testing::Values("/proc/self/root", "/proc/self/cwd",
                                           "/proc/thread-self/root", "/proc/self/root/../..",
                                           "/proc/self/cwd/../../..", "/../../.."),
                         [](const ::testing::TestParamInfo<const char*>& link) {
                           std::string name = "at";
                           for (const char c : std::string(link.param))
                             name += c == '/' || c == '-' ? '_' : c == '.' ? 'u' : c;
                           return name;
                         });

TEST(Escape, PidOfOnesChoice) {
  // Whoever can choose its number can take that of a process that is trusted.
  const std::string script = "echo 100 >/proc/sys/kernel/ns_last_pid && sh -c 'echo $$'; true";
  EXPECT_EQ(attempt(shell(script)).output, "");
  if (sandbox_is_open()) return;
  EXPECT_EQ(run_plainly({"unshare", "-Urpf", "--mount-proc", "sh", "-c", script}).text, "101\n");
}

TEST(Escape, DevicesOfTheHost) {
  for (const char* path : {"/dev/mem", "/dev/kmsg", "/dev/kvm", "/dev/fuse", "/dev/net/tun",
                           "/dev/vda", "/dev/sda", "/dev/loop-control", "/dev/console"})
    if (exists(path))
      expect_refused(sandboxed({}), {misbehave("path_act"), "look", path}, {ENOENT},
                     Outside::Succeeds);
}

}  // namespace
}  // namespace hermetic
