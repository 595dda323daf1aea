#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "hermetic/base/file_tree.h"
#include "hermetic/spec/spec_builder.h"
#include "tests/unit/spec/mount_namespace.h"
#include "tests/unit/spec/temp_dir.h"

// One object under two names: by symbolic link, bind mount and hard link.
namespace hermetic {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class DisjointObjects : public ::testing::Test {
 protected:
  SpecBuilder builder() {
    SpecBuilder builder({"true"});
    builder.caller_environment({});
    return builder;
  }
  // "built", or why not.
  static std::string outcome(const SpecBuilder& builder) {
    const Result<Spec> spec = builder.build();
    return spec ? "built" : to_string(spec.error());
  }

  TempDir root_;
};

TEST_F(DisjointObjects, ALinkFromAnOutputIntoAnInputIsRefused) {
  const std::string input = root_.directory("src");
  root_.directory("src/gen");
  const std::string output = root_.link("out", "src/gen");
  EXPECT_THAT(outcome(builder().input(input).output(output)),
              AllOf(HasSubstr("input '" + input + "' and output '" + output + "' overlap"),
                    HasSubstr("through a symbolic link: both hold '" + root_ / "src/gen" + "'"),
                    HasSubstr("except '" + input + "/gen' from the input '" + input + "'")));
  EXPECT_EQ(outcome(builder().input(input, {input + "/gen"}).output(output)), "built");
}

TEST_F(DisjointObjects, ALinkFromAnInputIntoAnOutputIsRefused) {
  const std::string output = root_.directory("out");
  const std::string input = root_.link("in", "out");
  EXPECT_THAT(outcome(builder().input(input).output(output)), HasSubstr("through a symbolic link"));
}

TEST_F(DisjointObjects, TwoLinksToOneDirectoryAreOneDirectory) {
  root_.directory("real");
  const std::string a = root_.link("a", "real");
  const std::string b = root_.link("b", "real");
  EXPECT_THAT(outcome(builder().output(a).output(b)), HasSubstr("through a symbolic link"));
  EXPECT_EQ(outcome(builder().input(a).input(b)), "built") << "inputs may repeat each other";
}

TEST_F(DisjointObjects, AnOutputBehindALinkedDirectoryIsFoundWhereItReallyIs) {
  root_.directory("disk");
  root_.link("build", "disk");
  const Spec spec = builder().output(root_ / "build/out").build().value();
  EXPECT_EQ(spec.trees().front().found.real_path, root_ / "disk/out");
  EXPECT_TRUE(spec.can_write(root_ / "build/out/x"));
  EXPECT_TRUE(spec.can_write(root_ / "disk/out/x"));
  EXPECT_EQ(spec.decide(root_ / "build/out/x", Operation::Write).path, root_ / "disk/out/x");
}

TEST_F(DisjointObjects, AnExceptionThatIsALinkIsRefused) {
  root_.directory("w/real");
  root_.link("w/link", "real");
  EXPECT_THAT(outcome(builder().input(root_ / "w", {root_ / "w/link"})),
              AllOf(HasSubstr("passes through a symbolic link to '" + root_ / "w/real" + "'"),
                    HasSubstr("name the real path")));
  EXPECT_EQ(outcome(builder().input(root_ / "w", {root_ / "w/real"})), "built");
}

TEST_F(DisjointObjects, AnExceptionBelowALinkedTreeIsNotALink) {
  root_.directory("real/hole");
  root_.link("w", "real");
  const Spec spec = builder().input(root_ / "w", {root_ / "w/hole"}).build().value();
  EXPECT_FALSE(spec.can_read(root_ / "w/hole"));
  EXPECT_FALSE(spec.can_read(root_ / "real/hole"));
  EXPECT_TRUE(spec.can_read(root_ / "w/x"));
}

TEST_F(DisjointObjects, ALinkIntoABuiltInTreeIsRefused) {
  const std::string shared = root_.link("shm", "/dev/shm");
  const std::string processes = root_.link("status", "/proc/self/status");
  const std::string through = root_.link("cwd", "/proc/self/cwd");
  EXPECT_THAT(outcome(builder().output(shared)), HasSubstr("/dev of its own"));
  EXPECT_THAT(outcome(builder().input(processes)), HasSubstr("/proc of its own"));
  EXPECT_THAT(outcome(builder().input(through)), HasSubstr("/proc of its own"));
  EXPECT_THAT(outcome(builder().output(root_.link("top", "/"))), HasSubstr("cannot be written"));
}

TEST_F(DisjointObjects, AHardLinkFromAnInPlaceOutputToAnInputIsRefused) {
  const std::string input = root_.directory("in");
  const std::string output = root_.directory("out");
  root_.file("in/deep/f");
  root_.hard_link("out/g", "in/deep/f");
  EXPECT_THAT(outcome(builder().input(input).output(output, Publish::InPlace)),
              AllOf(HasSubstr("'" + root_ / "in/deep/f" + "', which is the same file as '" +
                              root_ / "out/g" + "'"),
                    HasSubstr("hard link"), HasSubstr("hint: copy one")));
  EXPECT_EQ(outcome(builder().input(input).output(output)), "built")
      << "an output that starts empty shares nothing";
  EXPECT_THAT(outcome(builder().input(input, {input + "/deep"}).output(output, Publish::InPlace)),
              HasSubstr("the exception '" + input + "/deep' of input '" + input + "' is shown by"))
      << "the command could read and write what is excepted";
}

// A command that may change it in place can nest directories until nobody can look through them.
TEST_F(DisjointObjects, AnInPlaceOutputThatIsTooDeepToBeSearchedIsRefused) {
  root_.file("in/f", "");
  root_.nest("out", "d", 30'000);
  const Result<Spec> spec =
      SpecBuilder({"true"}).input(root_ / "in").output(root_ / "out", Publish::InPlace).build();
  ASSERT_FALSE(spec);
  EXPECT_THAT(spec.error().message, HasSubstr("more than 500 directories deep"));
  EXPECT_TRUE(remove_tree(AT_FDCWD, root_ / "out"));
}

TEST_F(DisjointObjects, HardLinksInsideTheOutputAreItsOwnBusiness) {
  root_.file("out/f");
  root_.hard_link("out/sub/g", "out/f");
  root_.file("in/h");
  EXPECT_EQ(outcome(builder().input(root_ / "in").output(root_ / "out", Publish::InPlace)),
            "built");
}

TEST_F(DisjointObjects, HardLinksToWhatIsNotDeclaredAreAllowed) {
  root_.file("elsewhere/f");
  root_.directory("out");
  root_.directory("in");
  root_.hard_link("out/g", "elsewhere/f");
  EXPECT_EQ(outcome(builder().input(root_ / "in").output(root_ / "out", Publish::InPlace)),
            "built");
}

TEST_F(DisjointObjects, AHardLinkBetweenDeclaredFilesIsFound) {
  const std::string input = root_.file("f");
  const std::string output = root_.hard_link("g", "f");
  EXPECT_THAT(outcome(builder().input(input).output(output, Publish::InPlace)),
              HasSubstr("hard link"));
}

TEST_F(DisjointObjects, ABindMountOfAnOutputInsideAnInputIsRefused) {
  const std::string input = root_.directory("w");
  const std::string output = root_.directory("out");
  const std::string alias = root_.directory("w/alias");
  const Answer before =
      ask_in_mount_namespace([&] { return outcome(builder().input(input).output(output)); });
  SKIP_UNLESS_ANSWERED(before);
  EXPECT_EQ(before.text, "built") << "the control, without the mount";
  const Answer after = ask_in_mount_namespace([&] {
    if (!bind_mount(output, alias)) return std::string("cannot mount");
    return outcome(builder().input(input).output(output));
  });
  EXPECT_THAT(after.text, AllOf(HasSubstr("input '" + input + "' and output '" + output +
                                          "' overlap through a"
                                          " bind mount"),
                                HasSubstr("'" + alias + "'"), HasSubstr("hint: ")));
}

TEST_F(DisjointObjects, AnExceptionDoesNotHideTheSameDirectoryUnderAnotherName) {
  const std::string input = root_.directory("w");
  const std::string output = root_.directory("w/out");
  const std::string alias = root_.directory("w/dir/alias");
  const auto build = [&](std::vector<std::string> exceptions) {
    return ask_in_mount_namespace([&]() -> std::string {
      if (!bind_mount(output, alias)) return "cannot mount";
      return outcome(builder().input(input, exceptions).output(output));
    });
  };
  const Answer seen = build({output});
  SKIP_UNLESS_ANSWERED(seen);
  EXPECT_THAT(seen.text, HasSubstr("overlap through a bind mount"));
  EXPECT_EQ(build({output, alias}).text, "built") << "unless that name is excepted, too";
  EXPECT_EQ(build({output, root_ / "w/dir"}).text, "built") << "or something above it";
}

TEST_F(DisjointObjects, ABindMountOfAPartAboveIsFound) {
  root_.directory("data/deep");
  const std::string output = root_ / "data/deep/out";  // does not exist yet
  const std::string input = root_.directory("view");
  const Answer answer = ask_in_mount_namespace([&]() -> std::string {
    if (!bind_mount(root_ / "data", input)) return "cannot mount";
    return outcome(builder().input(input).output(output));
  });
  SKIP_UNLESS_ANSWERED(answer);
  EXPECT_THAT(answer.text, AllOf(HasSubstr("overlap through a bind mount"),
                                 HasSubstr("'" + input + "/deep/out' is '" + output + "'")));
}

TEST_F(DisjointObjects, AnOutputThatShowsAPartOfItselfTwiceIsNotInItsOwnWay) {
  root_.directory("out/a");
  const std::string twice = root_.directory("out/b");
  const Answer answer = ask_in_mount_namespace([&]() -> std::string {
    if (!bind_mount(root_ / "out/a", twice)) return "cannot mount";
    return outcome(builder().output(root_ / "out"));
  });
  SKIP_UNLESS_ANSWERED(answer);
  EXPECT_EQ(answer.text, "built");
}

TEST_F(DisjointObjects, ADirectoryShownTwiceDoesNotExplainAHardLinkToAnInput) {
  root_.file("in/f");
  root_.hard_link("out/a/f", "in/f");
  const std::string twice = root_.directory("out/b");
  const Answer answer = ask_in_mount_namespace([&]() -> std::string {
    if (!bind_mount(root_ / "out/a", twice)) return "cannot mount";
    return outcome(builder().input(root_ / "in").output(root_ / "out", Publish::InPlace));
  });
  SKIP_UNLESS_ANSWERED(answer);
  EXPECT_THAT(answer.text, HasSubstr("hard link"));
}

TEST_F(DisjointObjects, TheCheckedObjectIsHeldWhenTheNameIsSwapped) {
  const std::string input = root_.directory("in");
  root_.directory("evil");
  const Spec spec = builder().input(input).build().value();
  std::filesystem::rename(input, root_ / "old");
  std::filesystem::create_symlink(root_ / "evil", input);
  struct stat held = {};
  struct stat old = {};
  ASSERT_EQ(::fstat(spec.trees().front().found.descriptor->get(), &held), 0);
  ASSERT_EQ(::stat((root_ / "old").c_str(), &old), 0);
  EXPECT_EQ(held.st_ino, old.st_ino);
}

}  // namespace
}  // namespace hermetic
