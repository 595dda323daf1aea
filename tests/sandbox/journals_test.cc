// Journals of publications: a later run acts upon them, so a command must not be able to make one.
#include <sys/stat.h>

#include "hermetic/outputs/journal.h"
#include "hermetic/outputs/recovery.h"
#include "hermetic/places/private_folder.h"
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
    if (marked) {  // as if it could
      std::filesystem::create_directory(folder);
      dir.file("out/" + private_folder_prefix() + "forged/journal",
               forged_journal(folder, dir / "precious/file", dir / "target"));
      ASSERT_EQ(::chmod(folder.c_str(), kJournalMode), 0);
    }
    const std::vector<Leftover> found = recover_abandoned(dir / "out").value();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].fate, marked ? Leftover::Fate::Kept : Leftover::Fate::Removed);
    EXPECT_TRUE(exists(dir / "precious/file"));
  }
  // The control: where journals are believed.
  EXPECT_EQ(recover_abandoned(dir / "out", {dir / "out"}).value()[0].fate,
            Leftover::Fate::TakenBack);
  EXPECT_FALSE(exists(dir / "precious/file"));
}

// In a layered temp the bit can be set, and what is made there stays.
TEST(Journals, ThatACommandForgesInItsLayerAreNotFollowed) {
  const TempDir dir;
  dir.file("precious/file", "canary");
  dir.directory("target");
  dir.directory("layer");
  ASSERT_EQ(::mkdir((dir / "changes").c_str(), 0700), 0);
  const std::string name = private_folder_prefix() + "forged";
  const auto temp = [&](std::string_view script) {
    return shell("cd " + dir / "t" + "; " + std::string(script))
        .input(dir / "text")
        .temp_over(dir / "t", {dir / "layer"}, dir / "changes");
  };
  dir.file("text");
  EXPECT_EQ(run(temp("mkdir " + name)).ending, Ending(Exited{0}));
  const std::string folder = dir / "changes/upper/" + name;
  dir.file("text", forged_journal(folder, dir / "precious/file", dir / "target"));
  EXPECT_EQ(run(temp("cp " + dir / "text" + " " + name + "/journal; chmod 4700 " + name)).ending,
            Ending(Exited{0}));
  ASSERT_TRUE(exists(folder + "/journal"));
  ASSERT_EQ(::chmod(folder.c_str(), kJournalMode), 0);  // whether it could or not
  const std::vector<Leftover> found = recover_abandoned(dir / "changes/upper").value();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].fate, Leftover::Fate::Kept);
  EXPECT_TRUE(exists(dir / "precious/file"));
  EXPECT_EQ(recover_abandoned(dir / "changes/upper", {dir / "changes/upper"}).value()[0].fate,
            Leftover::Fate::TakenBack);
  EXPECT_FALSE(exists(dir / "precious/file")) << "the control: the journal is a good one";
}

// A spec under which the command could write where journals, or folders of runs, are believed.
TEST(Journals, NoCommandCanWriteWhereTheyAreBelieved) {
  const auto refusal = [](const SpecBuilder& builder) {
    const Result<Spec> spec = builder.build();
    return spec ? std::string("built") : spec.error().message;
  };
  const TempDir dir;
  dir.directory("around/cache/journals");
  dir.directory("around/other");
  ::setenv("HERMETIC_CACHE", (dir / "around/cache").c_str(), 1);
  const std::string own = "/var/tmp/" + private_folder_prefix() + "abcdef";
  for (const Publish publish : {Publish::Replace, Publish::Merge, Publish::InPlace}) {
    const std::vector<std::string> reached = {"/var/tmp",
                                              "/tmp",
                                              "/var",
                                              dir / "around",
                                              dir / "around/cache",
                                              dir / "around/cache/journals",
                                              publish == Publish::InPlace ? "/tmp" : own};
    for (const std::string& path : reached)
      EXPECT_THAT(refusal(shell("true").output(path, publish)),
                  HasSubstr("would be written where hermetic keeps what later runs believe"))
          << path;
    EXPECT_EQ(refusal(shell("true").output(dir / "around/other", publish)), "built");
  }
  EXPECT_EQ(refusal(shell("true").declare({.kind = TreeKind::Output,
                                           .path = dir / "around",
                                           .exceptions = {dir / "around/cache"},
                                           .publish = Publish::InPlace})),
            "built");
  ASSERT_EQ(::mkdir((dir / "around/cache/snapshots").c_str(), 0700), 0);
  EXPECT_THAT(refusal(shell("true").temp_over(dir / "t", {dir / "around/other"},
                                              dir / "around/cache/snapshots")),
              HasSubstr("the changes of temp"));
  ::unsetenv("HERMETIC_CACHE");
}

}  // namespace
}  // namespace hermetic
