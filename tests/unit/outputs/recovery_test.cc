// Journals written by hand, of publications that stopped at any record, and recovery from them.
// That real publications write such journals is tested by tests/faults.
#include "hermetic/outputs/recovery.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>
#include <map>
#include <sstream>

#include "hermetic/base/file_tree.h"
#include "hermetic/outputs/journal.h"
#include "tests/unit/spec/property.h"
#include "tests/unit/spec/temp_dir.h"

namespace hermetic {
namespace {

using Kind = JournalRecord::Kind;
using Fate = Leftover::Fate;
using Snapshot = std::map<std::string, std::string>;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kAside = ".hermetic-00000000000000aa";
const std::string kOdd = "odd\nname \xff";

Snapshot snapshot_of(const std::string& folder) {
  Snapshot found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    std::ostringstream text;
    if (entry.is_regular_file()) text << std::ifstream(entry.path()).rdbuf();
    found.emplace(entry.path(), text.str());
  }
  return found;
}

std::vector<Leftover> recover(const TempDir& dir) {
  return recover_abandoned(dir / "base", {dir / "base", dir / "other"}).value();
}

// One leftover, of this fate.
auto only(Fate fate) { return ElementsAre(Field(&Leftover::fate, fate)); }

ObjectIdentity identity(const std::string& path) { return *identity_at(AT_FDCWD, path).value(); }
ObjectIdentity directory_identity(const std::string& path) {
  return identity_of_directory(open_directory(AT_FDCWD, path).value().get()).value();
}

// A folder with a journal, and a staging folder that it claims, in "base".
class Interrupted {
 public:
  explicit Interrupted(const TempDir& dir) {
    dir.directory("base");
    const auto nothing = [](const PrivateFolder& /*folder*/) { return Result<void>(); };
    staging_ = make_private_folder(dir / "base", nothing).value();
    journal_ = make_private_folder(dir / "base", nothing).value();
    ::chmod(journal_.path.c_str(), kJournalMode);
    std::ofstream(staging() + "/" + kClaimFile) << journal() << "\n";
    write({.kind = Kind::Header, .identity = directory_identity(journal())});
    write({.kind = Kind::Folder, .name = staging(), .identity = directory_identity(staging())});
  }

  void write(const JournalRecord& record) const { write_text(encode(record)); }
  void write_text(const std::string& text) const {
    std::ofstream(file(), std::ios::app) << text << std::flush;
  }
  std::uint32_t place(const std::string& path) {
    write({.kind = Kind::Directory, .name = path, .identity = directory_identity(path)});
    return places_++;
  }
  // The run is dead.
  void abandon() {
    journal_.descriptor.reset();
    staging_.descriptor.reset();
  }

  [[nodiscard]] const std::string& journal() const { return journal_.path; }
  [[nodiscard]] const std::string& staging() const { return staging_.path; }
  [[nodiscard]] std::string file() const { return journal() + "/" + kJournalFile; }

