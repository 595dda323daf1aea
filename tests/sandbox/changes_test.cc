// Changes as the kernel leaves them: what a command did to a layered temp, read from its place.
#include "hermetic/workspace/changes.h"

#include <sys/stat.h>

#include "hermetic/base/file_tree.h"
#include "tests/sandbox/sandbox.h"

namespace hermetic {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RealChanges : public ::testing::Test {
 protected:
  RealChanges() {
    dir.file("low/file", "old");
    dir.file("low/gone", "x");
    dir.file("low/sub/inner/deep", "x");
    dir.file("low/sub/other", "x");
    dir.link("low/link", "file");
    for (const char* place : {"changes", "more"}) ::mkdir((dir / place).c_str(), 0700);
  }
  ~RealChanges() override {  // also what the command has locked
    for (const char* place : {"changes", "more"}) (void)remove_tree(AT_FDCWD, dir / place);
  }

  // "+added", "~modified", "-removed", after the script ran in a temp over the layers.
  [[nodiscard]] Words changes(const std::string& script, const Words& over,
                              const std::string& place = "changes") const {
    const Outcome outcome =
        run(shell("set -e; cd /w; " + script).temp_over("/w", over, dir / place));
    EXPECT_EQ(outcome.ending, Ending(Exited{0})) << outcome.standard_error.text;
    const Result<std::vector<Change>> found = changes_in(dir / (place + "/upper"), over);
    if (!found) return {"failed: " + to_string(found.error())};
    Words lines;
    for (const Change& change : *found)
      lines.push_back(std::string(1, "+~-"[static_cast<int>(change.kind)]) + change.path +
                      (change.type == "file" ? "" : " " + change.type));
    return lines;
  }
  [[nodiscard]] Words changes(const std::string& script) const {
    return changes(script, {dir / "low"});
  }

  const TempDir dir;
};

TEST_F(RealChanges, AreNoneOfACommandThatOnlyLooksAndTouches) {
  EXPECT_THAT(changes("cat file; ls -R; touch file; chmod 600 file; chmod 644 file; touch sub new; "
                      "rm new; echo changed >file; printf old >file"),
              IsEmpty());
}

TEST_F(RealChanges, OfEveryKind) {
  EXPECT_THAT(
      changes("echo new >file; rm gone; echo x >added; chmod 700 sub/other; mv link moved; "
              "ln file hard"),
      ElementsAre("+added", "~file", "-gone", "+hard", "-link link", "+moved link", "~sub/other"));
}

TEST_F(RealChanges, OfADirectoryThatWasMadeAnew) {
  EXPECT_THAT(changes("rm -r sub; mkdir sub; mkdir sub/inner; echo y >sub/inner/new; "
                      "printf x >sub/other"),
              ElementsAre("-sub/inner/deep", "+sub/inner/new"));
}

TEST_F(RealChanges, OfWhatBecameSomethingElse) {
  EXPECT_THAT(changes("rm -r sub; echo x >sub; rm file; mkdir file; echo y >file/y; rm link; "
                      "echo z >link"),
              ElementsAre("~file directory", "+file/y", "~link", "~sub", "-sub/inner directory",
                          "-sub/inner/deep", "-sub/other"));
}

TEST_F(RealChanges, OverTheChangesOfAnEarlierRun) {
  (void)changes("rm -r sub; mkdir sub; echo 1 >sub/one; rm gone; echo 2 >file");
  const Words over = {dir / "changes/upper", dir / "low"};
  EXPECT_THAT(changes("echo x >gone; rm sub/one; mkdir sub/inner; echo y >sub/inner/deep; "
                      "echo 3 >file",
                      over, "more"),
              ElementsAre("~file", "+gone", "+sub/inner directory", "+sub/inner/deep", "-sub/one"));
}

TEST_F(RealChanges, OfACommandThatLocksUpWhatItMade) {
  EXPECT_THAT(changes("mkdir -p a/b; echo x >a/b/c; echo x >secret; mkfifo pipe; "
                      "chmod 0 a/b/c a/b a secret sub; chmod 0 ."),
              ElementsAre("+a directory", "+a/b directory", "+a/b/c", "+pipe other", "+secret",
                          "~sub directory"));
}

// A command cannot make what only the file system makes for itself.
TEST_F(RealChanges, CannotBeForged) {
  EXPECT_THAT(changes("! mknod gone2 c 0 0 2>/dev/null; "
                      "! python3 -c 'import os; os.setxattr(\"sub\", \"user.overlay.opaque\", "
                      "b\"y\")' 2>/dev/null || true; ls sub/inner; echo x >sub/new"),
              ElementsAre("+sub/new"));
}

}  // namespace
}  // namespace hermetic
