// Ways to what hermetic writes for itself, and to the key that it signs with: the command changes
// the record of what it did, has it written elsewhere, or signs in hermetic's name.
#include "tests/escape/escape.h"
#include "tests/unit/spec/mount_namespace.h"

namespace hermetic {
namespace {

class ProgramWayOut : public ::testing::Test {
 protected:
  ProgramWayOut() {
    dir.directory("w");
    dir.directory("low");
    dir.directory("elsewhere");
    std::ofstream spec(dir / "spec.yaml");
    spec << "version: 1\ninputs: [";
    for (const std::string& directory : toolchain_directories()) spec << "'" << directory << "', ";
    spec << "'" << dir / "in"
         << "']\n"
         << "outputs: [{path: '" << dir / "w"
         << "', publish: in_place}]\n"
         << "temps: [{path: /layered, over: ['" << dir / "low"
         << "']}]\n";
    dir.directory("in");
  }

  // What is refused below is refused for its place, or its key.
  void SetUp() override { ASSERT_EQ(run_program({}, "true").code, 0); }

  // Without a sandbox, the command alone: it finds what hermetic would have written there.
  [[nodiscard]] Plain run_program(const Words& options, const std::string& script) const {
    if (sandbox_is_open()) return run_plainly({"sh", "-c", script});
    Words words = {HERMETIC_PROGRAM, "run", "--quiet", "--spec", dir / "spec.yaml", "--dir", "/"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(), {"--", "sh", "-c", script});
    return run_plainly(words);
  }

  void make_key() const {
    if (sandbox_is_open())
      dir.file("key", "PRIVATE");
    else
      EXPECT_EQ(run_plainly({HERMETIC_PROGRAM, "key", "new", dir / "key"}).code, 0);
  }

  void expect_record_unchanged(const std::string& option, const std::string& place) const {
    SCOPED_TRACE(option);
    dir.file("w/record", "what was recorded");
    const Plain run = run_program({option, place}, "echo forged >" + dir / "w/record");
    EXPECT_EQ(content_of(dir / "w/record"), "what was recorded");
    if (!sandbox_is_open()) {
      EXPECT_EQ(run.code, 2) << "it is to be refused before anything runs";
    }
  }

  const TempDir dir;
};

using OwnPlaceWayOut = ProgramWayOut;
using KeyWayOut = ProgramWayOut;

constexpr std::array<const char*, 3> kFiles = {"--events", "--json", "--samples"};

TEST_F(OwnPlaceWayOut, RecordThroughALinkToAnOutput) {
  dir.link("alias", dir / "w");
  for (const char* option : kFiles) expect_record_unchanged(option, dir / "alias/record");
}

TEST_F(OwnPlaceWayOut, RecordThroughABindMountOfAnOutput) {
  dir.directory("alias");
  const Answer answer = ask_in_mount_namespace([&]() -> std::string {
    if (!bind_mount(dir / "w", dir / "alias")) return "cannot mount";
    dir.file("w/record", "what was recorded");
    for (const char* option : kFiles)
      (void)run_program({option, dir / "alias/record"}, "echo forged >" + dir / "w/record");
    return content_of(dir / "w/record");
  });
  SKIP_UNLESS_ANSWERED(answer);
  EXPECT_EQ(answer.text, "what was recorded");
}

// The command of the run before has made the link, and this one would have the evidence elsewhere.
TEST_F(OwnPlaceWayOut, RecordThroughALinkThatACommandMade) {
  EXPECT_EQ(run_program({}, "ln -s " + dir / "elsewhere" + " " + dir / "w/out").code, 0);
  for (const Words& option : {Words{"--events", "x"}, {"--evidence", "y"}, {"--keep-failed", "z"}})
    (void)run_program({option[0], dir / "w/out/" + option[1]},
                      "mkdir " + dir / "w/out/" + option[1]);
  EXPECT_EQ(names_of(dir / "elsewhere"), Words{});
}

TEST_F(KeyWayOut, KeyByHardLink) {
  make_key();
  dir.hard_link("in/copy", "key");
  const Plain run =
      run_program({"--evidence", dir / "evidence", "--key", dir / "key"}, "cat " + dir / "in/copy");
  EXPECT_THAT(run.text, ::testing::Not(::testing::HasSubstr("PRIVATE")));
}

TEST_F(KeyWayOut, KeyThroughALayer) {
  make_key();
  dir.hard_link("low/copy", "key");
  const Plain run = run_program({"--evidence", dir / "evidence", "--key", dir / "key"},
                                "cat " + (sandbox_is_open() ? dir / "low/copy" : "/layered/copy"));
  EXPECT_THAT(run.text, ::testing::Not(::testing::HasSubstr("PRIVATE")));
}

}  // namespace
}  // namespace hermetic
