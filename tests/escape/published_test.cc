// Ways out through what a run leaves: its outputs, and what lies in memory for the next run.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>

#include "tests/escape/escape.h"

namespace hermetic {
namespace {

using ::testing::HasSubstr;

class Published : public ::testing::Test {
 protected:
  // The output was refused, and what was there before still is.
  void expect_unpublished(const Words& command) {
    SCOPED_TRACE(::testing::PrintToString(command));
    dir.file("out/old", "old");
    const Attempt inside = attempt(sandboxed(command).output(dir / "out").directory("/tmp"));
    EXPECT_THAT(inside.refusal, HasSubstr("not published"));
    EXPECT_EQ(names_of(dir / "out"), Words{"old"});
  }
  Words in_output(const std::string& script) {
    return {"sh", "-c", "cd " + dir / "out" + " && " + script};
  }

  const TempDir dir;
};

TEST_F(Published, Fifo) { expect_unpublished(in_output("mkfifo fifo")); }
TEST_F(Published, FifoDeepDown) { expect_unpublished(in_output("mkdir -p a/b; mkfifo a/b/fifo")); }
TEST_F(Published, Socket) {
  expect_unpublished({misbehave("path_act"), "make_socket", dir / "out/socket"});
}
TEST_F(Published, SetuidFile) { expect_unpublished(in_output("cp /bin/true x; chmod 4755 x")); }
TEST_F(Published, SetgidDirectory) { expect_unpublished(in_output("mkdir x; chmod 2755 x")); }

// What it says would stand in for the umask of those who make files there later.
constexpr const char* kSetDefaultList =
    "python3 -c 'import os, struct; os.setxattr(\"x\", \"system.posix_acl_default\", "
    "struct.pack(\"<I\", 2) + b\"\".join(struct.pack(\"<HHI\", tag, 7, 2**32 - 1) "
    "for tag in (1, 4, 32)))'";

TEST_F(Published, DefaultAccessControlList) {
  expect_unpublished(in_output(std::string("mkdir x; ") + kSetDefaultList));
}

TEST_F(Published, OutputTurnedIntoALink) {
  // The output itself is a mount point: it can be neither removed nor replaced.
  dir.file("precious/file", "canary");
  const std::string script = "rmdir " + dir / "out; ln -sfn " + dir / "precious " + dir / "out" +
                             "; echo x >" + dir / "out/file";
  (void)attempt(shell(script).output(dir / "out"));
  EXPECT_EQ(content_of(dir / "precious/file"), "canary");
  EXPECT_FALSE(std::filesystem::is_symlink(dir / "out"));
}

TEST_F(Published, LinkInsideAMergedOutput) {
  // What is merged is put in the place of a link, never through it; on either side.
  dir.file("precious/file", "canary");
  dir.link("out/sub", dir / "precious");
  dir.file("out/kept/file", "kept");
  const std::string script = "cd " + dir / "out" +
                             "; mkdir sub; echo new >sub/file; rm -rf kept; "
                             "ln -s " +
                             dir / "precious kept";
  (void)attempt(shell(script).output(dir / "out", Publish::Merge));
  EXPECT_EQ(content_of(dir / "precious/file"), "canary");
  EXPECT_EQ(names_of(dir / "precious"), Words{"file"});
  EXPECT_FALSE(std::filesystem::is_symlink(dir / "out/sub"));
}

// Carries a spec out that was built before the host changed.
void carry_out(const Spec& spec) {
  if (sandbox_is_open()) {
    (void)attempt_in_the_open(spec, captured());
    return;
  }
  LinuxBackend backend = LinuxBackend::make().value();
  Audience events;
  (void)execute(spec, backend, captured(), events);
}

// An accomplice outside puts a link where the output will appear.
TEST_F(Published, SymlinkSwapOfTheDestination) {
  dir.file("precious/file", "canary");
  dir.directory("out");
  for (const Publish publish : {Publish::Replace, Publish::Merge}) {
    const Spec spec =
        shell("echo new >" + dir / "out/file").output(dir / "out", publish).build().value();
    std::filesystem::rename(dir / "out", dir / "moved");
    std::filesystem::create_symlink(dir / "precious", dir / "out");
    carry_out(spec);
    EXPECT_EQ(content_of(dir / "precious/file"), "canary");
    std::filesystem::remove_all(dir / "out");
    std::filesystem::rename(dir / "moved", dir / "out");
  }
}

// The same at any moment of the run, the publication included.
TEST_F(Published, SymlinkSwapDuringPublication) {
  dir.file("precious/file", "canary");
  dir.directory("out");
  std::filesystem::create_symlink(dir / "precious", dir / "link");
  std::vector<Spec> specs;
  for (const Publish publish : {Publish::Replace, Publish::Merge})
    specs.push_back(
        shell("echo new >" + dir / "out/file").output(dir / "out", publish).build().value());
  std::atomic<bool> over = false;
  std::thread accomplice([&] {
    while (!over)
      (void)::renameat2(AT_FDCWD, (dir / "out").c_str(), AT_FDCWD, (dir / "link").c_str(),
                        RENAME_EXCHANGE);
  });
  for (int i = 0; i < 40; ++i) carry_out(specs[static_cast<std::size_t>(i) % 2]);
  over = true;
  accomplice.join();
  EXPECT_EQ(content_of(dir / "precious/file"), "canary");
  EXPECT_EQ(names_of(dir / "precious"), Words{"file"});
}

TEST_F(Published, NonUtf8AndNewlineNames) {
  const std::string script = R"sh(echo 1 >"$(printf 'a\nb')"; echo 2 >"$(printf '\377')"; )sh"
                             R"sh(echo 3 >"$(printf '\033[2J')"; mkdir -- -rf; echo 4 >'-rf/*')sh";
  const Result<Finished> finished = try_run(sandboxed(in_output(script)).output(dir / "out"));
  ASSERT_TRUE(finished) << to_string(finished.error());
  EXPECT_EQ(finished->outcome.outputs.at(0).files, 4U);
  EXPECT_EQ(names_of(dir / "out"), (Words{"\x1b[2J", "-rf", "a\nb", "\377"}));
}

// On a file system in memory, which forgets names faster than a disk does.
class PublishedInMemory : public Published {
 protected:
  // What `ask` says where `here` is such a file system.
  void expect_answer(const std::string& expected, const std::function<std::string()>& ask) {
    const Answer answer = ask_with_own_mounts([&]() -> std::string {
      if (::mount("tmpfs", here.c_str(), "tmpfs", 0, "mode=0777,size=1g,nr_inodes=2m") != 0)
        return "cannot mount";
      return ask();
    });
    SKIP_UNLESS_ANSWERED(answer);
    EXPECT_EQ(answer.text, expected);
  }
  // How the run went, and what is left in `here`.
  std::string result_of(const SpecBuilder& builder, bool digest = true) {
    RunOptions options = captured();
    options.digest_outputs = digest;
    const Result<Finished> finished = try_run(builder, options);
    std::string text = finished
                           ? std::to_string(finished->outcome.outputs.at(0).files) + " files, " +
                                 std::to_string(finished->outcome.outputs.at(0).size_bytes)
                           : finished.error().message;
    for (const std::string& name : names_of(here)) text += " " + name;
    return text;
  }
  const std::string here = dir.directory("here");
};

TEST_F(PublishedInMemory, PathsDeeperThanAnyoneCanName) {
  const Answer answer = ask_with_own_mounts([&]() -> std::string {
    if (::mount("tmpfs", here.c_str(), "tmpfs", 0, "mode=0777") != 0) return "cannot mount";
    return result_of(
        sandboxed({misbehave("fill"), "depth", "4096", here + "/out"}).output(here + "/out"));
  });
  SKIP_UNLESS_ANSWERED(answer);
  EXPECT_THAT(answer.text, HasSubstr("lies more than"));
  EXPECT_THAT(answer.text, ::testing::EndsWith("directories deep"));  // and nothing is left
}

TEST_F(PublishedInMemory, VeryManyFiles) {
  // A million where there is time.
  const std::string count = std::getenv("HERMETIC_LONG") != nullptr ? "1000000" : "20000";
  expect_answer(count + " files, 0 out", [&] {
    return result_of(
        sandboxed({misbehave("fill"), "files", count, here + "/out"}).output(here + "/out"));
  });
}

TEST_F(PublishedInMemory, SparseFileOfEightExabytes) {
  expect_answer("1 files, 9223372036854771712 out", [&] {
    // Without a digest: reading it would take as long as it takes.
    return result_of(
        shell("truncate -s 9223372036854771712 " + here + "/out/x").output(here + "/out"), false);
  });
}

// A hole costs nothing where it was made; it must not fill the disk that it is copied to.
TEST_F(PublishedInMemory, SparseFileAcrossFileSystems) {
  expect_answer("67108867 begin end sparse", [&]() -> std::string {
    const Result<Finished> finished =
        try_run(shell("cd " + here + "; printf begin >x; truncate -s 64M x; printf end >>x")
                    .output(here));  // a mount point: its entries are copied into it
    if (!finished) return to_string(finished.error());
    struct stat status = {};
    ::stat((here + "/x").c_str(), &status);
    const std::string text = content_of(here + "/x");
    return std::to_string(text.size()) + " " + text.substr(0, 5) + " " +
           text.substr(text.size() - 3) + (status.st_blocks < 2048 ? " sparse" : " full");
  });
}

// A library that a run left behind does not find its way into the next one by itself.
TEST_F(Published, LD_PRELOAD_LeftInOutputs) {
  const std::string library = dir.directory("out") + "/preload.so";
  const std::string leave = "cp " + in_shell("preload.so") + " " + library + "; echo " + library +
                            " >/etc/ld.so.preload; true";
  if (!sandbox_is_open()) {
    EXPECT_EQ(attempt(shell(leave).output(dir / "out")).refusal, "");
    ASSERT_TRUE(exists(library));
  }
  ::setenv("LD_PRELOAD", sandbox_is_open() ? misbehave("preload.so").c_str() : library.c_str(), 1);
  const Attempt next = attempt(sandboxed({"/bin/true"}).input(dir / "out").directory("/"));
  const std::string control = run_plainly({"/bin/true"}).text;
  ::unsetenv("LD_PRELOAD");
  EXPECT_EQ(next.output, "");
  EXPECT_THAT(control, HasSubstr("loaded"));
}

TEST_F(Published, SharedMemoryForTheNextRun) {
  const std::string key = std::to_string(2'000'000 + ::getpid());
  for (const char* kind : {"sysv", "posix"}) {
    const auto with = [&](const char* verb) {
      return Words{misbehave("shared_memory"), verb, kind, key};
    };
    EXPECT_EQ(attempt(sandboxed(with("make"))).ending, Ending(Exited{0})) << kind;
    EXPECT_EQ(attempt(sandboxed(with("find"))).ending, Ending(Exited{1})) << kind;
    EXPECT_NE(run_plainly(with("find")).code, 0) << kind;
    (void)run_plainly(with("remove"));
    // The control: what is left outside is found, and removed.
    EXPECT_EQ(run_plainly(with("make")).code, 0) << kind;
    EXPECT_EQ(run_plainly(with("find")).code, 0) << kind;
    EXPECT_EQ(run_plainly(with("remove")).code, 0) << kind;
  }
}

}  // namespace
}  // namespace hermetic
