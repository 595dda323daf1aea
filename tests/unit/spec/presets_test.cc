#include "hermetic/spec/presets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/unit/spec/temp_dir.h"

namespace hermetic {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// A spec made by name, so that only the preset decides.
Spec built(Result<SpecBuilder> preset) {
  return preset.value().command({"make"}).lookup(look_up_by_name).build().value();
}

TEST(Toolchain, IsWhatThisHostHasOfIt) {
  const std::vector<std::string> directories = toolchain_directories();
  EXPECT_THAT(directories, Contains("/usr"));
  EXPECT_THAT(directories, Not(Contains("/etc"))) << "it holds secrets and the host's identity";
  for (const std::string& directory : directories)
    EXPECT_TRUE(std::filesystem::exists(directory)) << directory;
}

TEST(ForBuild, ReadsToolsAndSourcesAndWritesOutputAndTemp) {
  const Spec spec = built(for_build("/w", {"/w/src", "/w/include"}, "/w/out", "/w/tmp"));
  EXPECT_TRUE(spec.can_read("/usr/bin/cc"));
  EXPECT_TRUE(spec.can_read("/w/src/main.c"));
  EXPECT_FALSE(spec.can_write("/w/src/main.c"));
  EXPECT_TRUE(spec.can_write("/w/out/main.o"));
  EXPECT_TRUE(spec.can_write("/w/tmp/x"));
  EXPECT_FALSE(spec.can_read("/w/.git"));
  EXPECT_EQ(spec.directory, "/w");
  EXPECT_EQ(spec.variables().at("TMPDIR"), "/w/tmp");
  EXPECT_EQ(spec.limits, ResourceLimits::hermetic());
  EXPECT_EQ(spec.network.mode, NetworkPolicy::Mode::None);
}

TEST(ForBuild, CarvesOutputAndTempOutOfTheSources) {
  const Spec spec = built(for_build("/w", {"/w"}, "/w/build/out", "/w/build/tmp"));
  EXPECT_TRUE(spec.can_read("/w/build/CMakeLists.txt"));
  EXPECT_FALSE(spec.can_write("/w/build/CMakeLists.txt"));
  EXPECT_TRUE(spec.can_write("/w/build/out/x"));
  EXPECT_TRUE(spec.can_write("/w/build/tmp/x"));
}

TEST(ForBuild, CarvesThemOutOfTheToolchainAndOutOfEachOther) {
  const Spec in_usr =
      built(for_build("/usr/src/app", {"/usr/src/app"}, "/usr/src/app/out", "/tmp"));
  EXPECT_TRUE(in_usr.can_read("/usr/src/app/main.c"));
  EXPECT_TRUE(in_usr.can_write("/usr/src/app/out/x"));

  const Spec nested = built(for_build("/w", {"/w/src"}, "/w/out", "/w/out/tmp"));
  EXPECT_EQ(nested.decide("/w/out/tmp/x", Operation::Write).tree->declaration.kind, TreeKind::Temp);
  const Spec turned = built(for_build("/w", {"/w/src"}, "/w/tmp/out", "/w/tmp"));
  EXPECT_EQ(turned.decide("/w/tmp/out", Operation::Write).tree->declaration.kind, TreeKind::Output);
}

TEST(ForBuild, RefusesWhatCannotBeMeant) {
  const auto message = [](const Result<SpecBuilder>& preset) {
    return preset ? "accepted" : to_string(preset.error());
  };
  EXPECT_THAT(message(for_build("w", {}, "/o", "/t")), HasSubstr("relative path 'w'"));
  EXPECT_THAT(message(for_build("/w", {"src"}, "/o", "/t")), HasSubstr("relative path 'src'"));
  EXPECT_THAT(message(for_build("/w", {"/v"}, "/o", "/t")), HasSubstr("not inside the workspace"));
  EXPECT_THAT(message(for_build("/w", {"/w/out/gen"}, "/w/out", "/t")),
              HasSubstr("'/w/out/gen' lies inside '/w/out', which is written"));
  EXPECT_EQ(message(for_build("/w", {"/w//src/"}, "/o", "/t")), "accepted");
}

TEST(ForBuild, StartsWhereThereIsSomething) {
  EXPECT_EQ(built(for_build("/w", {"//w/src"}, "/o", "/t")).directory, "/w");
  EXPECT_EQ(built(for_build("/w", {}, "/w/out", "/t")).directory, "/w");
  EXPECT_EQ(built(for_build("/w", {}, "/o", "/t")).directory, "/o");
}

TEST(ForBuild, WorksOnThisHost) {
  const TempDir root;
  root.file("src/main.c");
  Result<SpecBuilder> preset = for_build(root.path(), {root.path()}, root / "out", root / "tmp");
  const Result<Spec> spec = preset.value().command({"make"}).build();
  ASSERT_TRUE(spec) << to_string(spec.error());
  EXPECT_TRUE(spec->can_read("/bin/sh"));
  EXPECT_TRUE(spec->can_write(root / "out/x"));
}

TEST(ForBuild, StandsAtAFixedPlaceWhereverTheHostHasIt) {
  const auto at = [](const std::string& root) {
    return built(
        for_build(root, {root + "/src"}, root + "/out", root + "/out/tmp", WorkspacePlace::Fixed));
  };
  const Spec spec = at("/home/u/one");
  EXPECT_TRUE(spec.can_read("/w/src/main.c"));
  EXPECT_TRUE(spec.can_write("/w/out/main.o"));
  EXPECT_EQ(spec.decide("/w/out/tmp/x", Operation::Write).tree->declaration.kind, TreeKind::Temp);
  EXPECT_EQ(spec.directory, "/w");
  EXPECT_EQ(spec.variables().at("TMPDIR"), "/w/out/tmp");
  EXPECT_FALSE(spec.can_read("/home/u/one/src/main.c"));
  const Spec other = at("/home/u/two");
  EXPECT_EQ(other.inputs(), spec.inputs());
  EXPECT_EQ(other.outputs(), spec.outputs());
  EXPECT_NE(other.digest(), spec.digest()) << "they are not the same files";
}

TEST(DefaultDraft, EntersThePlaceOfTheDirectory) {
  Draft declared;
  declared.declarations = {{.path = "/home/u/src", .at = "/w"}};
  const Draft draft = default_draft(declared, "/home/u/src/lib");
  EXPECT_EQ(draft.directory, "/w/lib");
  for (const Declaration& declaration : draft.declarations)
    EXPECT_FALSE(declaration.path.starts_with("/home/u")) << declaration.path;
}

TEST(DefaultDraft, AddsNothingOfTheHostToARoot) {
  Draft declared;
  declared.declarations = {{.path = "/srv/image", .at = "/"}};
  const Draft draft = default_draft(declared, "/home/u/src");
  EXPECT_TRUE(draft.declarations.empty());
  EXPECT_EQ(draft.directory, "/");
}

TEST(DefaultDraft, CarvesOutWhatIsWrittenInBothSpaces) {
  Draft declared;
  declared.declarations = {{.kind = TreeKind::Output, .path = "/home/u/src/out", .at = "/o"},
                           {.kind = TreeKind::Output, .path = "/home/u/x", .at = "/home/u/src/x"}};
  const Draft draft = default_draft(declared, "/home/u/src");
  EXPECT_EQ(draft.declarations.back().path, "/home/u/src");
  EXPECT_EQ(draft.declarations.back().exceptions,
            (std::vector<std::string>{"/home/u/src/out", "/home/u/src/x"}));
}

TEST(ForTest, ReadsTheWorkspaceAndWritesNothingButItsTemp) {
  const Spec spec = built(for_test("/w", "/w/tests", "/w/tests/tmp"));
  EXPECT_TRUE(spec.can_read("/w/src/main.c"));
  EXPECT_FALSE(spec.can_write("/w/src/main.c"));
  EXPECT_TRUE(spec.can_write("/w/tests/tmp/x"));
  EXPECT_TRUE(spec.outputs().empty());
  EXPECT_EQ(spec.directory, "/w/tests");
}

TEST(ForTest, ShowsTestsThatAreElsewhere) {
  const Spec spec = built(for_test("/w", "/t/tests", "/tmp"));
  EXPECT_TRUE(spec.can_read("/t/tests/a"));
  EXPECT_FALSE(spec.can_read("/t/other"));
  EXPECT_FALSE(for_test("/w", "/tmp/tests", "/tmp")) << "tests are not temporary";
}

}  // namespace
}  // namespace hermetic
