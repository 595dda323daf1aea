// Ways to an object by another of its names, and ways by which what a command has left is believed
// or started later.
#include <sys/stat.h>

#include "hermetic/outputs/journal.h"
#include "hermetic/outputs/recovery.h"
#include "hermetic/places/private_folder.h"
#include "tests/escape/escape.h"
#include "tests/unit/spec/mount_namespace.h"

namespace hermetic {
namespace {

class ObjectWayOut : public ::testing::Test {
 protected:
  // The command is given the exceptions, or, without a sandbox, nothing that could keep it away.
  void expect_unread(const Words& exceptions, const std::string& file) {
    SpecBuilder builder = sandboxed({"cat", file})
                              .input(dir / "w", sandbox_is_open() ? Words() : exceptions)
                              .input(dir / "other");
    const Attempt inside = attempt(builder);
    EXPECT_EQ(inside.output, "");
    if (sandbox_is_open()) return;
    EXPECT_THAT(inside.refusal, ::testing::HasSubstr("the exception '"));
    EXPECT_THAT(inside.refusal, ::testing::HasSubstr(file));
  }

  const TempDir dir;
};

TEST_F(ObjectWayOut, HardLinkOfAnException) {
  dir.file("w/secret", "canary");
  dir.hard_link("w/copy", "w/secret");
  dir.hard_link("other/copy", "w/secret");
  expect_unread({dir / "w/secret", dir / "w/copy"}, dir / "other/copy");
  std::filesystem::remove(dir / "other/copy");
  expect_unread({dir / "w/secret"}, dir / "w/copy");
}

TEST_F(ObjectWayOut, HardLinkIntoAnExceptedDirectory) {
  dir.file("w/private/deep/key", "canary");
  dir.hard_link("w/copy", "w/private/deep/key");
  dir.directory("other");
  expect_unread({dir / "w/private"}, dir / "w/copy");
}

TEST_F(ObjectWayOut, BindMountOfAnException) {
  dir.file("w/private/key", "canary");
  const std::string alias = dir.directory("w/alias");
  dir.directory("other");
  const Answer answer = ask_in_mount_namespace([&]() -> std::string {
    if (!bind_mount(dir / "w/private", alias)) return "cannot mount";
    const Attempt inside =
        attempt(sandboxed({"cat", alias + "/key"})
                    .input(dir / "w", sandbox_is_open() ? Words() : Words{dir / "w/private"}));
    return inside.output.empty() ? inside.refusal : "read " + inside.output;
  });
  SKIP_UNLESS_ANSWERED(answer);
  EXPECT_THAT(answer.text, ::testing::HasSubstr("through a bind mount: '" + alias + "' is '"));
}

TEST_F(ObjectWayOut, LayerAroundAnException) {
  dir.file("w/private/key", "canary");
  SpecBuilder builder =
      sandboxed({"cat", sandbox_is_open() ? dir / "w/private/key" : "/layered/private/key"});
  builder.input(dir / "w", sandbox_is_open() ? Words() : Words{dir / "w/private"});
  if (!sandbox_is_open()) builder.temp_over("/layered", {dir / "w"});
  EXPECT_EQ(attempt(builder).output, "");
}

// What another user would start with the caller's powers.
TEST_F(ObjectWayOut, SetuidProgramKeptFromALayer) {
  dir.directory("low");
  dir.directory("changes/upper");
  ASSERT_EQ(::chmod(dir.path().c_str(), 0755), 0);
  const std::string place = sandbox_is_open() ? dir / "changes/upper" : "/layered";
  SpecBuilder builder = shell("cp /bin/true " + place + "/x; chmod 6755 " + place + "/x");
  if (!sandbox_is_open()) builder.temp_over(place, {dir / "low"}, dir / "changes");
  EXPECT_EQ(attempt(builder).ending, Ending(Exited{0}));
  struct stat program = {};
  struct stat folder = {};
  ASSERT_EQ(::stat((dir / "changes/upper/x").c_str(), &program), 0);
  ASSERT_EQ(::stat((dir / "changes").c_str(), &folder), 0);
  EXPECT_EQ(program.st_mode & 07777U, 0755U);
  EXPECT_EQ(folder.st_mode & 07777U, 0700U);
}

// Whoever follows it moves a file of the caller's to where the command likes it.
TEST_F(ObjectWayOut, JournalForgedInALayer) {
  dir.file("precious/file", "canary");
  dir.directory("low");
  const std::string name = private_folder_prefix() + "forged";
  const std::string folder = dir.directory("changes/upper/" + name);
  const auto identity = [](const std::string& path) {
    const UniqueFd descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return identity_of_directory(descriptor.get()).value();
  };
  using Kind = JournalRecord::Kind;
  const std::string text =
      encode({.kind = Kind::Header, .identity = identity(folder)}) +
      encode({.kind = Kind::Directory,
              .name = dir / "precious",
              .identity = identity(dir / "precious")}) +
      encode({.kind = Kind::Directory, .name = dir / "low", .identity = identity(dir / "low")}) +
      encode({.kind = Kind::MoveIn,
              .directory = 0,
              .name = "file",
              .other = 1,
              .other_name = "file",
              .identity = *identity_at(AT_FDCWD, dir / "precious/file").value()});
  dir.file("text", text);
  const std::string place = sandbox_is_open() ? dir / "changes/upper" : "/layered";
  SpecBuilder builder =
      shell("cd " + place + "; cp " + dir / "text" + " " + name + "/journal; chmod 4700 " + name)
          .input(dir / "text");
  if (!sandbox_is_open()) builder.temp_over(place, {dir / "low"}, dir / "changes");
  EXPECT_EQ(attempt(builder).ending, Ending(Exited{0}));
  EXPECT_TRUE(exists(folder + "/journal"));
  ASSERT_EQ(::chmod(folder.c_str(), kJournalMode), 0);  // or a user who restores it from an archive
  // Without this defence journals were followed wherever they lay.
  const std::vector<Leftover> found =
      sandbox_is_open() ? recover_abandoned(dir / "changes/upper", {dir / "changes/upper"}).value()
                        : recover_abandoned(dir / "changes/upper").value();
  EXPECT_EQ(found.size(), 1U);
  EXPECT_EQ(content_of(dir / "precious/file"), "canary");
}

}  // namespace
}  // namespace hermetic