 private:
  PrivateFolder staging_;
  PrivateFolder journal_;
  std::uint32_t places_ = 0;
};

// A publication as a list of records, each with what is done after it was written.
struct Act {
  std::function<JournalRecord()> record;
  std::function<void()> act = [] {};
};

class Publication {
 public:
  Publication() : run(dir) {
    dir.file("w/out/old", "old");
    dir.file("w/out/" + kOdd, "old");
    dir.file("w/whole/old", "old");
    dir.file("w/precious/file", "canary");
    before = snapshot_of(dir / "w");
    std::filesystem::create_directories(run.staging() + "/tree/new");
    std::ofstream(run.staging() + "/tree/" + kOdd) << "new";
    std::filesystem::create_directories(run.staging() + "/whole");
    std::ofstream(run.staging() + "/whole/new") << "new";
    const std::uint32_t out = run.place(dir / "w/out");
    const std::uint32_t tree = run.place(run.staging() + "/tree");
    const std::uint32_t w = run.place(dir / "w");
    const std::uint32_t staging = run.place(run.staging());
    const auto move = [](const std::string& from, const std::string& to) {
      return [=] { std::filesystem::rename(from, to); };
    };
    const std::string in = run.staging() + "/tree/";
    acts = {
        {[=] { return JournalRecord{.kind = Kind::Temporary, .directory = out, .name = kAside}; }},
        {[=] {
           return JournalRecord{
               .kind = Kind::SetAside, .directory = out, .name = kOdd, .other_name = kAside};
         },
         move(dir / "w/out/" + kOdd, dir / "w/out/" + kAside)},
        {[=] {
           return JournalRecord{.kind = Kind::MoveIn,
                                .directory = out,
                                .name = kOdd,
                                .other = tree,
                                .other_name = kOdd,
                                .identity = identity(in + kOdd)};
         },
         move(in + kOdd, dir / "w/out/" + kOdd)},
        {[=] {
           return JournalRecord{.kind = Kind::MakeDirectory, .directory = out, .name = "made"};
         },
         [this] { std::filesystem::create_directory(dir / "w/out/made"); }},
        {[=, this] {
          return JournalRecord{.kind = Kind::Made,
                               .directory = out,
                               .name = "made",
                               .identity = identity(dir / "w/out/made")};
        }},
        {[=] {
           return JournalRecord{.kind = Kind::MoveIn,
                                .directory = out,
                                .name = "new",
                                .other = tree,
                                .other_name = "new",
                                .identity = identity(in + "new")};
         },
         move(in + "new", dir / "w/out/new")},
        {[=, this] {
           return JournalRecord{.kind = Kind::Exchange,
                                .directory = w,
                                .name = "whole",
                                .other = staging,
                                .other_name = "whole",
                                .identity = identity(run.staging() + "/whole")};
         },
         [this] {
           ASSERT_EQ(rename_at(AT_FDCWD, dir / "w/whole", AT_FDCWD, run.staging() + "/whole",
                               Renaming::Exchange),
                     0);
         }},
    };
  }

  // So many records are written; what the last of them announces is done or not.
  void interrupt(std::size_t records, bool last_is_done) {
    for (std::size_t i = 0; i < records; ++i) {
      run.write(acts[i].record());
      if (i + 1 < records || last_is_done) acts[i].act();
    }
    run.abandon();
  }

