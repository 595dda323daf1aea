// Outputs: fresh while the command runs, exactly what it made afterwards, or untouched.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <thread>

#include "hermetic/outputs/publish.h"
#include "tests/sandbox/sandbox.h"

namespace hermetic {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using std::chrono_literals::operator""ms;

class Outputs : public ::testing::Test {
 protected:
  // Whatever happens, the folders in which outputs are prepared are gone afterwards.
  void TearDown() override { EXPECT_TRUE(nothing_is_left(abandoned_before)); }

  const std::set<std::string> abandoned_before = abandoned_folders();
  const TempDir dir;
};

// The message of a run that ended well but whose outputs could not be published.
std::string refusal(const SpecBuilder& builder) {
  const Result<Finished> finished = try_run(builder);
  return finished ? "it was published" : finished.error().message;
}

TEST_F(Outputs, StartEmptyAndHoldExactlyWhatTheRunMade) {
  dir.file("out/old", "old");
  dir.file("out/both", "old");
  const Outcome outcome = run(shell("ls -A " + dir / "out" + "; cd " + dir / "out" +
                                    "; echo new >both; mkdir -p a/b; echo x >a/b/c; ln -s a/b l")
                                  .output(dir / "out"));
  EXPECT_EQ(outcome.ending, Ending(Exited{0}));
  EXPECT_EQ(outcome.standard_output.text, "");
  EXPECT_EQ(names_of(dir / "out"), (Words{"a", "both", "l"}));
  EXPECT_EQ(content_of(dir / "out/both"), "new\n");
  EXPECT_EQ(content_of(dir / "out/l/c"), "x\n");
  ASSERT_EQ(outcome.outputs.size(), 1U);
  EXPECT_EQ(outcome.outputs[0].path, dir / "out");
  EXPECT_EQ(outcome.outputs[0].files, 3U);
  EXPECT_EQ(outcome.outputs[0].size_bytes, 6U);
  EXPECT_EQ(outcome.outputs[0].digest.size(), 64U);
}

TEST_F(Outputs, TheDigestDependsOnWhatIsInsideAndOnNothingElse) {
  const auto digest = [&](const std::string& script) {
    const Outcome outcome = run(shell("cd " + dir / "out" + "; " + script).output(dir / "out"));
    return outcome.outputs.empty() ? "" : outcome.outputs[0].digest;
  };
  const std::string first = digest("echo a >a; echo b >b");
  EXPECT_EQ(first, digest("echo b >b; sleep 0.01; echo a >a"));
  EXPECT_NE(first, digest("echo a >a; echo b >c"));
  EXPECT_NE(first, digest("echo a >a; echo c >b"));
  EXPECT_NE(first, digest("echo a >a; echo b >b; chmod +x b"));
  EXPECT_NE(first, digest("echo a >a; ln -s a b"));
}

TEST_F(Outputs, AFailedRunPublishesNothing) {
  dir.file("out/old", "old");
  for (const char* ending : {"exit 1", "kill -KILL $$", "kill -TERM $$"})
    run(shell("echo new >" + dir / "out/new" + "; " + ending).output(dir / "out"));
  run(shell("echo new >" + dir / "out/new" + "; sleep 1000")
          .output(dir / "out")
          .limits({.wall_time = 200ms}));
  run(sandboxed({"no-such-command"}).output(dir / "out"));
  EXPECT_EQ(names_of(dir / "out"), Words{"old"});
  run(shell("exit 1").output(dir / "missing/out"));
  EXPECT_FALSE(exists(dir / "missing"));
}

TEST_F(Outputs, AFailedRunCanBeKept) {
  RunOptions options = captured();
  options.keep_failed = OwnPlace::find(dir / "kept").value();
  run(shell("echo x >" + dir / "out/x" + "; echo y >" + dir / "file" + "; exit 1")
          .output(dir / "out")
          .output(dir / "file", Publish::Replace, FileType::File),
      options);
  EXPECT_FALSE(exists(dir / "out"));
  EXPECT_FALSE(exists(dir / "file"));
  Words found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir / "kept"))
    if (entry.is_regular_file()) found.push_back(content_of(entry.path()));
  EXPECT_THAT(found, ::testing::UnorderedElementsAre("x\n", "y\n"));
}

