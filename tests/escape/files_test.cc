// Ways out through files: links, special bits, and names that change hands.
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <atomic>
#include <thread>

#include "tests/escape/escape.h"

namespace hermetic {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class FileWayOut : public ::testing::Test {
 protected:
  static Words act(std::string verb, std::string path, std::string other = "") {
    return {misbehave("path_act"), std::move(verb), std::move(path), std::move(other)};
  }
  const TempDir dir;
};

TEST_F(FileWayOut, HardLinkFromInputToOutput) {
  dir.file("in/file", "canary");
  dir.directory("out");
  const SpecBuilder with = sandboxed({}).input(dir / "in").output(dir / "out");
  expect_refused(with, act("link", dir / "in/file", dir / "out/file"), {EXDEV}, Outside::Unknown);
  // By a descriptor, which has no name to compare.
  const SpecBuilder by_descriptor =
      sandboxed({"python3", "-c",
                 "import os\nfd=os.open('" + dir / "in/file" +
                     "',os.O_RDONLY)\ntry: os.link('/proc/self/fd/%d'%fd,'" + dir / "out/linked" +
                     "',follow_symlinks=True); print('linked')\n"
                     "except OSError as e: print(e.errno)"})
          .input(dir / "in")
          .output(dir / "out");
  EXPECT_EQ(attempt(by_descriptor).output, std::to_string(EXDEV) + "\n");
  EXPECT_EQ(run_plainly(act("link", dir / "in/file", dir / "out/control")).code, 0);
}

TEST_F(FileWayOut, RenameAcrossMounts) {
  dir.file("in/file", "canary");
  dir.file("out/file", "old");
  for (const Publish publish : {Publish::Replace, Publish::InPlace})
    expect_refused(sandboxed({}).input(dir / "in").output(dir / "out", publish),
                   act("rename", dir / "in/file", dir / "out/other"), {EXDEV}, Outside::Unknown);
  EXPECT_EQ(content_of(dir / "in/file"), "canary");
  EXPECT_EQ(run_plainly(act("rename", dir / "in/file", dir / "out/other")).code, 0);
}

TEST_F(FileWayOut, DescriptorOfAnInputOpenedAnewToWrite) {
  const std::string file = dir.file("in/file", "canary");
  const std::string script = "exec 3<" + file + "; echo x >/proc/self/fd/3 && echo written; true";
  EXPECT_EQ(attempt(shell(script).input(dir / "in")).output, "");
  EXPECT_EQ(content_of(file), "canary");
  EXPECT_EQ(run_plainly({"sh", "-c", script}).text, "written\n");
}

TEST_F(FileWayOut, LinkInAnInputThatLeadsOut) {
  const std::string secret = dir.file("secret", "canary");
  dir.link("in/absolute", secret);
  dir.link("in/relative", "../secret");
  dir.link("in/magic", "/proc/self/root" + secret);
  for (const char* name : {"absolute", "relative", "magic"})
    expect_refused(sandboxed({}).input(dir / "in"), act("read", dir / (std::string("in/") + name)),
                   {ENOENT}, Outside::Succeeds);
  expect_refused(sandboxed({}).input(dir / "in"), act("read", dir / "in/../secret"), {ENOENT},
                 Outside::Succeeds);
}

// The program would be somebody else when it runs.
TEST_F(FileWayOut, SetuidBinary) {
  if (is_root()) {
    const std::string program = dir / "program";
    std::filesystem::copy_file(misbehave("kernel_call"), program);
    ASSERT_EQ(::chown(program.c_str(), 65534, 65534), 0);
    ASSERT_EQ(::chmod(program.c_str(), 06755), 0);
    std::filesystem::permissions(dir.path(), std::filesystem::perms(0755));
    expect_refused(sandboxed({}).input(program), {program, "have_another_user"}, {EPERM},
                   Outside::Succeeds);
    return;
  }
  // The loader tells what it was given, unless the program is privileged.
  const std::string program = "/usr/bin/su";
  struct stat status = {};
  if (::stat(program.c_str(), &status) != 0 || (status.st_mode & S_ISUID) == 0)
    GTEST_SKIP() << "no set-user-id program here";
  const auto mentions_user = [](const std::string& text) {
    return text.find("AT_EUID") != std::string::npos;
  };
  EXPECT_TRUE(
      mentions_user(attempt(sandboxed({program, "--version"}).env("LD_SHOW_AUXV", "1")).output));
  EXPECT_FALSE(mentions_user(run_plainly({"env", "LD_SHOW_AUXV=1", program, "--version"}).text));
}

// With the capabilities of the file the command would be mighty in its own user namespace, of which
// it is root.
TEST_F(FileWayOut, FileCapabilities) {
  const std::string program = dir / "program";
  std::filesystem::copy_file(misbehave("kernel_call"), program);
  const Plain made = run_plainly(in_namespace({"setcap", "cap_net_raw,cap_sys_admin+ep", program}));
  if (made.code != 0) GTEST_SKIP() << "no setcap here: " << made.text;
  const Words act = {program, "have_capabilities"};
  expect_refused(sandboxed({}).input(program), act, {EPERM}, Outside::Unknown);
  const auto without_root_powers = [](const std::string& file) {
    return run_plainly(
        in_namespace({"setpriv", "--securebits", "+noroot", "--", file, "have_capabilities"}));
  };
  EXPECT_EQ(without_root_powers(program).code, 0);
  EXPECT_EQ(without_root_powers(misbehave("kernel_call")).code, 1);
}

TEST_F(FileWayOut, DeviceNode) {
  dir.directory("out");
  Words places = {dir / "out/device"};
  if (!sandbox_is_open()) places.insert(places.end(), {"/tmp/device", "/dev/shm/device"});
  for (const std::string& place : places)
    expect_refused(sandboxed({}).output(dir / "out"), act("make_device", place), {EPERM, EACCES},
                   Outside::Unknown);
  if (is_root() && !sandbox_is_open()) {
    EXPECT_EQ(run_plainly(act("make_device", dir / "control")).code, 0);
  }
}

// Names of inputs are data to the script of mounts, never text that is parsed again.
TEST_F(FileWayOut, NewlineNameOfAnInput) {
  const std::string odd = "a\nb\\040 \t'\"$(x)";
  dir.file(odd + "/\xff\n", "content");
  dir.file("a", "canary");
  EXPECT_EQ(attempt(sandboxed({"cat", dir / (odd + "/\xff\n")}).input(dir / odd)).output,
            "content");
  expect_refused(sandboxed({}).input(dir / odd), act("read", dir / "a"), {ENOENT},
                 Outside::Succeeds);
  expect_refused(sandboxed({}).input(dir / odd), act("create", dir / (odd + "/new")),
                 {EROFS, EACCES}, Outside::Unknown);
}

TEST_F(FileWayOut, NonUtf8NameOfAnInput) {
  dir.file("\xff\x1b[2J/file", "content");
  const Result<Spec> spec = sandboxed({"true"}).input(dir / "\xff\x1b[2J").build();
  ASSERT_FALSE(spec);
  EXPECT_THAT(spec.error().message, HasSubstr("UTF-8"));
  EXPECT_THAT(spec.error().message, Not(HasSubstr("\x1b")));
}

// The name changes hands after the spec was checked and before it is mounted.
class Toctou : public ::testing::TestWithParam<Mounts> {
 protected:
  // What a run of a plan that was made before `change` prints, or why there was none.
  std::string run_after(const std::function<void()>& change) {
    const SpecBuilder builder = sandboxed({"cat", dir / "parent/in/file"}).input(dir / "parent/in");
    const Spec spec = builder.build().value();
    LinuxBackend backend = LinuxBackend::make(GetParam()).value();
    change();
    if (sandbox_is_open()) return attempt_in_the_open(spec, captured()).output;
    Audience events;
    const Result<Finished> finished = execute(spec, backend, captured(), events);
    return finished ? finished->outcome.standard_output.text : to_string(finished.error());
  }
  void SetUp() override {
    dir.file("parent/in/file", "checked");
    dir.file("secret/in/file", "canary");
    dir.file("secret/file", "canary");
  }
  const TempDir dir;
};
INSTANTIATE_TEST_SUITE_P(With, Toctou, ::testing::Values(Mounts::New, Mounts::Classic),
                         [](const ::testing::TestParamInfo<Mounts>& kind) {
                           return kind.param == Mounts::New ? "New" : "Classic";
                         });

TEST_P(Toctou, DirectoryBecomesALink) {
  EXPECT_THAT(run_after([&] {
                std::filesystem::rename(dir / "parent/in", dir / "moved");
                std::filesystem::create_symlink(dir / "secret", dir / "parent/in");
              }),
              Not(HasSubstr("canary")));
}
TEST_P(Toctou, ParentBecomesALink) {
  EXPECT_THAT(run_after([&] {
                std::filesystem::rename(dir / "parent", dir / "moved");
                std::filesystem::create_symlink(dir / "secret", dir / "parent");
              }),
              Not(HasSubstr("canary")));
}
TEST_P(Toctou, DirectoryIsExchanged) {
  EXPECT_THAT(run_after([&] {
                std::filesystem::rename(dir / "parent/in", dir / "moved");
                std::filesystem::rename(dir / "secret", dir / "parent/in");
              }),
              Not(HasSubstr("canary")));
}
TEST_P(Toctou, DirectoryIsExchangedAllTheTime) {
  // Two names change places as fast as they can while runs start. Each run shows what was checked,
  // or nothing.
  std::filesystem::create_symlink(dir / "secret", dir / "parent/other");
  std::atomic<bool> over = false;
  std::thread swapping([&] {
    while (!over)
      (void)::renameat2(AT_FDCWD, (dir / "parent/in").c_str(), AT_FDCWD,
                        (dir / "parent/other").c_str(), RENAME_EXCHANGE);
  });
  int shown = 0;
  for (int i = 0; i < 60; ++i) {
    const Result<Spec> spec =
        sandboxed({"cat", dir / "parent/in/file"}).input(dir / "parent/in").build();
    if (!spec) continue;
    // Through the link the spec itself says that it is the other one.
    const bool is_secret = spec->is_input(dir / "secret/file");
    const std::string text =
        sandbox_is_open() ? attempt_in_the_open(*spec, captured()).output : [&] {
          LinuxBackend backend = LinuxBackend::make(GetParam()).value();
          Audience events;
          const Result<Finished> finished = execute(*spec, backend, captured(), events);
          return finished ? finished->outcome.standard_output.text : std::string();
        }();
    shown += text.empty() ? 0 : 1;
    EXPECT_TRUE(is_secret || text != "canary");
  }
  over = true;
  swapping.join();
  EXPECT_GT(shown, 0) << "no run started at all";
}

}  // namespace
}  // namespace hermetic
