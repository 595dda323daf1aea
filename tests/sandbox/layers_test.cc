// Layered temps: changed inside as the command likes, and what they start as stays as it is.
#include <sys/stat.h>

#include <thread>

#include "hermetic/workspace/changes.h"
#include "tests/sandbox/sandbox.h"

namespace hermetic {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Everything that can be told about a tree: names, kinds, modes, times, contents.
std::string story_of(const std::string& path) {
  return run_plainly({"sh", "-c",
                      "cd \"$1\" && find . -printf '%p %y %m %n %U %T@ %C@ %s %l\\n' | sort && "
                      "find . -type f -exec cat {} +",
                      "sh", path})
      .text;
}

using Way = LinuxBackend::Layers;

class Layers : public ::testing::TestWithParam<Way> {
 protected:
  Layers() {
    dir.file("low/kept", "kept");
    dir.file("low/file", "old");
    dir.file("low/sub/inner", "inner");
    dir.file("low/gone", "gone");
    ::symlink("file", (dir / "low/link").c_str());
    ::mkdir((dir / "changes").c_str(), 0700);
    ::mkdir((dir / "more").c_str(), 0700);
  }

  [[nodiscard]] SpecBuilder in_layers(const std::string& script, const Words& over,
                                      const std::string& changes = "") const {
    return shell("set -e; cd /w; " + script).temp_over("/w", over, changes);
  }
  static Result<Finished> try_run(const SpecBuilder& builder) {
    const Spec spec = TRY(builder.build());
    LinuxBackend backend = make_backend();
    Audience events;
    return execute(spec, backend, captured(), events);
  }
  static LinuxBackend make_backend() {
    return LinuxBackend::make(Mounts::Detect, LinuxBackend::Groups::Detect, GetParam()).value();
  }
  static Outcome run(const SpecBuilder& builder) {
    Result<Finished> finished = try_run(builder);
    if (finished) return std::move(finished->outcome);
    ADD_FAILURE() << to_string(finished.error());
    return {};
  }
  static std::string output_of(const SpecBuilder& builder) {
    const Outcome outcome = run(builder);
    EXPECT_EQ(outcome.ending, Ending(Exited{0})) << outcome.standard_error.text;
    return outcome.standard_output.text;
  }
  // "added a", "removed b": what was changed, whichever way it is kept.
  static Words changes(const std::string& upper, const Words& layers) {
    Words words;
    const std::vector<Change> found = changes_in(upper, layers).value();
    for (const Change& change : found)
      words.push_back(std::string(to_string(change.kind)) + " " + change.path);
    return words;
  }
  [[nodiscard]] std::string upper() const { return dir / "changes/upper"; }

