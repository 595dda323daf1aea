#include "hermetic/spec/layers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "hermetic/spec/loader.h"
#include "hermetic/spec/spec_builder.h"
#include "tests/unit/spec/temp_dir.h"

namespace hermetic {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

SpecBuilder named() {
  SpecBuilder builder({"true"});
  builder.caller_environment({}).lookup(look_up_by_name);
  return builder;
}

SpecBuilder plain() {
  SpecBuilder builder({"true"});
  builder.caller_environment({});
  return builder;
}

std::string outcome_of_layers(const SpecBuilder& builder) {
  const Result<Spec> spec = builder.build();
  return spec ? "built" : to_string(spec.error());
}

Declaration layered(std::string path, std::vector<std::string> over) {
  return {.kind = TreeKind::Temp, .path = std::move(path), .over = std::move(over)};
}

TEST(Layers, AreLookedUpInTheirOrder) {
  const Spec spec = named().temp_over("/w", {"/upper", "/low//er/"}, "/c/.").build().value();
  const Tree& tree = spec.trees().front();
  EXPECT_THAT(tree.declaration.over, ElementsAre("/upper", "/low/er"));
  EXPECT_EQ(tree.declaration.changes, "/c");
  EXPECT_EQ(tree.over.size(), 2U);
  EXPECT_TRUE(spec.can_write("/w/any"));
  EXPECT_FALSE(spec.can_read("/low/er"));
  EXPECT_FALSE(spec.can_read("/c"));
}

TEST(Layers, MayBeTheVeryPathThatTheyAreShownAt) {
  EXPECT_EQ(outcome_of_layers(named().temp_over("/w", {"/w"})), "built");
}

TEST(Layers, MayBeSharedAndMayBeInputs) {
  EXPECT_EQ(
      outcome_of_layers(named().input("/low").temp_over("/a", {"/low"}).temp_over("/b", {"/low"})),
      "built");
}

TEST(Layers, AreNothingThatTheCommandWrites) {
  for (const char* output : {"/low", "/low/part", "/"})
    EXPECT_THAT(
        outcome_of_layers(named().temp_over("/w", {"/low"}).output(output, Publish::InPlace)),
        HasSubstr(output == std::string("/") ? "cannot be written" : "overlap"))
        << output;
  EXPECT_THAT(outcome_of_layers(named().temp_over("/w", {"/low"}, "/low/changes")),
              HasSubstr("overlap"));
  EXPECT_THAT(outcome_of_layers(named().temp_over("/w", {"/c/low"}, "/c")), HasSubstr("overlap"));
}

TEST(Layers, ChangesAreShownToNobodyAndKeptForOne) {
  EXPECT_THAT(outcome_of_layers(named().temp_over("/w", {"/low"}, "/in/changes").input("/in")),
              AllOf(HasSubstr("overlap"), HasSubstr("hint: take other directories")));
  EXPECT_THAT(
      outcome_of_layers(named().temp_over("/a", {"/low"}, "/c").temp_over("/b", {"/low"}, "/c")),
      HasSubstr("overlap"));
}

TEST(Layers, LeaveNoRoomForOtherDeclarations) {
  for (SpecBuilder other :
       {named().input("/w/in"), named().output("/w/out"), named().temp("/w/temp")})
    EXPECT_THAT(outcome_of_layers(other.declare(layered("/w", {"/low"}))), HasSubstr("/w"));
  Declaration carved = layered("/w", {"/low"});
  carved.exceptions = {"/w/part"};
  EXPECT_THAT(outcome_of_layers(named().declare(carved)), HasSubstr("and has exceptions"));
  Declaration file = layered("/w", {"/low"});
  file.type = FileType::File;
  EXPECT_THAT(outcome_of_layers(named().declare(file)), HasSubstr("and is a file"));
}

TEST(Layers, AreNeededForChanges) {
  EXPECT_THAT(outcome_of_layers(named().temp_over("/w", {}, "/c")), HasSubstr("but of nothing"));
}

TEST(Layers, AreNotTooMany) {
  std::vector<std::string> many;
  for (int i = 0; i < 64; ++i) many.push_back("/low" + std::to_string(i));
  EXPECT_EQ(outcome_of_layers(named().temp_over("/w", many)), "built");
  many.emplace_back("/one/more");
  EXPECT_THAT(outcome_of_layers(named().temp_over("/w", many)),
              HasSubstr("65 layers, more than 64"));
}

TEST(Layers, ArePartOfTheDigestAndTheirChangesAreNot) {
  const auto digest = [](const SpecBuilder& builder) { return builder.build().value().digest(); };
  const std::string one = digest(named().temp_over("/w", {"/a", "/b"}));
  EXPECT_NE(one, digest(named().temp_over("/w", {"/b", "/a"})));
  EXPECT_NE(one, digest(named().temp("/w")));
  EXPECT_EQ(one, digest(named().temp_over("/w", {"/a", "/b"}, "/c")));
}

TEST(LayersOnHost, AreDirectoriesThatExist) {
  const TempDir dir;
  dir.file("file", "");
  EXPECT_THAT(outcome_of_layers(plain().temp_over("/w", {dir / "none"})),
              HasSubstr("does not exist"));
  EXPECT_THAT(outcome_of_layers(plain().temp_over("/w", {dir / "file"})),
              HasSubstr("is not a directory"));
  EXPECT_EQ(outcome_of_layers(plain().temp_over("/w", {dir.path()})), "built");
}

TEST(LayersOnHost, ChangesGoWhereNobodyElseCanWrite) {
  const TempDir dir;
  const std::string low = dir.directory("low");
  const std::string changes = dir.directory("changes");
  ASSERT_EQ(::chmod(changes.c_str(), 0755), 0);
  EXPECT_EQ(outcome_of_layers(plain().temp_over("/w", {low}, changes)), "built");
  for (const mode_t mode : {0775U, 0757U, 01777U}) {
    ASSERT_EQ(::chmod(changes.c_str(), mode), 0);
    EXPECT_THAT(outcome_of_layers(plain().temp_over("/w", {low}, changes)),
                HasSubstr("others can write there"));
  }
}

// A link to a layer is the layer.
TEST(LayersOnHost, AreComparedAsObjects) {
  const TempDir dir;
  const std::string low = dir.directory("low");
  const std::string out = dir.directory("low/out");
  ASSERT_EQ(::symlink("low", (dir / "link").c_str()), 0);
  EXPECT_THAT(
      outcome_of_layers(plain().temp_over("/w", {dir / "link"}).output(out, Publish::InPlace)),
      HasSubstr("overlap"));
}

TEST(LayersInAFile, AreOneOrAList) {
  const auto over = [](const std::string& text) {
    const Result<Project> project = parse_project(
        "version: 1\ncommand: [sh]\ntemps:\n  - {path: /w, " + text + "}\n", "spec.yaml", "/here");
    return project ? project->defaults.declarations.front().over
                   : std::vector{to_string(project.error())};
  };
  EXPECT_THAT(over("over: /low"), ElementsAre("/low"));
  EXPECT_THAT(over("over: [$here/a, /b], changes: /c"), ElementsAre("/here/a", "/b"));
  EXPECT_THAT(over("over: [/a, /a]"), ElementsAre(HasSubstr("/a")));
  EXPECT_THAT(over("over: {a: b}"), ElementsAre(HasSubstr("spec.yaml:4:")));
  EXPECT_THAT(over("over: relative"), ElementsAre(HasSubstr("relative")));
}

}  // namespace
}  // namespace hermetic