  const TempDir dir;
  Interrupted run;
  std::vector<Act> acts;
  Snapshot before;
};

TEST(Recovery, TakesBackWhateverWasDone) {
  for (std::size_t records = 0;; ++records) {
    for (const bool done : {false, true}) {
      Publication publication;
      if (records > publication.acts.size()) return;
      publication.interrupt(records, done);
      EXPECT_THAT(recover(publication.dir), only(Fate::TakenBack)) << records << done;
      EXPECT_EQ(snapshot_of(publication.dir / "w"), publication.before) << records << done;
      EXPECT_THAT(snapshot_of(publication.dir / "base"), IsEmpty());
      EXPECT_THAT(recover(publication.dir), IsEmpty());
    }
  }
}

TEST(Recovery, FinishesWhatWasPublished) {
  Publication publication;
  publication.interrupt(publication.acts.size(), true);
  Snapshot after = snapshot_of(publication.dir / "w");
  EXPECT_NE(after, publication.before);
  EXPECT_EQ(after.erase(publication.dir / "w/out/" + kAside), 1U);
  publication.run.write({.kind = Kind::Committed});
  EXPECT_THAT(recover(publication.dir), only(Fate::Finished));
  EXPECT_EQ(snapshot_of(publication.dir / "w"), after);
  EXPECT_THAT(snapshot_of(publication.dir / "base"), IsEmpty());
}

TEST(Recovery, DoesNotTakeBackTwice) {
  Publication publication;
  publication.interrupt(3, true);
  publication.run.write({.kind = Kind::TakenBack});
  const Snapshot now = snapshot_of(publication.dir / "w/out");
  EXPECT_THAT(recover(publication.dir), only(Fate::TakenBack));
  EXPECT_EQ(snapshot_of(publication.dir / "w/out").size(), now.size() - 1);  // but for kAside
}

TEST(Recovery, LetsALivingRunBe) {
  Publication publication;
  for (const Act& act : publication.acts) {
    publication.run.write(act.record());
    act.act();
  }
  const Snapshot now = snapshot_of(publication.dir.path());
  EXPECT_THAT(recover(publication.dir), IsEmpty());
  EXPECT_EQ(snapshot_of(publication.dir.path()), now);
}

TEST(Recovery, RemovesWhatHasNoJournalHoweverYoung) {
  const TempDir dir;
  dir.file("base/" + private_folder_prefix() + "abcdef/tree/file", "x");
  dir.file("base/.hermetic-999999999-abcdef/tree/file", "of another user");
  dir.file("base/" + private_folder_prefix() + "a file", "x");
  dir.directory("elsewhere/tree");
  dir.link("base/" + private_folder_prefix() + "link", dir / "elsewhere");
  EXPECT_THAT(recover(dir),
              ElementsAre(Leftover{.fate = Fate::Removed,
                                   .path = dir / "base/" + private_folder_prefix() + "abcdef",
                                   .detail = ""}));
  EXPECT_EQ(snapshot_of(dir / "base").size(), 5U);
  EXPECT_TRUE(std::filesystem::exists(dir / "elsewhere/tree"));
}

// A command may leave such a folder in its output. It cannot set the bit.
TEST(Recovery, FollowsNoJournalWithoutTheBitThatNoCommandCanSet) {
  Publication publication;
  publication.interrupt(publication.acts.size(), true);
  const Snapshot now = snapshot_of(publication.dir / "w");
  ::chmod(publication.run.journal().c_str(), 0700);
  const std::vector<Leftover> found = recover(publication.dir);
  EXPECT_EQ(snapshot_of(publication.dir / "w"), now);
  // Nothing but the folder itself is gone, and what it claims stays.
  EXPECT_FALSE(std::filesystem::exists(publication.run.journal()));
  EXPECT_TRUE(std::filesystem::exists(publication.run.staging() + "/whole/old"));
  for (const Leftover& leftover : found) EXPECT_NE(leftover.fate, Fate::TakenBack);
}

// As out of an archive.
TEST(Recovery, FollowsNoJournalThatWasCopied) {
  Publication publication;
  publication.interrupt(publication.acts.size(), true);
  const Snapshot now = snapshot_of(publication.dir / "w");
  const std::string copy = publication.dir.directory("base/" + private_folder_prefix() + "copied");
  std::filesystem::rename(publication.run.file(), copy + "/" + kJournalFile);
  std::filesystem::remove_all(publication.run.journal());
  ::chmod(copy.c_str(), kJournalMode);
  EXPECT_THAT(recover(publication.dir), ::testing::Each(Field(&Leftover::fate, Fate::Kept)));
  EXPECT_EQ(snapshot_of(publication.dir / "w"), now);
  EXPECT_TRUE(std::filesystem::exists(copy));
}

TEST(Recovery, KeepsWhatItsJournalIsNotThereFor) {
  Publication publication;
  publication.interrupt(publication.acts.size(), true);
  std::filesystem::remove_all(publication.run.journal());
  EXPECT_THAT(recover(publication.dir),
              ElementsAre(AllOf(Field(&Leftover::fate, Fate::Kept),
                                Field(&Leftover::detail, HasSubstr("is not there")))));
  EXPECT_TRUE(std::filesystem::exists(publication.run.staging() + "/whole/old"));
}

// A command can write all that is in such a folder but, in most trees, its mode.
TEST(Recovery, FollowsNoJournalOutsideTheFoldersForJournals) {
  for (const bool through_a_claim : {false, true}) {
    Publication publication;
    publication.interrupt(publication.acts.size(), true);
    const Snapshot now = snapshot_of(publication.dir / "w");
    const std::string others = publication.dir.directory("others");
    if (through_a_claim) {  // the journal lies where nobody looks
      const std::string moved =
          others + "/" + std::filesystem::path(publication.run.journal()).filename().string();
      std::filesystem::rename(publication.run.journal(), moved);
      std::ofstream(publication.run.staging() + "/" + kClaimFile) << moved << "\n";
    }
    const std::vector<Leftover> found =
        recover_abandoned(publication.dir / "base", {others + "/none", "/var/tmp"}).value();
    EXPECT_THAT(found, Each(Field(&Leftover::fate, Fate::Kept)));
    EXPECT_EQ(found.size(), through_a_claim ? 1U : 2U);
    EXPECT_EQ(snapshot_of(publication.dir / "w"), now);
    EXPECT_TRUE(std::filesystem::exists(publication.run.staging() + "/whole/old"));
  }
}

TEST(Recovery, KnowsTheFolderForJournalsByAnyName) {
  Publication publication;
  publication.interrupt(publication.acts.size(), true);
  publication.dir.link("linked", publication.dir / "base");
  EXPECT_THAT(recover_abandoned(publication.dir / "linked", {publication.dir / "base"}).value(),
              only(Fate::TakenBack));
}

// The journal of a folder is found through it, wherever it is.
TEST(Recovery, FindsTheJournalOfAFolder) {
  Publication publication;
  publication.interrupt(publication.acts.size(), true);
  const std::string other = publication.dir.directory("other");
  const std::string moved =
      other + "/" + std::filesystem::path(publication.run.journal()).filename().string();
  std::filesystem::rename(publication.run.journal(), moved);
  std::ofstream(publication.run.staging() + "/" + kClaimFile) << moved << "\n";
  EXPECT_THAT(recover(publication.dir), only(Fate::TakenBack));
  EXPECT_EQ(snapshot_of(publication.dir / "w"), publication.before);
  EXPECT_FALSE(std::filesystem::exists(moved));
}

// What stands in the way, and how it is put right.
struct Obstacle {
  std::function<void(const TempDir&)> put;
  std::function<void(const TempDir&)> remove;
};

void expect_kept_until_removed(const Obstacle& obstacle) {
  Publication publication;
  publication.interrupt(publication.acts.size(), true);
  obstacle.put(publication.dir);
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(recover(publication.dir), only(Fate::Kept));
    EXPECT_TRUE(std::filesystem::exists(publication.run.file()));
  }
  EXPECT_EQ(std::ifstream(publication.dir / "w/precious/file").get(), 'c');
  obstacle.remove(publication.dir);
  EXPECT_THAT(recover(publication.dir), only(Fate::TakenBack));
  EXPECT_EQ(snapshot_of(publication.dir / "w"), publication.before);
}

