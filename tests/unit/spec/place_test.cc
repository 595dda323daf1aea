#include "hermetic/spec/place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hermetic/spec/placed_path.h"
#include "hermetic/spec/spec_builder.h"
#include "tests/unit/spec/temp_dir.h"

namespace hermetic {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

SpecBuilder placed_by_name() {
  SpecBuilder builder({"true"});
  builder.caller_environment({}).lookup(look_up_by_name);
  return builder;
}

SpecBuilder placed_on_host() {
  SpecBuilder builder({"true"});
  builder.caller_environment({});
  return builder;
}

Declaration placed_input(std::string path, std::string at,
                         std::vector<std::string> exceptions = {}) {
  return {.kind = TreeKind::Input,
          .path = std::move(path),
          .exceptions = std::move(exceptions),
          .at = std::move(at),
          .origin = {"spec.yaml", 1, 1}};
}
Declaration placed_output(std::string path, std::string at, Publish publish = Publish::Replace) {
  return {.kind = TreeKind::Output,
          .path = std::move(path),
          .publish = publish,
          .at = std::move(at),
          .origin = {"spec.yaml", 2, 1}};
}
Declaration placed_temp(std::string at, std::vector<std::string> over = {}) {
  return {.kind = TreeKind::Temp,
          .path = "",
          .over = std::move(over),
          .at = std::move(at),
          .origin = {"spec.yaml", 3, 1}};
}

std::string outcome_of_placed(const SpecBuilder& builder) {
  const Result<Spec> spec = builder.build();
  return spec ? "built" : to_string(spec.error());
}

TEST(At, DecidesByNamesInside) {
  const Spec spec = placed_by_name()
                        .declare(placed_input("/home/u/src", "/w", {"/w/secret", "/w/out"}))
                        .declare(placed_output("/home/u/out", "/w/out"))
                        .declare(placed_temp("/scratch"))
                        .build()
                        .value();
  EXPECT_TRUE(spec.can_read("/w/main.c"));
  EXPECT_FALSE(spec.can_write("/w/main.c"));
  EXPECT_TRUE(spec.can_write("/w/out/main.o"));
  EXPECT_FALSE(spec.can_read("/w/secret"));
  EXPECT_TRUE(spec.can_write("/scratch/x"));
  EXPECT_FALSE(spec.can_read("/home/u/src/main.c")) << "nothing stands there inside";
  EXPECT_FALSE(spec.can_write("/home/u/out/x"));
  EXPECT_TRUE(spec.inputs().contains("/w/main.c"));
  EXPECT_FALSE(spec.inputs().contains("/w/secret"));
  EXPECT_FALSE(spec.inputs().contains("/home/u/src/main.c"));
  EXPECT_EQ(host_name(spec.trees()[0], "/w/a/b"), "/home/u/src/a/b");
  EXPECT_EQ(inside_name(spec.trees()[0], "/home/u/src/a/b"), "/w/a/b");
}

TEST(At, WhatStandsDeeperHidesAlsoWhereItHasExceptions) {
  const Spec spec = placed_by_name()
                        .declare(placed_input("/a", "/w"))
                        .declare(placed_input("/b", "/w/b", {"/w/b/secret"}))
                        .build()
                        .value();
  EXPECT_FALSE(spec.can_read("/w/b/secret")) << "/a/b/secret is not what stands there";
  EXPECT_FALSE(spec.inputs().contains("/w/b/secret"));
  EXPECT_TRUE(spec.can_read("/w/b/x"));
}

TEST(At, OneTreeOfTheHostMayStandAtTwoPlacesAsAnInput) {
  const Spec spec = placed_by_name()
                        .declare(placed_input("/a", "/v"))
                        .declare(placed_input("/a", "/w"))
                        .build()
                        .value();
  EXPECT_TRUE(spec.can_read("/v/x"));
  EXPECT_TRUE(spec.can_read("/w/x"));
}

TEST(At, KeepsInputsAndOutputsApartOnTheHost) {
  EXPECT_THAT(
      outcome_of_placed(
          placed_by_name().declare(placed_input("/a", "/w")).declare(placed_output("/a", "/o"))),
      AllOf(HasSubstr("input '/a' at '/w' (spec.yaml:1:1) and output '/a' at '/o' "
                      "(spec.yaml:2:1) overlap on the host: both hold '/a'")));
  // What is published there would change the input.
  EXPECT_THAT(outcome_of_placed(placed_by_name()
                                    .declare(placed_input("/a", "/w"))
                                    .declare(placed_output("/a/out", "/o"))),
              AllOf(HasSubstr("overlap on the host: both hold '/a/out'"),
                    HasSubstr("except '/w/out' from the input '/a'")));
  EXPECT_EQ(outcome_of_placed(placed_by_name()
                                  .declare(placed_input("/a", "/w", {"/w/out"}))
                                  .declare(placed_output("/a/out", "/o"))),
            "built");
  EXPECT_THAT(
      outcome_of_placed(
          placed_by_name().declare(placed_output("/a", "/v")).declare(placed_output("/a/b", "/w"))),
      HasSubstr("overlap on the host: both hold '/a/b'"));
  EXPECT_THAT(outcome_of_placed(placed_by_name()
                                    .declare(placed_input("/a", "/w"))
                                    .declare(placed_output("/a", "", Publish::InPlace))),
              HasSubstr("overlap on the host"));
}

TEST(At, KeepsThemApartInside) {
  EXPECT_THAT(outcome_of_placed(placed_by_name()
                                    .declare(placed_input("/a", "/w"))
                                    .declare(placed_output("/b", "/w/out"))),
              AllOf(HasSubstr("input '/a' at '/w' (spec.yaml:1:1) and output '/b' at '/w/out' "
                              "(spec.yaml:2:1) overlap inside: both hold '/w/out'"),
                    HasSubstr("except '/w/out' from the input '/a'")));
  EXPECT_THAT(
      outcome_of_placed(
          placed_by_name().declare(placed_input("/a", "/w")).declare(placed_input("/b", "/w"))),
      HasSubstr("declare the same tree '/w'"));
  EXPECT_THAT(
      outcome_of_placed(
          placed_by_name().declare(placed_temp("/w")).declare(placed_output("/b", "/w/out"))),
      HasSubstr("overlap inside"));
}

TEST(At, TakesATempThatIsNowhereOnTheHost) {
  const Spec spec = placed_by_name().declare(placed_temp("/w")).build().value();
  EXPECT_EQ(spec.trees()[0].place, "/w");
  EXPECT_EQ(spec.trees()[0].declaration.path, "/w");
  Declaration two = placed_temp("/w");
  two.path = "/home/u/scratch";
  EXPECT_THAT(outcome_of_placed(placed_by_name().declare(two)),
              AllOf(HasSubstr("nothing of the host is in it"), HasSubstr("leave 'path' out")));
}

TEST(At, RefusesPlacesThatEverySandboxHasOfItsOwn) {
  for (const char* place : {"/dev", "/dev/null", "/dev/shm/x", "/proc", "/proc/self/fd"})
    EXPECT_THAT(outcome_of_placed(placed_by_name().declare(placed_input("/a", place))),
                HasSubstr("cannot be declared"))
        << place;
  EXPECT_THAT(outcome_of_placed(placed_by_name().declare(placed_output("/a", "/sys/x"))),
              HasSubstr("cannot be written"));
  EXPECT_THAT(outcome_of_placed(placed_by_name().declare(placed_output("/a", "/"))),
              HasSubstr("cannot be written"));
  EXPECT_THAT(outcome_of_placed(placed_by_name().declare(placed_temp("/"))),
              HasSubstr("cannot be written"));
  for (const char* path : {"/dev", "/dev/sda", "/proc", "/proc/1/root"})
    EXPECT_THAT(outcome_of_placed(placed_by_name().declare(placed_input(path, "/w"))),
                HasSubstr("cannot be declared"))
        << path << " of the host, under another name";
  EXPECT_THAT(outcome_of_placed(placed_by_name().declare(placed_output("/sys/a", "/w"))),
              HasSubstr("cannot be written"));
  EXPECT_THAT(outcome_of_placed(placed_by_name().declare(placed_output("/", "/w"))),
              HasSubstr("cannot be written"));
  EXPECT_THAT(outcome_of_placed(placed_by_name().declare(placed_input("/a", "w"))),
              HasSubstr("relative path 'w'"));
  EXPECT_THAT(outcome_of_placed(placed_by_name().declare(placed_input("/a", "/w/../x"))),
              HasSubstr(".."));
}

TEST(At, HidesTheHostsOwnUnderAnyName) {
  const Spec spec = placed_by_name().declare(placed_input("/", "/h")).build().value();
  EXPECT_TRUE(spec.can_read("/h/etc/shadow"));
  for (const char* path : {"/h/proc/1/environ", "/h/dev/sda", "/h/sys/kernel", "/h/tmp/x"})
    EXPECT_FALSE(spec.can_read(path)) << path;
}

TEST(At, TakesExceptionsByTheirNamesInside) {
  EXPECT_THAT(outcome_of_placed(placed_by_name().declare(placed_input("/a", "/w", {"/a/secret"}))),
              AllOf(HasSubstr("exception '/a/secret' is not inside '/w'"),
                    HasSubstr("names inside the sandbox")));
}

TEST(At, LeavesOutTheLinksOfTheHost) {
  const TempDir root;
  root.directory("real/src");
  root.link("alias", "real");
  const Spec spec =
      placed_on_host().declare(placed_input(root / "alias/src", "/w")).build().value();
  EXPECT_EQ(spec.trees()[0].found.real_path, root / "real/src");
  EXPECT_TRUE(spec.links().empty());
}

TEST(At, RefusesAPlaceBehindALinkOfTheHost) {
  const TempDir root;
  root.directory("real/src");
  root.directory("tool");
  root.link("alias", "real");
  EXPECT_THAT(outcome_of_placed(placed_on_host()
                                    .input(root / "alias/src")
                                    .declare(placed_input(root / "tool", root / "alias/tool"))),
              AllOf(HasSubstr("is a link to '" + root / "real" + "'"),
                    HasSubstr("name the place without links: '" + root / "real/tool" + "'")));
}

TEST(At, RefusesADeclaredLinkWhereSomethingElseStands) {
  const TempDir root;
  root.directory("real/src");
  root.directory("tool");
  root.link("alias", "real");
  EXPECT_THAT(outcome_of_placed(placed_on_host()
                                    .input(root / "alias/src")
                                    .declare(placed_input(root / "tool", root.path()))),
              AllOf(HasSubstr("leads through the link '" + root / "alias" + "' of the host"),
                    HasSubstr("name the real path '" + root / "real/src" + "'")));
}

TEST(At, RefusesTwoInputsThatALinkPutsAtOnePlace) {
  const TempDir root;
  root.directory("real");
  root.directory("tool");
  root.link("alias", "real");
  EXPECT_THAT(outcome_of_placed(placed_on_host()
                                    .input(root / "alias")
                                    .declare(placed_input(root / "tool", root / "real"))),
              HasSubstr("both stand at '" + root / "real" + "' inside"));
}

TEST(At, FindsOneObjectUnderTwoNamesOfTheHost) {
  const TempDir root;
  root.directory("out");
  root.directory("in");
  root.file("in/a", "x");
  root.hard_link("out/a", "in/a");
  EXPECT_THAT(outcome_of_placed(placed_on_host()
                                    .declare(placed_input(root / "in", "/i"))
                                    .declare(placed_output(root / "out", "/o", Publish::InPlace))),
              HasSubstr("(a hard link)"));
  root.link("alias", "in");
  EXPECT_THAT(
      outcome_of_placed(placed_on_host()
                            .declare(placed_input(root / "in", "/i"))
                            .declare(placed_output(root / "alias", "/o", Publish::InPlace))),
      HasSubstr("overlap on the host: both hold '" + root / "in" + "'"));
}

TEST(At, ShowsNoExceptionUnderAnotherName) {
  const TempDir root;
  root.file("w/secret/key", "x");
  const auto spec = [&](std::vector<std::string> exceptions) {
    return outcome_of_placed(placed_on_host()
                                 .declare(placed_input(root / "w", "/w", {"/w/secret"}))
                                 .declare(placed_input(root / "w", "/v", std::move(exceptions))));
  };
  EXPECT_THAT(spec({}), HasSubstr("except it there as well"));
  EXPECT_EQ(spec({"/v/secret"}), "built");
}

TEST(At, ATempOnTopOfAnExceptionShowsNothingOfIt) {
  const TempDir root;
  root.file("w/secret/key", "x");
  root.directory("alias");
  root.hard_link("alias/key", "w/secret/key");
  EXPECT_THAT(outcome_of_placed(placed_on_host()
                                    .input(root / "w", {root / "w/secret"})
                                    .input(root / "alias")
                                    .declare(placed_temp(root / "w/secret"))),
              HasSubstr("through a hard link"));
}

TEST(At, IsPartOfTheValue) {
  const Spec here = placed_by_name().input("/w").build().value();
  const Spec placed = placed_by_name().declare(placed_input("/w", "/v")).build().value();
  const Spec other = placed_by_name().declare(placed_input("/x", "/v")).build().value();
  EXPECT_NE(here, placed);
  EXPECT_NE(placed.digest(), other.digest()) << "where it comes from is part of it as well";
  EXPECT_THAT(placed.canonical(), HasSubstr(R"({"at":"/v","path":"/w"})"));
  EXPECT_THAT(here.canonical(), Not(HasSubstr("\"at\"")));
  EXPECT_EQ(subsumes(placed, other).witness, "use /x as /v");
  EXPECT_TRUE(subsumes(placed, placed).holds);
}

TEST(Root, IsUnderAllTheRest) {
  const Spec spec = placed_by_name()
                        .declare(as_root(placed_input("/srv/image", "")))
                        .declare(placed_output("/home/u/out", "/results"))
                        .build()
                        .value();
  EXPECT_TRUE(spec.can_read("/usr/bin/cc"));
  EXPECT_FALSE(spec.can_write("/usr/bin/cc"));
  EXPECT_TRUE(spec.can_write("/results/x"));
  EXPECT_TRUE(spec.can_write("/tmp/x"));
  EXPECT_EQ(spec.decide("/etc/passwd", Operation::Read).because, Decision::Because::BuiltIn);
  EXPECT_EQ(spec.decide("/proc/self", Operation::Read).because, Decision::Because::BuiltIn);
  EXPECT_TRUE(spec.can_read("/etc/os-release"));
}

TEST(Root, MayBeACopyThatIsWritten) {
  Declaration root = as_root({.kind = TreeKind::Temp, .path = "/srv/image"});
  const Spec spec =
      placed_by_name().declare(root).declare(placed_input("/a", "/opt/a")).build().value();
  EXPECT_TRUE(spec.can_write("/usr/bin/cc"));
  EXPECT_FALSE(spec.can_write("/opt/a/x"));
  EXPECT_TRUE(spec.can_write("/opt/b"));
  root.changes = "/srv/changes";
  EXPECT_THAT(outcome_of_placed(placed_by_name().declare(root)), HasSubstr("cannot be written"));
  EXPECT_THAT(
      outcome_of_placed(placed_by_name()
                            .declare(as_root({.kind = TreeKind::Temp, .path = "/srv/image"}))
                            .declare(placed_output("/srv/image/out", "/o"))),
      HasSubstr("a temp's layers count as inputs"));
}

}  // namespace
}  // namespace hermetic
