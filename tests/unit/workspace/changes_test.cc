#include "hermetic/workspace/changes.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "hermetic/base/digest.h"
#include "hermetic/base/file_tree.h"
#include "tests/unit/spec/temp_dir.h"

namespace hermetic {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// What the overlay file system would leave, made by hand: tests/sandbox/changes_test.cc has it made
// by the kernel.
class Changes : public ::testing::Test {
 protected:
  Changes() {
    dir.directory("upper");
    dir.directory("low");
  }
  ~Changes() override { (void)remove_tree(AT_FDCWD, dir.path()); }  // what is locked, too

  void white_out(std::string_view name) const {
    ASSERT_EQ(::mknod((dir / name).c_str(), S_IFCHR, 0), 0);
  }
  void make_opaque(std::string_view name) const {
    dir.directory(name);
    ASSERT_EQ(::lsetxattr((dir / name).c_str(), "user.overlay.opaque", "y", 1, 0), 0);
  }
  void set_mode(std::string_view name, mode_t mode) const {
    ASSERT_EQ(::chmod((dir / name).c_str(), mode), 0);
  }

  // "+path" for what was added, "~" for what was modified, "-" for what was removed.
  [[nodiscard]] std::vector<std::string> changes(const std::vector<std::string>& layers = {"low"},
                                                 const std::vector<std::string>& skip = {}) const {
    std::vector<std::string> places;
    for (const std::string& layer : layers) places.push_back(dir / layer);
    const Result<std::vector<Change>> found = changes_in(dir / "upper", places, skip);
    if (!found) return {"failed: " + found.error().message};
    std::vector<std::string> lines;
    for (const Change& change : *found) {
      const char* sign = change.kind == Change::Kind::Added      ? "+"
                         : change.kind == Change::Kind::Modified ? "~"
                                                                 : "-";
      lines.push_back(sign + change.path + (change.type == "file" ? "" : " " + change.type));
    }
    return lines;
  }