  const TempDir dir;
};

constexpr const char* kEveryChange =
    "echo new >file; echo added >added; rm gone; rm -r sub; mkdir sub; echo x >sub/x; chmod 700 "
    "kept; touch -d @1 kept; ln kept hard; mv link moved; ";

TEST_P(Layers, AreChangedInsideAndStayAsTheyAre) {
  const std::string before = story_of(dir / "low");
  const std::string inside =
      output_of(in_layers(std::string(kEveryChange) + "find . | sort; cat file", {dir / "low"}));
  EXPECT_EQ(inside, ".\n./added\n./file\n./hard\n./kept\n./moved\n./sub\n./sub/x\nnew\n");
  EXPECT_EQ(story_of(dir / "low"), before);
  // The control: without layers the same script changes it.
  ASSERT_EQ(run_plainly({"sh", "-c", "cd " + dir / "low" + "; " + kEveryChange}).code, 0);
  EXPECT_NE(story_of(dir / "low"), before);
}

TEST_P(Layers, AreGoneWithTheRunUnlessTheChangesAreKept) {
  const std::string before = story_of(dir.path());
  EXPECT_TRUE(run(in_layers(kEveryChange, {dir / "low"})).success());
  EXPECT_EQ(story_of(dir.path()), before);
}

TEST_P(Layers, KeepWhatWasChangedAndNothingElse) {
  EXPECT_TRUE(run(in_layers(kEveryChange, {dir / "low"}, dir / "changes")).success());
  EXPECT_EQ(names_of(dir / "changes"), (Words{"upper"}));
  EXPECT_EQ(changes(upper(), {dir / "low"}),
            (Words{"added added", "modified file", "removed gone", "added hard", "modified kept",
                   "removed link", "added moved", "removed sub/inner", "added sub/x"}));
  EXPECT_EQ(content_of(upper() + "/file"), "new\n");
  if (GetParam() == Way::Copy) return;
  EXPECT_EQ(names_of(upper()),
            (Words{"added", "file", "gone", "hard", "kept", "link", "moved", "sub"}));
  struct stat status = {};
  ASSERT_EQ(::lstat((upper() + "/gone").c_str(), &status), 0);
  EXPECT_TRUE(S_ISCHR(status.st_mode)) << "a whiteout";
  EXPECT_EQ(status.st_rdev, 0U);
}

TEST_P(Layers, GoOnFromWhatAnEarlierRunHasChanged) {
  const Words over = {dir / "low"};
  EXPECT_TRUE(run(in_layers("rm gone; echo 1 >count", over, dir / "changes")).success());
  EXPECT_EQ(output_of(in_layers("ls; cat count; echo 2 >count", over, dir / "changes")),
            "count\nfile\nkept\nlink\nsub\n1\n");
  EXPECT_EQ(content_of(upper() + "/count"), "2\n");
}

TEST_P(Layers, ForkAnyNumberOfTimesFromWhatWasPrepared) {
  EXPECT_TRUE(run(in_layers(kEveryChange, {dir / "low"}, dir / "changes")).success());
  const std::string frozen = story_of(upper());
  const Words over = {upper(), dir / "low"};
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(output_of(in_layers("find . | sort | tr '\\n' ' '; cat file; ! test -e sub/inner; "
                                  "rm -r sub added; echo mine >file",
                                  over, i == 0 ? dir / "more" : "")),
              ". ./added ./file ./hard ./kept ./moved ./sub ./sub/x new\n");
  EXPECT_EQ(story_of(upper()), frozen);
  EXPECT_EQ(changes(dir / "more/upper", over),
            (Words{"removed added", "modified file", "removed sub", "removed sub/x"}));
}

TEST_P(Layers, HaveNoOtherNameInside) {
  const std::string text = output_of(
      shell("ls -A / /dev /dev/shm; ls -A " + dir.path() + " 2>&1 || true; test -w /w; ! test -w /")
          .temp_over("/w", {dir / "low"}, dir / "changes"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr(".hermetic")));
  EXPECT_THAT(text, HasSubstr("No such file"));
}

// No way from the copy to what it is a copy of: through descriptors that were opened before it was
// made, mappings, hard links, or mounts.
// In a copy the marks that say so are the command's own.
TEST_P(Layers, AreKnownToBeRemovedWhateverTheCommandDoesToTheMarks) {
  const std::string script =
      "import os\nos.chdir('/w')\nos.remove('gone'); os.remove('sub/inner')\n"
      "for place in '.', 'sub':\n"
      "    try: os.removexattr(place, 'user.overlay.opaque')\n"
      "    except OSError: pass\n"
      "    size = 4000\n"
      "    for number in range(100):\n"
      "        try: os.setxattr(place, 'user.' + str(number), b'x' * size)\n"
      "        except OSError: size //= 2\n"
      "    os.chmod(place, 0o555)\n";
  const SpecBuilder hide =
      sandboxed({"/usr/bin/python3", "-c", script}).temp_over("/w", {dir / "low"}, dir / "changes");
  EXPECT_TRUE(run(hide).success());
  EXPECT_THAT(changes(upper(), {dir / "low"}),
              ::testing::IsSupersetOf({"removed gone", "removed sub/inner"}));
  // Also as a layer of others.
  EXPECT_EQ(output_of(in_layers("ls; ls sub", {upper(), dir / "low"})), "file\nkept\nlink\nsub\n");
  ASSERT_EQ(::chmod(upper().c_str(), 0755), 0);
  ASSERT_EQ(::chmod((upper() + "/sub").c_str(), 0755), 0);
}

TEST_P(Layers, CannotBeReachedThroughTheCopy) {
  const std::string before = story_of(dir / "low");
  const Outcome outcome = run(in_layers(
      "exec 3<file; exec 4<>file; echo through >&4; exec 5>>kept; echo more >&5; ln file other; "
      "echo x >>other; chmod 777 . sub; touch -d @5 . sub/inner; "
      "umount /w 2>/dev/null && exit 1; mount -o remount,rw / 2>/dev/null && exit 2; "
      "test \"$(cat file)\" != old",
      {dir / "low"}));
  EXPECT_EQ(outcome.ending, Ending(Exited{0})) << outcome.standard_error.text;
  EXPECT_EQ(story_of(dir / "low"), before);
}

TEST_P(Layers, TakeOneRunAtATime) {
  const SpecBuilder waiting = in_layers("echo 1 >mine; sleep 600", {dir / "low"}, dir / "changes");
  const Spec spec = waiting.build().value();
  LinuxBackend backend = make_backend();
  Audience events;
  const Plan plan = make_plan(spec, backend.probe()).value();
  const std::unique_ptr<hermetic::Run> first = backend.start(plan, captured(), events).value();
  const Result<Finished> second = try_run(waiting);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("another run has its changes in"));
  first->kill();
  EXPECT_TRUE(first->wait().has_value());
}

