// Changes as the kernel leaves them: what a command did to a layered temp, read from its place.
#include "hermetic/workspace/changes.h"

#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <map>
#include <thread>

#include "hermetic/base/file_tree.h"
#include "hermetic/places/private_folder.h"
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

// What a process of another user finds there: "", or why not.
std::string other_user_reads(const std::string& path) {
  const Plain plain =
      run_plainly({"setpriv", "--reuid=65533", "--regid=65533", "--clear-groups", "cat", path});
  return plain.code == 0 ? plain.text : "refused";
}

mode_t mode_of(const std::string& path) {
  struct stat status = {};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
}

// Programs with powers of the caller would be ways out for any other user of the host.
TEST_F(RealChanges, HaveNoPowersAndLieWhereOthersCannotEnter) {
  ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod((dir / "changes").c_str(), 0755), 0);
  dir.file("low/powers", "a program");
  ASSERT_EQ(::chmod((dir / "low/powers").c_str(), 06755), 0);
  for (const Mounts mounts : {Mounts::Detect, Mounts::Classic}) {
    const Result<Finished> finished = try_run(
        shell("cd /w; echo x >made; chmod 4755 made; mkdir group; chmod 2755 group; chmod 2755 .; "
              "touch powers; mkdir locked; echo x >locked/in; chmod 4700 locked/in; "
              "chmod 000 locked; stat -c %a made")
            .temp_over("/w", {dir / "low"}, dir / "changes"),
        captured(), mounts);
    ASSERT_TRUE(finished) << to_string(finished.error());
    EXPECT_EQ(finished->outcome.standard_output.text, "4755\n") << "the bit was there meanwhile";
    EXPECT_EQ(mode_of(dir / "changes"), 0700U);
    const std::string upper = dir / "changes/upper";
    for (const auto& [name, mode] : std::map<std::string, mode_t>{
             {"/made", 0755}, {"/group", 0755}, {"", 0755}, {"/powers", 0755}, {"/locked", 0}})
      EXPECT_EQ(mode_of(upper + name), mode) << name;
    ASSERT_EQ(::chmod((upper + "/locked").c_str(), 0700), 0);
    EXPECT_EQ(mode_of(upper + "/locked/in"), 0700U);
    ASSERT_EQ(::chmod((upper + "/locked").c_str(), 0000), 0);
    if (is_root()) {
      EXPECT_EQ(other_user_reads(upper + "/made"), "refused");
      ASSERT_EQ(::chmod((dir / "changes").c_str(), 0755), 0);
      EXPECT_EQ(other_user_reads(upper + "/made"), "x\n") << "the control";
    }
    ASSERT_EQ(::chmod((upper + "/locked").c_str(), 0700), 0);
    ASSERT_TRUE(remove_tree(AT_FDCWD, upper));
    ASSERT_EQ(::chmod((dir / "changes").c_str(), 0755), 0);
  }
}

// Staged outputs, layers and what has no name: from the first moment on.
TEST_F(RealChanges, InTheMakingAreOutOfReachOfOthers) {
  ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod((dir / "changes").c_str(), 0755), 0);
  dir.directory("in");
  dir.directory("parent");
  std::atomic<bool> ended = false;
  std::thread command([&] {
    (void)try_run(shell("chmod 777 /w . ; echo x >/w/made; echo x >made; chmod 4777 /w/made made; "
                        "until [ -e " +
                        dir / "in/go" + " ]; do sleep 0.01; done")
                      .input(dir / "in")
                      .output(dir / "parent/out")
                      .directory(dir / "parent/out")
                      .temp_over("/w", {dir / "low"}, dir / "changes"));
    ended = true;
  });
  const std::string layer = dir / "changes/upper/made";
  while (!ended && (mode_of(layer) & S_ISUID) == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(ended);
  EXPECT_EQ(mode_of(dir / "changes"), 0700U);
  if (is_root()) {
    EXPECT_EQ(other_user_reads(layer), "refused");
  }
  std::size_t staged = 0;
  const std::string prefix = private_folder_prefix();
  for (const std::string& base :
       {std::string("/var/tmp"), std::string("/tmp"), dir.path(), dir / "parent"})
    for (const std::string& name : names_of(base)) {
      const std::string tree = base + "/" + name + "/tree";
      if (!name.starts_with(prefix) || !exists(tree + "/made")) continue;
      ++staged;
      EXPECT_EQ(mode_of(base + "/" + name), 0700U);
      if (is_root()) {
        EXPECT_EQ(other_user_reads(tree + "/made"), "refused");
      }
    }
  EXPECT_GE(staged, 1U);
  dir.file("in/go");
  command.join();
}

}  // namespace
}  // namespace hermetic