  const TempDir dir;
};

TEST_F(Changes, AreNoneInAnEmptyPlace) {
  dir.file("low/file", "x");
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(Changes, SayWhatWasAddedModifiedAndRemoved) {
  dir.file("low/modified", "old");
  dir.file("low/removed", "x");
  dir.file("low/sub/removed", "x");
  dir.file("upper/modified", "new");
  dir.file("upper/added", "x");
  dir.file("upper/sub/added", "x");
  white_out("upper/removed");
  white_out("upper/sub/removed");
  EXPECT_THAT(changes(),
              ElementsAre("+added", "~modified", "-removed", "+sub/added", "-sub/removed"));
}

TEST_F(Changes, TellEverythingAboutAFile) {
  dir.file("upper/file", "content");
  set_mode("upper/file", 0640);
  dir.link("upper/link", "target");
  const std::vector<Change> found = changes_in(dir / "upper", {dir / "low"}).value();
  EXPECT_THAT(found, ElementsAre(Change{.kind = Change::Kind::Added,
                                        .path = "file",
                                        .type = "file",
                                        .mode = 0640,
                                        .size_bytes = 7,
                                        .digest = sha256("content")},
                                 Change{.kind = Change::Kind::Added,
                                        .path = "link",
                                        .type = "link",
                                        .mode = 0777,
                                        .size_bytes = 6,
                                        .digest = sha256("target")}));
  EXPECT_EQ(to_string(Change::Kind::Added), "added");
  EXPECT_EQ(to_string(Change::Kind::Modified), "modified");
  EXPECT_EQ(to_string(Change::Kind::Removed), "removed");
}

TEST_F(Changes, AreNotWhatWasOnlyTouched) {
  dir.file("low/file", "same");
  dir.file("upper/file", "same");
  const std::array<timespec, 2> old = {timespec{1, 0}, timespec{1, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, (dir / "upper/file").c_str(), old.data(), 0), 0);
  dir.link("low/link", "there");
  dir.link("upper/link", "there");
  dir.directory("low/sub");
  dir.directory("upper/sub");
  EXPECT_THAT(changes(), IsEmpty());
  dir.file("upper/file", "eams");  // of the same size
  EXPECT_THAT(changes(), ElementsAre("~file"));
}

TEST_F(Changes, AreModesToo) {
  dir.file("low/file", "same");
  dir.file("upper/file", "same");
  dir.directory("low/sub");
  dir.directory("upper/sub");
  set_mode("upper/file", 0755);
  set_mode("upper/sub", 0700);
  EXPECT_THAT(changes(), ElementsAre("~file", "~sub directory"));
}

TEST_F(Changes, OfTypeTakeAwayWhatWasBelow) {
  dir.file("low/file", "x");
  dir.file("low/sub/inner/deep", "x");
  dir.link("low/link", "file");
  make_opaque("upper/file");
  dir.file("upper/file/new", "x");
  dir.file("upper/sub", "x");
  dir.file("upper/link", "x");
  EXPECT_THAT(changes(), ElementsAre("~file directory", "+file/new", "~link", "~sub",
                                     "-sub/inner directory", "-sub/inner/deep"));
}

TEST_F(Changes, OfADirectoryThatWasRemovedNameAllOfIt) {
  dir.file("low/sub/a", "x");
  dir.file("low/sub/inner/b", "x");
  white_out("upper/sub");
  EXPECT_THAT(changes(),
              ElementsAre("-sub directory", "-sub/a", "-sub/inner directory", "-sub/inner/b"));
}

TEST_F(Changes, InAnOpaqueDirectoryAreAgainstNothingBelow) {
  dir.file("low/sub/gone", "x");
  dir.file("low/sub/same", "same");
  dir.file("low/sub/inner/gone", "x");
  dir.file("low/sub/other/gone", "x");
  make_opaque("upper/sub");
  dir.file("upper/sub/same", "same");  // removed and written again as it was
  make_opaque("upper/sub/inner");
  dir.file("upper/sub/inner/new", "x");
  EXPECT_THAT(changes(), ElementsAre("-sub/gone", "-sub/inner/gone", "+sub/inner/new",
                                     "-sub/other directory", "-sub/other/gone"));
  // The control: the same without the mark is a directory over another one.
  ASSERT_EQ(::lremovexattr((dir / "upper/sub").c_str(), "user.overlay.opaque"), 0);
  ASSERT_EQ(::lremovexattr((dir / "upper/sub/inner").c_str(), "user.overlay.opaque"), 0);
  EXPECT_THAT(changes(), ElementsAre("+sub/inner/new"));
}

// A kernel does not mark what lies in an opaque directory: nothing below can show through.
TEST_F(Changes, InADirectoryWithinAnOpaqueOneAreAgainstNothingBelow) {
  dir.file("low/sub/inner/gone", "x");
  make_opaque("upper/sub");
  dir.file("upper/sub/inner/new", "x");
  EXPECT_THAT(changes(), ElementsAre("-sub/inner/gone", "+sub/inner/new"));
}

TEST_F(Changes, OfWhatWasMadeAndRemovedAreNone) {
  white_out("upper/never-there");
  EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(Changes, AreAgainstWhatSeveralLayersShow) {
  dir.file("low/kept", "low");
  dir.file("low/hidden", "low");
  dir.file("low/replaced", "low");
  dir.file("low/sub/hidden", "low");
  dir.file("low/was/dir", "low");
  dir.directory("high");
  white_out("high/hidden");
  dir.file("high/replaced", "high");
  make_opaque("high/sub");
  dir.file("high/sub/own", "high");
  dir.file("high/was", "now a file");

  dir.file("upper/kept", "new");
  dir.file("upper/hidden", "new");
  dir.file("upper/replaced", "high");
  dir.file("upper/sub/hidden", "new");
  white_out("upper/sub/own");
  make_opaque("upper/was");
  dir.file("upper/was/dir", "low");
  EXPECT_THAT(changes({"high", "low"}), ElementsAre("+hidden", "~kept", "+sub/hidden", "-sub/own",
                                                    "~was directory", "+was/dir"));
  // The control: other layers, other changes.
  EXPECT_THAT(changes({"low"}), ElementsAre("~hidden", "~kept", "~replaced", "~sub/hidden"));
}

TEST_F(Changes, OfARemovedDirectoryAreOfAllLayersTogether) {
  dir.file("low/sub/a", "x");
  dir.file("low/sub/hidden", "x");
  dir.file("high/sub/b", "x");
  white_out("high/sub/hidden");
  white_out("upper/sub");
  EXPECT_THAT(changes({"high", "low"}), ElementsAre("-sub directory", "-sub/a", "-sub/b"));
}

TEST_F(Changes, DoNotFollowLinks) {
  dir.file("outside/secret", "secret");
  dir.link("low/link", dir / "outside");
  dir.file("low/sub/secret", "x");
  dir.link("upper/link", dir / "outside/secret");
  dir.link("upper/sub", dir / "outside");
  const std::vector<Change> found = changes_in(dir / "upper", {dir / "low"}).value();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].digest, sha256(dir / "outside/secret"));
  EXPECT_EQ(found[1].digest, sha256(dir / "outside"));
  EXPECT_EQ(found[2].path, "sub/secret");
  EXPECT_EQ(found[2].kind, Change::Kind::Removed);
}

TEST_F(Changes, OfPipesAndSocketsAreNamedAndNotRead) {
  ASSERT_EQ(::mkfifo((dir / "upper/pipe").c_str(), 0600), 0);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  (dir / "upper/socket").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(socket);
  EXPECT_THAT(changes(), ElementsAre("+pipe other", "+socket other"));
}

TEST_F(Changes, MayHaveAnyName) {
  dir.file("upper/\xff\xfe/new\nline", "x");
  dir.file("upper/-rf", "x");
  EXPECT_THAT(changes(), ElementsAre("+-rf", "+\xff\xfe directory", "+\xff\xfe/new\nline"));
}

TEST_F(Changes, SkipNamesAtTheTopOnly) {
  dir.file("low/.git/old", "x");
  dir.file("upper/.git/new", "x");
  dir.file("upper/sub/.git/new", "x");
  EXPECT_THAT(changes({"low"}, {".git"}),
              ElementsAre("+sub directory", "+sub/.git directory", "+sub/.git/new"));
  EXPECT_THAT(changes({"low"}), ::testing::Contains("+.git/new"));
}

TEST_F(Changes, AreReadThoughTheCommandHasLockedThem) {
  dir.file("upper/file", "x");
  dir.file("upper/sub/inner/file", "x");
  dir.file("upper/listed/file", "x");
  set_mode("upper/file", 0);
  set_mode("upper/listed", 0400);
  set_mode("upper/sub/inner", 0);
  set_mode("upper/sub", 0);
  set_mode("upper", 0);
  EXPECT_THAT(changes(), ElementsAre("+file", "+listed directory", "+listed/file", "+sub directory",
                                     "+sub/inner directory", "+sub/inner/file"));
  struct stat status = {};
  ASSERT_EQ(::stat((dir / "upper").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0U) << "as they were";
}

// By a command that wants its listing, or hermetic itself, to fail.
TEST_F(Changes, AreToldAsUnlistedWhereTheyLieTooDeep) {
  dir.nest("upper", "d", 3000);
  std::vector<Change> found = changes_in(dir / "upper", {dir / "low"}).value();
  ASSERT_EQ(found.size(), std::size_t{kDeepestTree} + 1);
  EXPECT_TRUE(found.back().unlisted);
  EXPECT_EQ(found.back().path.size(), std::size_t{2} * kDeepestTree + 1);
  EXPECT_FALSE(found[kDeepestTree - 1].unlisted);

  dir.nest("long", std::string(250, 'd'), 40);
  dir.file("long/other", "x");
  found = changes_in(dir / "long", {dir / "low"}).value();
  ASSERT_GT(found.size(), 10U);
  EXPECT_TRUE(found[found.size() - 2].unlisted);
  EXPECT_EQ(found.back().path, "other");
  // Also if it is none of what was changed: what lies below may be.
  dir.nest("low", std::string(250, 'd'), 40);
  found = changes_in(dir / "long", {dir / "low"}).value();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found.front().kind, Change::Kind::Modified);
  EXPECT_TRUE(found.front().unlisted);
}

TEST_F(Changes, CannotBeReadWhereThereAreNone) {
  EXPECT_FALSE(changes_in(dir / "nothing", {dir / "low"}));
  dir.link("linked", dir / "low");
  EXPECT_FALSE(changes_in(dir / "linked", {dir / "low"}));
}

}  // namespace
}  // namespace hermetic