TEST_P(Layers, StartAnewAfterARunThatWasKilled) {
  dir.file("changes/work/work/left", "left");
  dir.file("changes/work/incompat/volatile/left", "left");
  EXPECT_TRUE(run(in_layers("echo 1 >mine", {dir / "low"}, dir / "changes")).success());
  EXPECT_EQ(names_of(dir / "changes"), (Words{"upper"}));
}

TEST_P(Layers, MayHaveNamesThatMeanSomethingToTheFileSystem) {
  const std::string odd = dir / "a:b,upperdir=\\x";
  std::filesystem::rename(dir / "low", odd);
  ::mkdir((odd + ".changes").c_str(), 0700);
  EXPECT_TRUE(run(in_layers("cat kept; echo 1 >mine", {odd}, odd + ".changes")).success());
  EXPECT_EQ(changes(odd + ".changes/upper", {odd}), (Words{"added mine"}));
}

TEST_P(Layers, AreTheObjectsThatWereChecked) {
  const SpecBuilder builder = in_layers("cat kept", {dir / "low"});
  const Spec spec = builder.build().value();
  std::filesystem::rename(dir / "low", dir / "old");
  dir.file("low/kept", "another");
  LinuxBackend backend = make_backend();
  Audience events;
  const Result<Finished> finished = execute(spec, backend, captured(), events);
  ASSERT_FALSE(finished);
  EXPECT_THAT(to_string(finished.error()), HasSubstr("Stale file handle"));
}

TEST_P(Layers, LeaveNothingWhenTheRunCannotStart) {
  const Result<Finished> finished =
      try_run(in_layers("true", {dir / "low"}, dir / "changes").directory("/w/none"));
  EXPECT_THAT(names_of(dir / "changes"), ::testing::AnyOf(IsEmpty(), ElementsAre("upper")));
}

INSTANTIATE_TEST_SUITE_P(Ways, Layers, ::testing::Values(Way::Detect, Way::OnDisk, Way::Copy),
                         [](const auto& chosen) {
                           if (chosen.param == Way::OnDisk) return "ByOverlayOnDisk";
                           return chosen.param == Way::Copy ? "ByCopy" : "ByOverlay";
                         });

}  // namespace
}  // namespace hermetic