TEST(Recovery, ThatCannotPutEverythingBackKeepsEverything) {
  // Somebody has written a file since.
  expect_kept_until_removed(
      {[](const TempDir& dir) {
         // Made before ours goes: a file made after it can have its inode number, and within one
         // tick of the kernel's clock its birth, too.
         dir.file("theirs", "by somebody else");
         std::filesystem::rename(dir / "theirs", dir / "w/out/" + kOdd);
       },
       [](const TempDir& dir) { std::filesystem::remove(dir / "w/out/" + kOdd); }});
  // Another directory is there, or a link to one, or none.
  for (const int kind : {0, 1, 2})
    expect_kept_until_removed({[=](const TempDir& dir) {
                                 std::filesystem::rename(dir / "w/out", dir / "moved");
                                 if (kind == 0) dir.file("w/out/file", "by somebody else");
                                 if (kind == 1) dir.link("w/out", dir / "w/precious");
                               },
                               [](const TempDir& dir) {
                                 std::filesystem::remove_all(dir / "w/out");
                                 std::filesystem::rename(dir / "moved", dir / "w/out");
                               }});
}

TEST(Recovery, KeepsWhatTookThePlaceOfAWholeOutput) {
  Publication publication;
  publication.interrupt(publication.acts.size(), true);
  std::filesystem::rename(publication.dir / "w/whole", publication.dir / "aside");
  publication.dir.file("w/whole/third", "by somebody else");
  EXPECT_THAT(recover(publication.dir), only(Fate::Kept));
  EXPECT_TRUE(std::filesystem::exists(publication.dir / "w/whole/third"));
  EXPECT_TRUE(std::filesystem::exists(publication.run.staging() + "/whole/old"));
  const std::string journal = [&] {
    std::ostringstream text;
    text << std::ifstream(publication.run.file()).rdbuf();
    return text.str();
  }();
  EXPECT_THAT(journal, HasSubstr("no longer what was put there"));
}

