// Journals of publications: a later run acts upon them, so a command must not be able to make one.
#include <sys/stat.h>

#include "hermetic/outputs/journal.h"
#include "hermetic/outputs/private_folder.h"
#include "hermetic/outputs/recovery.h"
#include "tests/sandbox/sandbox.h"

namespace hermetic {
namespace {

using Kind = JournalRecord::Kind;

// Says that the file was moved in from elsewhere: whoever believes it moves the file there.
std::string forged_journal(const std::string& folder, const std::string& victim,
                           const std::string& target) {
  const auto directory = [](const std::string& path) {
    const UniqueFd descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return identity_of_directory(descriptor.get()).value();
  };
  const std::string file = std::filesystem::path(victim).filename();
  return encode({.kind = Kind::Header, .identity = directory(folder)}) +
         encode({.kind = Kind::Directory,
                 .name = std::filesystem::path(victim).parent_path(),
                 .identity = directory(std::filesystem::path(victim).parent_path())}) +
         encode({.kind = Kind::Directory, .name = target, .identity = directory(target)}) +
         encode({.kind = Kind::MoveIn,
                 .directory = 0,
                 .name = file,
                 .other = 1,
                 .other_name = file,
                 .identity = *identity_at(AT_FDCWD, victim).value()});
}

TEST(Journals, NothingThatACommandMakesIsTakenForOne) {
  const TempDir dir;
  dir.file("precious/file", "canary");
  dir.directory("target");
  dir.directory("out");
  const std::string folder = dir / "out/" + private_folder_prefix() + "forged";
  run(shell("mkdir " + folder).output(dir / "out", Publish::Merge));
  // A command that knows everything about the host.
  dir.file("text", forged_journal(folder, dir / "precious/file", dir / "target"));
  const SpecBuilder forge =
      shell("cp " + dir / "text" + " " + folder + "/journal").input(dir / "text");
  for (const bool in_place : {false, true}) {
    SpecBuilder builder = forge;
    if (in_place)
      builder.output(folder, Publish::InPlace);
    else
      builder.output(dir / "out", Publish::Merge)
          .command({"sh", "-c",
                    "mkdir -p " + folder + "; cp " + dir / "text" + " " + folder + "/journal"});
    EXPECT_EQ(run(builder).ending, Ending(Exited{0}));
    EXPECT_TRUE(exists(folder + "/journal"));
  }
  // The bit that it lacks can be neither published nor set.
  const auto published =
      try_run(shell("mkdir " + folder + "; chmod 4700 " + folder).output(dir / "out"));
  EXPECT_FALSE(published);
  EXPECT_EQ(
      run(shell("chmod 4700 " + folder + " || echo refused").output(dir / "out", Publish::InPlace))
          .standard_output.text,
      "refused\n");
  for (const bool marked : {false, true}) {
    if (marked) {  // the control
      std::filesystem::create_directory(folder);
      dir.file("out/" + private_folder_prefix() + "forged/journal",
               forged_journal(folder, dir / "precious/file", dir / "target"));
      ASSERT_EQ(::chmod(folder.c_str(), kJournalMode), 0);
    }
    const std::vector<Leftover> found = recover_abandoned(dir / "out").value();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].fate, marked ? Leftover::Fate::TakenBack : Leftover::Fate::Removed);
    EXPECT_EQ(exists(dir / "precious/file"), !marked);
  }
}

}  // namespace
}  // namespace hermetic
