// When the sandbox cannot be made: the error says why, nothing has run, nothing is left.
#include <sys/stat.h>

#include "hermetic/backends/linux/facts.h"
#include "hermetic/backends/linux/linux_run.h"
#include "tests/sandbox/sandbox.h"

namespace hermetic {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Failure : public ::testing::TestWithParam<Mounts> {
 protected:
  void TearDown() override {
    EXPECT_TRUE(nothing_is_left(abandoned_before));
    errno = 0;
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG | __WALL), -1);
    EXPECT_EQ(errno, ECHILD);
    EXPECT_EQ(names_of("/proc/self/fd").size(), descriptors_before);
  }

  Result<std::unique_ptr<hermetic::Run>> start(const Plan& plan) {
    return backend.start(plan, captured(), events);
  }
  Plan plan_of(const SpecBuilder& builder) const {
    return make_plan(builder.build().value(), backend.probe()).value();
  }

  const std::set<std::string> abandoned_before = abandoned_folders();
  const TempDir dir;
  LinuxBackend backend = LinuxBackend::make(GetParam()).value();
  Audience events;
  const std::size_t descriptors_before = names_of("/proc/self/fd").size();
};
INSTANTIATE_TEST_SUITE_P(With, Failure, ::testing::Values(Mounts::New, Mounts::Classic),
                         [](const ::testing::TestParamInfo<Mounts>& kind) {
                           return kind.param == Mounts::New ? "New" : "Classic";
                         });

// The spec was checked against one object; another that took its name is not mounted.
TEST_P(Failure, AnInputThatWasReplacedIsNotShown) {
  dir.file("in/file", "checked");
  dir.file("other/file", "canary");
  const Plan plan = plan_of(shell("cat " + dir / "in/file" + "; touch " + dir / "out/ran")
                                .input(dir / "in")
                                .output(dir / "out"));
  std::filesystem::rename(dir / "in", dir / "moved");
  std::filesystem::rename(dir / "other", dir / "in");
  const auto run = start(plan);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().os_error, ESTALE);
  EXPECT_THAT(run.error().message, HasSubstr(dir / "in"));
  EXPECT_FALSE(exists(dir / "out"));
}

TEST_P(Failure, AnInputThatBecameALinkIsNotFollowed) {
  dir.file("in/file", "checked");
  dir.file("secret/file", "canary");
  const Plan plan = plan_of(shell("cat " + dir / "in/file").input(dir / "in"));
  std::filesystem::rename(dir / "in", dir / "moved");
  std::filesystem::create_symlink(dir / "secret", dir / "in");
  const auto run = start(plan);
  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().message, HasSubstr(dir / "in"));
}

TEST_P(Failure, AParentThatBecameALinkIsNoticed) {
  dir.file("parent/in/file", "checked");
  dir.file("secret/in/file", "canary");
  const Plan plan = plan_of(shell("cat " + dir / "parent/in/file").input(dir / "parent/in"));
  std::filesystem::rename(dir / "parent", dir / "moved");
  std::filesystem::create_symlink(dir / "secret", dir / "parent");
  const auto run = start(plan);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().os_error, ESTALE);
}

TEST_P(Failure, AnInputThatIsGoneIsNamed) {
  dir.file("in/file", "checked");
  const Plan plan = plan_of(shell("true").input(dir / "in").output(dir / "out"));
  std::filesystem::remove_all(dir / "in");
  const auto run = start(plan);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().os_error, ENOENT);
  EXPECT_THAT(run.error().message, AllOf(HasSubstr("step"), HasSubstr(dir / "in")));
}

TEST_P(Failure, AFileThatWasReplacedIsNotShown) {
  const std::string file = dir.file("file", "checked");
  const Plan plan = plan_of(shell("cat " + file).input(file));
  std::filesystem::rename(dir.file("other", "canary"), file);
  const auto run = start(plan);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().os_error, ESTALE);
}

TEST_P(Failure, AnEntryOfAListingThatWasReplacedIsNotShown) {
  dir.file("src/file", "checked");
  const Plan plan = plan_of(shell("cat " + dir / "src/file")
                                .input(dir / "src", {dir / "src/out"})
                                .output(dir / "src/out"));
  std::filesystem::rename(dir.file("other", "canary"), dir / "src/file");
  const auto run = start(plan);
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().os_error, ESTALE);
}

TEST_P(Failure, TheDirectoryOfTheCommandMustBeThere) {
  const SpecBuilder builder = sandboxed({"true"}).directory("/no/such/directory");
  const Result<Finished> finished = try_run(builder, captured(), GetParam());
  EXPECT_FALSE(finished);
}

TEST_P(Failure, AMissingClauseIsNamedBeforeAnythingRuns) {
  const Result<Finished> finished = try_run(
      shell("touch " + dir / "out/ran").output(dir / "out").limits({.disk_write_bytes = 1 << 20}));
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().kind, Error::Kind::Unsupported);
  EXPECT_THAT(finished.error().message, HasSubstr("disk-write-limit is observed"));
  EXPECT_FALSE(exists(dir / "out"));
}

// As root, hermetic opens what belongs to others; the command, which has no capabilities, cannot.
TEST_P(Failure, ATreeOfSomebodyElseIsAnErrorOrUnreadableAndNeverShown) {
  if (!is_root()) GTEST_SKIP() << "only root can give a tree to somebody else";
  dir.file("closed/in/file", "canary");
  ASSERT_EQ(::chown((dir / "closed").c_str(), 4242, 4242), 0);
  ASSERT_EQ(::chmod((dir / "closed").c_str(), 0700), 0);
  const Result<Finished> finished =
      try_run(shell("cat " + dir / "closed/in/file").input(dir / "closed"), captured(), GetParam());
  ASSERT_TRUE(finished) << to_string(finished.error());
  EXPECT_THAT(finished->outcome.standard_error.text, HasSubstr("Permission denied"));
}

TEST_P(Failure, LongArgumentsAreRefusedByTheKernelAndSaidSo) {
  SpecBuilder builder = sandboxed({"true", std::string(200'000, 'x')});
  const Result<Finished> finished = try_run(builder, captured(), GetParam());
  EXPECT_TRUE(finished ? finished->outcome.ending == Ending(NotStarted{E2BIG})
                       : finished.error().os_error == E2BIG);
}

}  // namespace
}  // namespace hermetic