TEST(Recovery, LeavesADirectoryThatSomebodyUses) {
  Publication publication;
  publication.interrupt(publication.acts.size(), true);
  publication.dir.file("w/out/made/file", "by somebody else");
  EXPECT_THAT(recover(publication.dir), only(Fate::TakenBack));
  EXPECT_TRUE(std::filesystem::exists(publication.dir / "w/out/made/file"));
}

TEST(Recovery, IsNotBoundByTheNumberOfDirectories) {
  const TempDir dir;
  Interrupted run(dir);
  const std::string out = dir.directory("w");
  const std::string tree = run.staging() + "/tree";
  std::filesystem::create_directory(tree);
  const std::uint32_t to = run.place(out);
  const std::uint32_t from = run.place(tree);
  for (int i = 0; i < 300; ++i) {
    const std::string name = std::to_string(i);
    std::filesystem::create_directory(out + "/" + name);
    run.write({.kind = Kind::Directory,
               .directory = to,
               .name = name,
               .identity = directory_identity(out + "/" + name)});
    std::ofstream(out + "/" + name + "/new") << "new";
    run.write({.kind = Kind::MoveIn,
               .directory = static_cast<std::uint32_t>(i) + 2,
               .name = "new",
               .other = from,
               .other_name = name,
               .identity = identity(out + "/" + name + "/new")});
  }
  run.abandon();
  EXPECT_THAT(recover(dir), only(Fate::TakenBack));
  EXPECT_EQ(snapshot_of(out).size(), 300U);
}

// Whatever the bytes of the journal: what is not of the run stays, and nothing old is lost.
TEST(RecoveryProperty, NoJournalDoesHarm) {
  check_property(100, [] {
    Publication publication;
    publication.interrupt(publication.acts.size(), true);
    std::string text = [&] {
      std::ostringstream stream;
      stream << std::ifstream(publication.run.file()).rdbuf();
      return stream.str();
    }();
    for (const std::uint32_t number : draw_numbers(6))
      text[number % text.size()] = static_cast<char>(number >> 16U);
    std::ofstream(publication.run.file(), std::ios::trunc) << text;
    const std::vector<Leftover> found = recover(publication.dir);
    RC_ASSERT(found.size() == 1U);
    const Snapshot now = snapshot_of(publication.dir.path());
    RC_ASSERT(now.at(publication.dir / "w/precious/file") == "canary");
    RC_ASSERT(now.at(publication.dir / "w/out/old") == "old");
    std::size_t old = 0;
    for (const auto& [path, content] : now) old += content == "old" ? 1 : 0;
    RC_ASSERT(old == 3U);
    const bool back = found.front().fate == Fate::TakenBack;
    RC_ASSERT(back == (snapshot_of(publication.dir / "w") == publication.before));
  });
}

}  // namespace
}  // namespace hermetic
