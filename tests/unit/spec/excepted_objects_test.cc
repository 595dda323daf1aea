#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "hermetic/spec/spec_builder.h"
#include "tests/unit/spec/mount_namespace.h"
#include "tests/unit/spec/temp_dir.h"

// What an exception takes away under one name is not shown under another.
namespace hermetic {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ExceptedObjects : public ::testing::Test {
 protected:
  static SpecBuilder builder() {
    SpecBuilder builder({"true"});
    builder.caller_environment({});
    return builder;
  }
  // "built", or why not.
  static std::string outcome(const SpecBuilder& builder) {
    const Result<Spec> spec = builder.build();
    return spec ? "built" : to_string(spec.error());
  }
  // Mounts `from` on `to` first.
  static Answer outcome_with_mount(const SpecBuilder& builder, const std::string& from,
                                   const std::string& to) {
    return ask_in_mount_namespace([&]() -> std::string {
      if (!bind_mount(from, to)) return "cannot mount";
      return outcome(builder);
    });
  }

  TempDir root_;
};

TEST_F(ExceptedObjects, AHardLinkInTheSameInputIsRefused) {
  const std::string secret = root_.file("w/secret", "x");
  const std::string copy = root_.hard_link("w/deep/copy", "w/secret");
  EXPECT_THAT(outcome(builder().input(root_ / "w", {secret})),
              AllOf(HasSubstr("the exception '" + secret + "' of input '" + root_ / "w" +
                              "' is shown by input '" + root_ / "w" + "' through a hard link: '" +
                              copy + "' is '" + secret + "'"),
                    HasSubstr("hint: except '" + copy + "' as well")));
  EXPECT_EQ(outcome(builder().input(root_ / "w", {secret, copy})), "built");
  EXPECT_EQ(outcome(builder().input(root_ / "w", {secret, root_ / "w/deep"})), "built");
}

TEST_F(ExceptedObjects, AHardLinkInAnotherTreeIsRefused) {
  const std::string secret = root_.file("w/secret", "x");
  root_.hard_link("other/copy", "w/secret");
  root_.hard_link("outside/copy", "w/secret");
  const auto with = [&] { return builder().input(root_ / "w", {secret}); };
  EXPECT_EQ(outcome(with()), "built") << "the other names are not declared";
  EXPECT_THAT(outcome(with().input(root_ / "other")),
              HasSubstr("is shown by input '" + root_ / "other" + "' through a hard link"));
  EXPECT_THAT(outcome(with().output(root_ / "other", Publish::InPlace)),
              HasSubstr("is shown by output '" + root_ / "other" + "' through a hard link"));
  EXPECT_EQ(outcome(with().output(root_ / "other")), "built") << "it starts empty";
  EXPECT_THAT(outcome(with().temp_over(root_ / "t", {root_ / "other"})),
              HasSubstr("'" + root_ / "other/copy" + "' is '" + secret + "'"));
  EXPECT_THAT(outcome(with().input(root_ / "other/copy")), HasSubstr("through a hard link"));
}

TEST_F(ExceptedObjects, AFileOfAnExceptedDirectoryIsFoundByItsHardLink) {
  root_.file("w/private/deep/key", "x");
  const std::string copy = root_.hard_link("w/copy", "w/private/deep/key");
  const auto with = [&] { return builder().input(root_ / "w", {root_ / "w/private"}); };
  EXPECT_THAT(outcome(with()),
              HasSubstr("'" + copy + "' is '" + root_ / "w/private/deep/key" + "'"));
  root_.file("v/private/key", "x");
  root_.hard_link("v/private/again", "v/private/key");
  EXPECT_EQ(outcome(builder().input(root_ / "v", {root_ / "v/private"})), "built")
      << "all its names are excepted";
}

TEST_F(ExceptedObjects, AHardLinkOfAnOutputsOrATempsExceptionIsRefused) {
  const std::string kept = root_.file("out/kept", "x");
  root_.hard_link("in/copy", "out/kept");
  for (const Publish publish : {Publish::Replace, Publish::Merge, Publish::InPlace}) {
    const Declaration output{
        .kind = TreeKind::Output, .path = root_ / "out", .exceptions = {kept}, .publish = publish};
    EXPECT_THAT(outcome(builder().declare(output).input(root_ / "in")),
                HasSubstr("the exception '" + kept + "' of output '" + root_ / "out" + "'"));
  }
  const Declaration temp{.kind = TreeKind::Temp, .path = root_ / "out", .exceptions = {kept}};
  EXPECT_THAT(outcome(builder().declare(temp).input(root_ / "in")),
              HasSubstr("of temp '" + root_ / "out" + "'"));
}

// A command that may write the other name would change what it must not.
TEST_F(ExceptedObjects, AHardLinkInsideAnOutputChangedInPlaceIsRefused) {
  const std::string frozen = root_.file("out/frozen", "x");
  root_.hard_link("out/copy", "out/frozen");
  const Declaration output{.kind = TreeKind::Output,
                           .path = root_ / "out",
                           .exceptions = {frozen},
                           .publish = Publish::InPlace};
  EXPECT_THAT(outcome(builder().declare(output)), HasSubstr("through a hard link"));
}

TEST_F(ExceptedObjects, WhatIsDeclaredInAnExceptionIsMeant) {
  root_.file("w/private/shared/f", "x");
  root_.file("w/private/key", "x");
  root_.hard_link("w/f", "w/private/shared/f");
  const auto with = [&] { return builder().input(root_ / "w", {root_ / "w/private"}); };
  EXPECT_THAT(outcome(with()), HasSubstr("through a hard link")) << "the control";
  EXPECT_EQ(outcome(with().input(root_ / "w/private/shared")), "built");
  EXPECT_EQ(outcome(with().output(root_ / "w/private/shared")), "built");
  EXPECT_EQ(outcome(with().output(root_ / "w/private")), "built") << "it was carved out";
  root_.hard_link("w/private/shared/key", "w/private/key");
  EXPECT_THAT(outcome(with().input(root_ / "w/private/shared")), HasSubstr("through a hard link"))
      << "but what is not declared there has no name there either";
}

TEST_F(ExceptedObjects, AnInputAroundTheExceptionIsRefused) {
  root_.file("w/a/secret", "x");
  const auto with = [&] { return builder().input(root_ / "w/a", {root_ / "w/a/secret"}); };
  EXPECT_THAT(outcome(with().input(root_ / "w")),
              AllOf(HasSubstr("the exception '" + root_ / "w/a/secret" + "' of input '" +
                              root_ / "w/a" + "' is shown by input '" + root_ / "w" + "'"),
                    HasSubstr("hint: except it there as well")));
  EXPECT_EQ(outcome(with().input(root_ / "w", {root_ / "w/a/secret"})), "built");
  EXPECT_EQ(outcome(with().input(root_ / "w", {root_ / "w/a"})), "built");
  EXPECT_THAT(outcome(with().temp_over(root_ / "t", {root_ / "w"})),
              HasSubstr("is shown by input '" + root_ / "w" + "'"))
      << "a layer has no exceptions";
  root_.link("linked", root_ / "w");
  EXPECT_THAT(outcome(with().input(root_ / "linked")), HasSubstr("is shown by input"));
}

TEST_F(ExceptedObjects, ABindMountInTheSameInputIsRefused) {
  const std::string secret = root_.directory("w/secret");
  root_.file("w/secret/deep/key", "x");
  const std::string alias = root_.directory("w/alias");
  const SpecBuilder one = builder().input(root_ / "w", {secret});
  const Answer seen = outcome_with_mount(one, secret, alias);
  SKIP_UNLESS_ANSWERED(seen);
  EXPECT_THAT(seen.text,
              AllOf(HasSubstr("the exception '" + secret + "' of input '" + root_ / "w" +
                              "' is shown by input '" + root_ / "w" + "' through a bind mount: '" +
                              alias + "' is '" + secret + "'"),
                    HasSubstr("except '" + alias + "' as well")));
  EXPECT_EQ(outcome(one), "built") << "the control, without the mount";
  const Answer part = outcome_with_mount(one, secret + "/deep", alias);
  EXPECT_THAT(part.text, HasSubstr("'" + alias + "' is '" + secret + "/deep'"));
  const Answer above = outcome_with_mount(one, root_ / "w", alias);
  EXPECT_THAT(above.text, HasSubstr("'" + alias + "/secret' is '" + secret + "'"));
  const SpecBuilder both = builder().input(root_ / "w", {secret, alias});
  EXPECT_EQ(outcome_with_mount(both, secret, alias).text, "built");
}

TEST_F(ExceptedObjects, ABindMountOfAFileIsRefused) {
  const std::string secret = root_.file("w/secret", "x");
  const std::string alias = root_.file("other/alias", "");
  const SpecBuilder spec = builder().input(root_ / "w", {secret}).input(root_ / "other");
  const Answer seen = outcome_with_mount(spec, secret, alias);
  SKIP_UNLESS_ANSWERED(seen);
  EXPECT_THAT(seen.text, HasSubstr("'" + alias + "' is '" + secret + "'"));
}

TEST_F(ExceptedObjects, AnExceptionBelowABindMountIsFoundWhereItReallyIs) {
  const std::string real = root_.directory("real");
  root_.file("real/secret", "x");
  const std::string alias = root_.directory("alias");
  const SpecBuilder one = builder().input(alias, {alias + "/secret"});
  const Answer control = outcome_with_mount(one, real, alias);
  SKIP_UNLESS_ANSWERED(control);
  EXPECT_EQ(control.text, "built");
  const SpecBuilder two = builder().input(alias, {alias + "/secret"}).input(real);
  EXPECT_THAT(outcome_with_mount(two, real, alias).text,
              HasSubstr("'" + real + "/secret' is '" + alias + "/secret'"));
  const SpecBuilder layered =
      builder().input(alias, {alias + "/secret"}).temp_over(root_ / "t", {real});
  EXPECT_THAT(outcome_with_mount(layered, real, alias).text,
              HasSubstr("'" + real + "/secret' is '" + alias + "/secret'"));
}

TEST_F(ExceptedObjects, AMountInsideTheExceptionIsTakenAwayWithIt) {
  const std::string data = root_.directory("data");
  const std::string inner = root_.directory("w/secret/data");
  const SpecBuilder spec = builder().input(root_ / "w", {root_ / "w/secret"}).input(root_ / "data");
  const Answer seen = outcome_with_mount(spec, data, inner);
  SKIP_UNLESS_ANSWERED(seen);
  EXPECT_THAT(seen.text, HasSubstr("'" + data + "' is '" + inner + "'"));
}

// One name of a directory that a mount gives two: its file has one link there, and not two.
TEST_F(ExceptedObjects, ADirectoryThatIsExceptedTwiceDoesNotExplainAHardLink) {
  root_.file("w/a/key", "x");
  root_.hard_link("w/copy", "w/a/key");
  const std::string alias = root_.directory("w/b");
  for (const std::string& file : {std::string(), std::string("/key")}) {
    const SpecBuilder spec =
        builder().input(root_ / "w", {root_ / "w/a" + file, root_ / "w/b" + file});
    const Answer seen = outcome_with_mount(spec, root_ / "w/a", alias);
    SKIP_UNLESS_ANSWERED(seen);
    EXPECT_THAT(seen.text, HasSubstr("through a hard link")) << file;
  }
}

TEST_F(ExceptedObjects, WhatDoesNotExistHasNoOtherName) {
  root_.file("w/f", "x");
  root_.hard_link("w/g", "w/f");
  EXPECT_EQ(outcome(builder().input(root_ / "w", {root_ / "w/missing"})), "built");
}

TEST_F(ExceptedObjects, AnInputAroundThePrivateTmpDoesNotShowTheHostsFilesThere) {
  std::string place = "/tmp/hermetic-test-XXXXXX";
  ASSERT_NE(::mkdtemp(place.data()), nullptr);
  const std::string secret = place + "/secret";
  ASSERT_EQ(::mkdir(secret.c_str(), 0700), 0);
  EXPECT_EQ(outcome(builder().input("/", {"/proc"}).input(place, {secret})), "built");
  ASSERT_EQ(::rmdir(secret.c_str()), 0);
  ASSERT_EQ(::rmdir(place.c_str()), 0);
}

}  // namespace
}  // namespace hermetic
