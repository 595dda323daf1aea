#include "hermetic/spec/spec_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/spec/temp_dir.h"

namespace hermetic {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

SpecBuilder by_name(std::vector<std::string> command = {"true"}) {
  SpecBuilder builder(std::move(command));
  builder.caller_environment({}).lookup(look_up_by_name);
  return builder;
}

SpecBuilder on_host() {
  SpecBuilder builder({"true"});
  builder.caller_environment({});
  return builder;
}

std::string outcome(const SpecBuilder& builder) {
  const Result<Spec> spec = builder.build();
  return spec ? "built" : to_string(spec.error());
}

Declaration input_at(std::string path, Origin origin) {
  return {.kind = TreeKind::Input, .path = std::move(path), .origin = std::move(origin)};
}

TEST(Build, NeedsACommand) {
  EXPECT_THAT(outcome(by_name({})), AllOf(HasSubstr("no command"), HasSubstr("hint: ")));
  EXPECT_THAT(outcome(by_name({""})), HasSubstr("no command"));
  EXPECT_EQ(outcome(by_name({"cc", ""})), "built") << "an empty argument is an argument";
  EXPECT_THAT(outcome(by_name({"cc", std::string("a\0b", 3)})),
              HasSubstr("argument 'a\\x00b' contains a NUL byte"));
  EXPECT_THAT(outcome(by_name({"cc", std::string(1U << 20U, 'x')})),
              HasSubstr("more than 1048576"));
}

TEST(Build, RefusesAHostNameThatIsNone) {
  for (const char* name : {"", "-a", "a-", ".a", "a_b", "a b", "caf\xc3\xa9", "a\nb"})
    EXPECT_THAT(outcome(by_name().hostname(name)), HasSubstr("is not a host name")) << name;
  EXPECT_THAT(outcome(by_name().hostname(std::string(64, 'a'))), HasSubstr("is not a host name"));
  EXPECT_EQ(outcome(by_name().hostname(std::string(63, 'a'))), "built");
  EXPECT_EQ(outcome(by_name().hostname("build-1.example")), "built");
}

TEST(Build, GivesUpOnlyClausesThatExist) {
  EXPECT_THAT(outcome(by_name().give_up("memory-limt")),
              AllOf(HasSubstr("no such clause"), HasSubstr("did you mean 'memory-limit'?")));
  EXPECT_EQ(outcome(by_name().give_up("memory-limit")), "built");
}

TEST(Build, RefusesATreeDeclaredTwice) {
  EXPECT_THAT(
      outcome(by_name().declare(input_at("/w", {"f", 1, 1})).declare(input_at("/w/", {"f", 2, 1}))),
      AllOf(HasSubstr("f:2:1: input '/w' (f:1:1) and input '/w' (f:2:1) declare the same tree"),
            HasSubstr("declare it once")));
  EXPECT_EQ(outcome(by_name().input("/w").input("/w/a")), "built");
}

TEST(Build, SaysHowToCarveOneTreeOutOfAnother) {
  EXPECT_THAT(outcome(by_name().input("/w").output("/w/out")),
              AllOf(HasSubstr("input '/w' and output '/w/out' overlap: both hold '/w/out'"),
                    HasSubstr("except '/w/out' from the input '/w'")));
  EXPECT_EQ(outcome(by_name().input("/w", {"/w/out"}).output("/w/out")), "built");
  EXPECT_THAT(outcome(by_name().output("/o/sub").output("/o")),
              HasSubstr("leave '/o/sub' out: '/o' covers it"));
}

TEST(Build, RefusesWhatEverySandboxHasOfItsOwn) {
  for (const char* path : {"/dev", "/dev/shm", "/proc", "/proc/self"})
    EXPECT_THAT(outcome(by_name().input(path)), HasSubstr("of its own")) << path;
  EXPECT_THAT(outcome(by_name().output("/")), HasSubstr("'/' cannot be written"));
  EXPECT_THAT(outcome(by_name().temp("/sys/fs")), HasSubstr("'/sys/fs' cannot be written"));
  EXPECT_EQ(outcome(by_name().input("/").input("/sys")), "built");
  EXPECT_EQ(outcome(by_name().temp("/devices")), "built");
}

TEST(Build, RefusesAnExceptionOutsideItsTree) {
  EXPECT_THAT(outcome(by_name().input("/w", {"/v"})),
              HasSubstr("exception '/v' is not inside '/w'"));
  EXPECT_THAT(outcome(by_name().input("/w", {"/w"})), HasSubstr("is not inside '/w'"));
  EXPECT_THAT(outcome(by_name().input("/w", {"/w/../x"})), HasSubstr("contains '..'"));
}

TEST(Build, NeedsADirectoryThatExistsInside) {
  EXPECT_THAT(
      outcome(by_name().directory("/w")),
      AllOf(HasSubstr("the directory '/w' does not exist inside"), HasSubstr("declare it")));
  EXPECT_EQ(outcome(by_name().directory("/w").input("/w")), "built");
  EXPECT_EQ(outcome(by_name().directory("/w").input("/w/src")), "built") << "on the way";
  EXPECT_EQ(outcome(by_name().directory("/w").input("/w/src").strict_outputs()), "built")
      << "it cannot be listed, but be in";
  EXPECT_EQ(by_name().build()->directory, "/");
}

TEST(Build, IgnoresHowAnInputOrTempWouldBePublished) {
  const Declaration input{
      .kind = TreeKind::Input, .path = "/w", .publish = Publish::InPlace, .type = FileType::File};
  EXPECT_EQ(by_name().declare(input).build()->digest(), by_name().input("/w").build()->digest());
}

TEST(Build, CannotTalkToTheTerminal) {
  for (const SpecBuilder& builder :
       {by_name().input("/\x1b[2J").output("/\x1b[2J/o"), by_name().input("/w", {"/\x1b[2J"}),
        by_name().directory("/\x1b[2J"), by_name().input("\x1b[2J"), by_name().give_up("\x1b[2J"),
        by_name().output("/sys/\x1b[2J"), by_name().env("\x1b[2J", ""),
        by_name().hostname("\x1b[2J")}) {
    EXPECT_NE(outcome(builder), "built");
    EXPECT_THAT(outcome(builder), Not(HasSubstr("\x1b")));
  }
}

TEST(BuildOnHost, AMissingInputSaysWhereItWasWrittenAndWhatExists) {
  const TempDir root;
  EXPECT_EQ(outcome(on_host().declare(input_at(root / "a/b", {"hermetic.yaml", 4, 5}))),
            "hermetic.yaml:4:5: input '" + root / "a/b" + "' does not exist\n  hint: '" +
                root.path() + "' is the last part that does; create it or leave the input out");
  root.directory("a/b");
  EXPECT_EQ(outcome(on_host().input(root / "a/b")), "built");
}

TEST(BuildOnHost, WhatLiesBelowAFileCannotBeDeclared) {
  const TempDir root;
  root.file("f");
  EXPECT_THAT(outcome(on_host().input(root / "f/x")), HasSubstr("does not exist"));
  EXPECT_THAT(outcome(on_host().output(root / "f/x")), HasSubstr("'" + root / "f" + "' is a file"));
}

TEST(BuildOnHost, AFileHasNoExceptions) {
  const TempDir root;
  root.file("f");
  const auto with_hole = [&](TreeKind kind, const std::string& path) {
    return outcome(on_host().declare(
        {.kind = kind, .path = path, .exceptions = {path + "/x"}, .type = FileType::File}));
  };
  for (const TreeKind kind : {TreeKind::Input, TreeKind::Output, TreeKind::Temp})
    EXPECT_THAT(with_hole(kind, root / "f"), HasSubstr("'" + root / "f" + "' is a file"));
  for (const TreeKind kind : {TreeKind::Output, TreeKind::Temp})
    EXPECT_THAT(with_hole(kind, root / "new"), HasSubstr("'" + root / "new" + "' is a file"));
  root.directory("d");
  EXPECT_EQ(with_hole(TreeKind::Temp, root / "d"), "built") << "there is a directory already";
}

TEST(BuildOnHost, AnOutputThatIsChangedInPlaceMustExist) {
  const TempDir root;
  EXPECT_THAT(outcome(on_host().output(root / "o", Publish::InPlace)),
              HasSubstr("changed in place but does not exist"));
  root.directory("o");
  EXPECT_EQ(outcome(on_host().output(root / "o", Publish::InPlace)), "built");
  Declaration with_hole{.kind = TreeKind::Output, .path = root / "o", .publish = Publish::InPlace};
  with_hole.exceptions = {root / "o/hole"};
  EXPECT_THAT(outcome(on_host().declare(with_hole)), HasSubstr("create it first"));
}

TEST(BuildOnHost, ListsTheNeighboursOfAPlaceThatMustBeMade) {
  const TempDir root;
  root.directory("w/src");
  root.file("w/main.c");
  root.link("w/latest", "src");
  const Spec spec = on_host()
                        .input(root / "w", {root / "w/out"})
                        .output(root / "w/out")
                        .output(root / "elsewhere/out")
                        .build()
                        .value();
  ASSERT_EQ(spec.trees()[1].listings.size(), 1U);
  EXPECT_EQ(spec.trees()[1].listings[0].place, root / "w");
  EXPECT_THAT(spec.trees()[1].listings[0].children,
              ElementsAre(Child{"latest", FileType::File, "src"},
                          Child{"main.c", FileType::File, std::nullopt},
                          Child{"src", FileType::Directory, std::nullopt}));
  EXPECT_THAT(spec.trees()[2].listings, IsEmpty()) << "its parent is not shown from the host";
}

TEST(BuildOnHost, ListsNothingForAPlaceThatExists) {
  const TempDir root;
  root.directory("w/out");
  const Spec spec =
      on_host().input(root / "w", {root / "w/out"}).output(root / "w/out").build().value();
  EXPECT_THAT(spec.trees()[1].listings, IsEmpty());
}

TEST(BuildOnHost, WillNotMakeAPlaceAmongTooManyNeighbours) {
  const TempDir root;
  root.directory("w");
  for (int i = 0; i < 4097; ++i) root.file("w/f" + std::to_string(i));
  Declaration output{.kind = TreeKind::Output, .path = root / "w/out", .origin = {"f", 9, 1}};
  const SpecBuilder builder = on_host().input(root / "w", {root / "w/out"}).declare(output);
  EXPECT_THAT(outcome(builder), AllOf(HasSubstr("f:9:1: "), HasSubstr("too many entries"),
                                      HasSubstr("mkdir -p '" + root / "w/out" + "'")));
  root.directory("w/out");
  EXPECT_EQ(outcome(builder), "built");
}

TEST(BuildOnHost, TakesManyDeclarations) {
  const TempDir root;
  SpecBuilder builder = on_host();
  for (int i = 0; i < 300; ++i)
    builder.input(root.directory("in/" + std::to_string(i)))
        .output(root / "out" + std::to_string(i));
  EXPECT_EQ(outcome(builder), "built");
  EXPECT_THAT(outcome(builder.output(root / "in/7/x")), HasSubstr("overlap"));
}

}  // namespace
}  // namespace hermetic