TEST_F(Outputs, MissingParentsAreMade) {
  run(shell("echo x >" + dir / "a/b/out/x").output(dir / "a/b/out"));
  EXPECT_EQ(content_of(dir / "a/b/out/x"), "x\n");
}

TEST_F(Outputs, MergeKeepsWhatWasThereBesides) {
  dir.file("out/old", "old");
  dir.file("out/both", "old");
  dir.file("out/sub/old", "old");
  dir.directory("out/turned");
  run(shell("cd " + dir / "out" +
            "; ls -A; echo new >both; mkdir sub; echo new >sub/new; echo f >turned")
          .output(dir / "out", Publish::Merge));
  EXPECT_EQ(names_of(dir / "out"), (Words{"both", "old", "sub", "turned"}));
  EXPECT_EQ(content_of(dir / "out/both"), "new\n");
  EXPECT_EQ(content_of(dir / "out/old"), "old");
  EXPECT_EQ(names_of(dir / "out/sub"), (Words{"new", "old"}));
  EXPECT_EQ(content_of(dir / "out/turned"), "f\n");
}

TEST_F(Outputs, MergeIsNotBoundByTheNumberOfDescriptors) {
  for (int i = 0; i < 100; ++i) dir.file("out/" + std::to_string(i), "old");
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few = {.rlim_cur = 50, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const Result<Finished> finished =
      try_run(shell("cd " + dir / "out" + "; for i in $(seq 0 99); do printf new >$i; done")
                  .output(dir / "out", Publish::Merge));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(finished) << to_string(finished.error());
  EXPECT_EQ(names_of(dir / "out").size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(content_of(dir / "out/" + std::to_string(i)), "new");
}

TEST_F(Outputs, InPlaceSeesAndChangesWhatIsThere) {
  dir.file("out/old", "old");
  dir.file("out/gone", "gone");
  const std::string script =
      "cat " + dir / "out/old" + "; rm " + dir / "out/gone" + "; echo x >" + dir / "out/x; exit 1";
  const Result<Finished> finished = try_run(shell(script).output(dir / "out", Publish::InPlace));
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->outcome.standard_output.text, "old");
  EXPECT_EQ(names_of(dir / "out"), (Words{"old", "x"}));
  EXPECT_FALSE(finished->hermetic());
}

// A program of a failed run that was kept must not be able to do more than the run.
TEST_F(Outputs, WhatIsKeptOfAFailedRunIsDisarmed) {
  RunOptions options = captured();
  options.keep_failed = OwnPlace::find(dir / "kept").value();
  const std::string out = dir / "out";
  const std::string script = "echo x >" + out + "/x; chmod 6755 " + out + "/x; mkfifo " + out +
                             "/fifo; mkdir " + out + "/locked; echo y >" + out +
                             "/locked/y; chmod 0 " + out + "/locked; exit 3";
  Audience events;
  LinuxBackend backend = LinuxBackend::make().value();
  const Spec spec = shell(script).output(out).build().value();
  const Result<Finished> finished = execute(spec, backend, options, events);
  ASSERT_TRUE(finished) << to_string(finished.error());
  EXPECT_EQ(finished->outcome.ending, Ending(Exited{3}));
  EXPECT_EQ(names_of(dir / "kept/0"), (Words{"locked", "x"}));
  struct stat status = {};
  ASSERT_EQ(::stat((dir / "kept/0/x").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0755U);
  ASSERT_EQ(::stat((dir / "kept").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
}

// What is mounted below a destination is not moved away and removed with it. As root, in a mount
// namespace of its own.
TEST_F(Outputs, AMountBelowTheDestinationIsNotTouched) {
  dir.file("precious/f", "keep");
  dir.directory("out/a/sub");
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWNS) != 0) ::_exit(77);
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) ::_exit(2);
    if (::mount((dir / "precious").c_str(), (dir / "out/a/sub").c_str(), nullptr, MS_BIND,
                nullptr) != 0)
      ::_exit(3);
    const Result<Finished> finished = try_run(shell("true").output(dir / "out"));
    ::_exit(!finished && finished.error().message.find("mounted") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "only root can mount here";
  EXPECT_EQ(status, 0);
  EXPECT_EQ(names_of(dir / "precious"), (Words{"f"}));
}

// Nobody looks through an output that is changed in place, and the caller may be root.
TEST_F(Outputs, InPlaceNoFileGetsASetUserIdBit) {
  dir.file("out/old", "old");
  const std::string file = dir / "out/old";
  const std::string script = "chmod 4755 " + file + " && echo set-user-id; chmod 2755 " + file +
                             " && echo set-group-id; chmod 755 " + file + " && echo plain";
  EXPECT_EQ(run(shell(script).output(dir / "out", Publish::InPlace)).standard_output.text,
            "plain\n");
  EXPECT_EQ(run(shell("touch /tmp/x; chmod 4755 /tmp/x && echo elsewhere")).standard_output.text,
            "elsewhere\n");
}

TEST_F(Outputs, ASingleFileWorksAsWell) {
  for (const bool before : {false, true}) {
    const std::string path = dir / (before ? "there" : "missing");
    if (before) dir.file("there", "old");
    const Outcome outcome = run(shell("cat " + path + "; echo new >" + path)
                                    .output(path, Publish::Replace, FileType::File));
    EXPECT_EQ(outcome.standard_output.text, "");
    EXPECT_EQ(content_of(path), "new\n");
    ASSERT_EQ(outcome.outputs.size(), 1U);
    EXPECT_EQ(outcome.outputs[0].type, FileType::File);
  }
}

TEST_F(Outputs, ASingleFileKeepsItsMode) {
  const std::string path = dir.file("tool", "old");
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  run(shell("echo new >" + path).output(path));
  EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms::owner_all);
}

TEST_F(Outputs, TheCompilerCanWriteASingleFile) {
  dir.file("main.c", "int main(void) { return 0; }");
  const std::string object = dir / "main.o";
  const Outcome outcome = run(sandboxed({"cc", "-c", dir / "main.c", "-o", object})
                                  .input(dir / "main.c")
                                  .output(object, Publish::Replace, FileType::File));
  EXPECT_EQ(outcome.ending, Ending(Exited{0})) << outcome.standard_error.text;
  EXPECT_THAT(content_of(object), HasSubstr("ELF"));
}

TEST_F(Outputs, WhatMustNotLeaveIsRefusedAndTheOldOutputStays) {
  for (const char* act : {"mkfifo fifo", "echo x >set; chmod u+s set", "echo x >set; chmod g+s set",
                          "mkdir set; chmod g+s set", "mkdir deep; mkfifo deep/fifo"}) {
    dir.file("out/old", "old");
    EXPECT_THAT(refusal(shell("cd " + dir / "out" + "; " + act).output(dir / "out")),
                HasSubstr("was not published"))
        << act;
    EXPECT_EQ(names_of(dir / "out"), Words{"old"});
  }
  const Words socket = {misbehave("path_act"), "make_socket", dir / "out/socket"};
  EXPECT_THAT(refusal(sandboxed(socket).output(dir / "out")), HasSubstr("device, fifo or socket"));
  const SpecBuilder device = sandboxed({}).output(dir / "out");
  expect_denied(device, {misbehave("path_act"), "make_device", dir / "out/device"}, {EPERM, EACCES},
                Control::None);
  EXPECT_EQ(names_of(dir / "out"), Words{"old"});
}

TEST_F(Outputs, ASetuidFileIsRefusedAsASingleFileToo) {
  const std::string path = dir.file("file", "old");
  EXPECT_THAT(refusal(shell("echo x >" + path + "; chmod 4755 " + path).output(path)),
              HasSubstr("set-user-id"));
  EXPECT_EQ(content_of(path), "old");
}

TEST_F(Outputs, AnyNameCanBePublished) {
  const std::string script =
      "cd " + dir / "out" +
      R"sh(; echo 1 >"$(printf 'a\nb')"; echo 2 >"$(printf '\377\376')"; echo 3 >' '; echo 4 >-rf)sh";
  EXPECT_EQ(run(shell(script).output(dir / "out")).ending, Ending(Exited{0}));
  EXPECT_EQ(names_of(dir / "out"), (Words{" ", "-rf", "a\nb", "\377\376"}));
}

TEST_F(Outputs, FilesThatNobodyMayReadArePublished) {
  const Outcome outcome =
      run(shell("cd " + dir / "out" + "; echo x >x; chmod 0 x").output(dir / "out"));
  ASSERT_EQ(outcome.outputs.size(), 1U);
  struct stat status = {};
  ASSERT_EQ(::stat((dir / "out/x").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0U);
}

TEST_F(Outputs, DirectoriesThatNobodyMayListAreRefusedOrPublishedButNeverLost) {
  dir.file("out/old", "old");
  const std::string message =
      refusal(shell("cd " + dir / "out" + "; mkdir d; echo x >d/x; chmod 0 d").output(dir / "out"));
  if (is_root())
    EXPECT_EQ(message, "it was published");
  else
    EXPECT_THAT(message, HasSubstr("cannot be listed"));
  std::error_code ignored;
  std::filesystem::permissions(dir / "out/d", std::filesystem::perms::owner_all, ignored);
}

TEST_F(Outputs, AreCopiedAcrossFileSystems) {
  for (const Publish publish : {Publish::Replace, Publish::Merge}) {
    dir.directory("out");
    const Answer answer = ask_with_own_mounts([&]() -> std::string {
      if (::mount("tmpfs", (dir / "out").c_str(), "tmpfs", 0, "mode=0777") != 0)
        return "cannot mount";
      std::filesystem::create_directories(dir / "out/there");
      std::ofstream(dir / "out/there/old") << "old";
      // What is prepared beside the destination would show in the input around it, so that it is
      // prepared on another file system: the shell sees that.
      const std::string script = "cd " + dir / "out/there" +
                                 "; [ $(stat -c %d .) != $(stat -c %d ..) ] || exit 9; mkdir a; "
                                 "echo x >a/x; chmod 750 a/x; ln -s a l";
      const SpecBuilder builder =
          shell(script).input(dir / "out", {dir / "out/there"}).output(dir / "out/there", publish);
      const Outcome outcome = run(builder);
      if (outcome.ending != Ending(Exited{0}))
        return "failed: " + ::testing::PrintToString(outcome.ending);
      std::string text = content_of(dir / "out/there/l/x");
      for (const std::string& name : names_of(dir / "out")) text += name + " ";
      for (const std::string& name : names_of(dir / "out/there")) text += name + " ";
      struct stat status = {};
      ::stat((dir / "out/there/a/x").c_str(), &status);
      return text + std::to_string(status.st_mode & 0777U);
    });
    SKIP_UNLESS_ANSWERED(answer);
    EXPECT_EQ(answer.text,
              publish == Publish::Replace ? "x\nthere a l 488" : "x\nthere a l old 488");
  }
}

TEST_F(Outputs, ADestinationThatIsAMountPointIsFilledEntryByEntry) {
  dir.directory("out");
  const Answer answer = ask_with_own_mounts([&]() -> std::string {
    if (::mount("tmpfs", (dir / "out").c_str(), "tmpfs", 0, "mode=0777") != 0)
      return "cannot mount";
    std::ofstream(dir / "out/old") << "old";
    const auto finished = try_run(shell("echo x >" + dir / "out/x").output(dir / "out"));
    if (!finished) return to_string(finished.error());
    std::string text;
    for (const std::string& name : names_of(dir / "out")) text += name + " ";
    return text + content_of(dir / "out/x");
  });
  SKIP_UNLESS_ANSWERED(answer);
  EXPECT_EQ(answer.text, "x x\n");
}

// The parent belongs to somebody else, the directory itself is ours.
TEST_F(Outputs, AParentThatIsNotOursIsNoObstacle) {
  if (is_root())
    GTEST_SKIP() << "root may write to every directory; ctest runs this as a plain user";
  dir.file("parent/out/old", "old");
  std::filesystem::permissions(dir / "parent", std::filesystem::perms(0555));
  run(shell("echo x >" + dir / "parent/out/x").output(dir / "parent/out"));
  EXPECT_EQ(names_of(dir / "parent/out"), Words{"x"});
  // A directory that can be written and entered, but not listed.
  std::filesystem::permissions(dir / "parent", std::filesystem::perms(0300));
  run(shell("echo y >" + dir / "parent/out/y").output(dir / "parent/out"));
  EXPECT_EQ(names_of(dir / "parent/out"), Words{"y"});
  std::filesystem::permissions(dir / "parent", std::filesystem::perms(0755));
}

// What runs while the command waits, so that the host changes between start and publication.
template <class Meanwhile>
std::string refusal_when(SpecBuilder builder, const std::string& script, Meanwhile meanwhile) {
  std::array<int, 2> ends = {-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return "no pipe";
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  RunOptions options = captured();
  options.standard_input = reader.get();
  std::string message;
  std::thread other([&] {
    builder.command({"sh", "-c", script + "; cat"});
    const Result<Finished> finished = try_run(builder, options);
    message = finished ? "it was published" : finished.error().message;
  });
  ::usleep(300'000);
  meanwhile();
  writer.reset();
  other.join();
  return message;
}

TEST_F(Outputs, ALinkPutInThePlaceOfADestinationIsNotFollowed) {
  dir.file("out/old", "old");
  dir.file("precious/file", "canary");
  EXPECT_EQ(refusal_when(sandboxed({}).output(dir / "out"), "echo x >" + dir / "out/x",
                         [&] {
                           std::filesystem::remove_all(dir / "out");
                           std::filesystem::create_symlink(dir / "precious", dir / "out");
                         }),
            "it was published");
  EXPECT_EQ(names_of(dir / "precious"), Words{"file"});
  EXPECT_EQ(names_of(dir / "out"), Words{"x"});
}

TEST_F(Outputs, WhatWasPublishedFirstIsTakenBackWhenTheSecondFails) {
  dir.file("a/old", "old");
  dir.file("sub/b/old", "old");
  dir.directory("elsewhere");
  // A link on the way to a destination is not followed either.
  EXPECT_NE(
      refusal_when(sandboxed({}).output(dir / "a").output(dir / "sub/b").output(dir / "sub/c/d"),
                   "echo x >" + dir / "a/x" + "; echo x >" + dir / "sub/b/x",
                   [&] {
                     std::filesystem::rename(dir / "sub", dir / "sub2");
                     std::filesystem::create_symlink(dir / "elsewhere", dir / "sub");
                   }),
      "it was published");
  EXPECT_EQ(names_of(dir / "a"), Words{"old"});
  EXPECT_EQ(names_of(dir / "sub2/b"), Words{"old"});
  EXPECT_THAT(names_of(dir / "elsewhere"), IsEmpty());
  EXPECT_EQ(names_of(dir.path()), (Words{"a", "elsewhere", "sub", "sub2"}));
}

TEST_F(Outputs, ALinkAsDestinationIsFollowedWhenTheSpecIsBuilt) {
  dir.file("real/old", "old");
  dir.link("out", dir / "real");
  run(shell("echo x >" + dir / "out/x").output(dir / "out"));
  EXPECT_EQ(names_of(dir / "real"), Words{"x"});
  EXPECT_TRUE(std::filesystem::is_symlink(dir / "out"));
}

TEST_F(Outputs, ExceptionsInsideAnOutputStayAsTheyAre) {
  dir.file("out/keep/file", "kept");
  dir.file("out/old", "old");
  run(shell("echo x >" + dir / "out/x")
          .declare(
              {.kind = TreeKind::Output, .path = dir / "out", .exceptions = {dir / "out/keep"}}));
  EXPECT_EQ(names_of(dir / "out"), (Words{"keep", "x"}));
  EXPECT_EQ(content_of(dir / "out/keep/file"), "kept");
}

TEST_F(Outputs, ExceptionsStayWhateverIsDoneToTheDirectoriesAroundThem) {
  dir.file("out/a/b/keep", "kept");
  run(shell("cd " + dir / "out" + "; mv a other; rm -r a; echo x >a; ln -s / a; true")
          .declare({.kind = TreeKind::Output,
                    .path = dir / "out",
                    .exceptions = {dir / "out/a/b/keep"}}));
  EXPECT_EQ(content_of(dir / "out/a/b/keep"), "kept");
}

// What the sandbox rules out, publish() does too.
TEST_F(Outputs, AFileDoesNotTakeThePlaceOfADirectoryAroundAnException) {
  dir.file("out/a/keep", "kept");
  Plan plan;
  plan.publications = {
      {.path = dir / "out", .destination = dir / "out", .exceptions = {dir / "out/a/keep"}}};
  Result<Staging> staging = Staging::make(plan);
  ASSERT_TRUE(staging);
  std::ofstream(staging->outputs().front().tree() + "/a") << "file";
  const Result<void> published = publish(*staging);
  ASSERT_FALSE(published);
  EXPECT_THAT(published.error().message, HasSubstr("a' is no directory, but an exception"));
  EXPECT_EQ(content_of(dir / "out/a/keep"), "kept");
}

TEST_F(Outputs, StrictOutputsCanBeWrittenButNotReadBack) {
  std::string place = "/var/tmp/hermetic-test-XXXXXX";
  ASSERT_NE(::mkdtemp(place.data()), nullptr);
  Draft strict;
  strict.strict_outputs = true;
  const SpecBuilder with = sandboxed({}).output(place + "/out").overlay(strict);
  SpecBuilder both = with;
  both.command({"sh", "-c", "cd " + place + "/out; mkdir d; echo x >x; cat x || echo unread"});
  EXPECT_EQ(output_of(both), "unread\n");
  EXPECT_EQ(content_of(place + "/out/x"), "x\n");
  for (const std::string& directory : {place + "/out", place, std::string("/")})
    expect_denied(with, {misbehave("path_act"), "list", directory}, {EACCES}, Control::Succeeds);
  both.command({"sh", "-c", "cat /etc/passwd >/dev/null && echo x >/tmp/x && cat /tmp/x"});
  EXPECT_EQ(output_of(both), "x\n");
  std::filesystem::remove_all(place);
}

TEST_F(Outputs, StrictOutputsLeaveAnInputInWhichAPlaceIsMadeReadable) {
  std::string place = "/var/tmp/hermetic-test-XXXXXX";
  ASSERT_NE(::mkdtemp(place.data()), nullptr);
  std::filesystem::create_directories(place + "/in/d");
  const SpecBuilder with = sandboxed({"ls", place + "/in"})
                               .input(place + "/in", {place + "/in/new"})
                               .temp(place + "/in/new")
                               .output(place + "/out")
                               .strict_outputs();
  EXPECT_EQ(output_of(with), "d\nnew\n");
  expect_denied(with, {misbehave("path_act"), "list", place}, {EACCES}, Control::Succeeds);
  std::filesystem::remove_all(place);
}

TEST_F(Outputs, ManyAndDeepFilesArePublishedOrRefusedCleanly) {
  const std::string many =
      "cd " + dir / "out" + "; i=0; while [ $i -lt 3000 ]; do : >f$i; i=$((i+1)); done";
  EXPECT_EQ(run(shell(many).output(dir / "out")).outputs.at(0).files, 3000U);
  const std::string deep =
      "cd " + dir / "deep" + "; i=0; while [ $i -lt 1200 ]; do mkdir d && cd d; i=$((i+1)); done";
  EXPECT_THAT(refusal(shell(deep).output(dir / "deep")), HasSubstr("deep"));
  EXPECT_FALSE(exists(dir / "deep"));
}

}  // namespace
}  // namespace hermetic
