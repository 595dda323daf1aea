#include "hermetic/spec/caller_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "hermetic/spec/spec_builder.h"
#include "tests/unit/spec/temp_dir.h"

namespace hermetic {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Words = std::vector<std::string>;

Words named_in(const std::string& text) { return programs_named_in({"/bin/bash", "-ec", text}); }

class CallerPrograms : public ::testing::Test {
 protected:
  std::string program(const std::string& name) const {
    const std::string path = dir_.file(name, "#!/bin/sh\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  // Of a command that may read some trees and looks for programs in some directories.
  static Spec spec_of(const Words& inputs, const std::string& path) {
    Draft draft;
    draft.command = {"/bin/true"};
    for (const std::string& input : inputs)
      draft.declarations.push_back({.kind = TreeKind::Input, .path = input, .exceptions = {}});
    draft.environment.set["PATH"] = path;
    Result<Spec> spec = SpecBuilder(std::move(draft)).caller_environment({}).build();
    EXPECT_TRUE(spec) << to_string(spec.error());
    return std::move(*spec);
  }

  TempDir dir_;
  std::string home_ = dir_.directory("home");
};

TEST_F(CallerPrograms, AreNamedWhereACommandStands) {
  EXPECT_THAT(programs_named_in({"cargo", "build"}), ElementsAre("cargo"));
  EXPECT_THAT(programs_named_in({"/usr/bin/make", "gcc"}), IsEmpty());
  EXPECT_THAT(named_in("cargo build; A=b make x | tee y && (cd z\n node a.js)"),
              ElementsAre("cargo", "make", "tee", "cd", "node"));
  EXPECT_THAT(named_in("if test -e x; then exec time go build; else echo 'ruby; perl'; fi"),
              ElementsAre("if", "test", "then", "exec", "time", "go", "else", "echo", "fi"));
  EXPECT_THAT(named_in("\"$CC\" -c x.c; ./configure; --x"), IsEmpty());
}

TEST_F(CallerPrograms, AnotherOneIsNamedWithWhatWouldShowIt) {
  const std::string mine = program("tool/bin/cc");
  const std::string theirs = program("system/cc");
  program("tool/bin/only");
  const CallerSearch caller{.path = dir_ / "tool/bin:" + (dir_ / "system"), .home = home_};
  const Spec spec = spec_of({dir_ / "system"}, caller.path);
  const std::vector<OtherProgram> others =
      other_programs(spec, caller, {"cc", "only", "absent", "cc"});
  ASSERT_EQ(others.size(), 2U);
  EXPECT_EQ(others[0].outside, mine);
  EXPECT_EQ(others[0].inside, theirs);
  EXPECT_THAT(others[0].inputs, ElementsAre(dir_ / "tool"));
  EXPECT_THAT(explanation_of(others[0]),
              HasSubstr("'cc' is " + theirs + " inside, and " + mine + " on the caller's PATH"));
  EXPECT_EQ(others[1].inside, "");
  EXPECT_THAT(explanation_of(others[1]), HasSubstr("'only' is not there inside"));
  // Shown, nothing is to be said; and a link to the same file is the same program.
  EXPECT_THAT(other_programs(spec_of({dir_ / "tool", dir_ / "system"}, caller.path), caller,
                             {"cc", "only"}),
              IsEmpty());
  std::filesystem::create_directories(dir_ / "links");
  std::filesystem::create_symlink(theirs, dir_ / "links/cc");
  EXPECT_THAT(other_programs(spec, {.path = dir_ / "links", .home = home_}, {"cc"}), IsEmpty());
}

TEST_F(CallerPrograms, AnEmptyPrivateDirectoryShowsNone) {
  const std::string mine = program("tool/bin/cc");
  const CallerSearch caller{.path = dir_ / "tool/bin", .home = home_};
  // Below /tmp a command may read, but finds nothing of the host's.
  const std::vector<OtherProgram> others =
      other_programs(spec_of({"/usr"}, caller.path), caller, {"cc"});
  ASSERT_EQ(others.size(), 1U);
  EXPECT_EQ(others[0].inside, "");
}

TEST_F(CallerPrograms, AShimNeedsAllOfItsManager) {
  const std::string shim = program("home/.pyenv/shims/python3");
  const CallerSearch caller{.path = dir_ / "home/.pyenv/shims", .home = home_};
  EXPECT_THAT(installation_of(shim, home_), ElementsAre(dir_ / "home/.pyenv"));
  const std::vector<OtherProgram> others =
      other_programs(spec_of({dir_ / "home/.pyenv/shims"}, caller.path), caller, {"python3"});
  ASSERT_EQ(others.size(), 1U);
  EXPECT_THAT(explanation_of(others[0]), HasSubstr("needs more than is shown of its installation"));
  EXPECT_THAT(other_programs(spec_of({dir_ / "home/.pyenv"}, caller.path), caller, {"python3"}),
              IsEmpty());
  // The version itself does not.
  const std::string version = program("home/.pyenv/versions/3.12/bin/python3");
  EXPECT_THAT(installation_of(version, home_), ElementsAre(dir_ / "home/.pyenv/versions/3.12"));
}

TEST_F(CallerPrograms, InstallationsAreNoLargerThanTheyMustBe) {
  EXPECT_THAT(installation_of(program("home/.nvm/versions/node/v20/bin/node"), home_),
              ElementsAre(dir_ / "home/.nvm/versions/node/v20"));
  EXPECT_THAT(installation_of(program("home/.local/bin/x"), home_),
              ElementsAre(dir_ / "home/.local/bin/x"));
  EXPECT_THAT(installation_of(program("home/bin/x"), home_), ElementsAre(dir_ / "home/bin/x"));
  EXPECT_THAT(installation_of("/usr/bin/env", home_), IsEmpty());
  dir_.directory("home/.rustup");
  EXPECT_THAT(installation_of(program("home/.cargo/bin/cargo"), home_),
              ElementsAre(dir_ / "home/.cargo/bin/cargo", dir_ / "home/.rustup"));
  // A link leads to the installation, and is needed itself.
  const std::string real = program("home/.local/share/pipx/venvs/black/bin/black");
  std::filesystem::create_symlink(real, dir_ / "home/.local/bin/black");
  EXPECT_THAT(
      installation_of(dir_ / "home/.local/bin/black", home_),
      ElementsAre(dir_ / "home/.local/bin/black", dir_ / "home/.local/share/pipx/venvs/black"));
}

TEST_F(CallerPrograms, AutoDeclaresWhatPathLeadsTo) {
  program("tool/bin/cc");
  program("home/.cargo/bin/cargo");
  program("home/.cargo/credentials.toml");
  dir_.directory("home/.rustup");
  program("workspace/node_modules/.bin/x");
  const CallerSearch caller{
      .path = dir_ / "tool/bin:/usr/bin:.:" + home_ + ":" + (dir_ / "home/.cargo/bin") + ":" +
              (dir_ / "workspace/node_modules/.bin") + ":" + (dir_ / "absent/bin"),
      .home = home_};
  Draft draft;
  draft.declarations.push_back(
      {.kind = TreeKind::Input, .path = dir_ / "tool/bin", .exceptions = {}});
  add_caller_toolchain(draft, caller, dir_ / "workspace");
  Words inputs;
  for (const Declaration& declaration : draft.declarations) inputs.push_back(declaration.path);
  std::ranges::sort(inputs);
  EXPECT_THAT(inputs, ElementsAre(dir_ / "home/.cargo/bin", dir_ / "home/.rustup", dir_ / "tool"));
  EXPECT_EQ(draft.environment.set.at("PATH"), caller.path);
  EXPECT_EQ(draft.environment.set.at("RUSTUP_HOME"), dir_ / "home/.rustup");
  add_caller_toolchain(draft, caller, dir_ / "workspace");
  EXPECT_EQ(draft.declarations.size(), 3U);  // once is enough
}

}  // namespace
}  // namespace hermetic
