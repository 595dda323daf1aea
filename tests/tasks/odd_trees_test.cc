// What commands may leave behind, taken up again by others: in each way, whichever way it was made.
#include "tests/tasks/ways.h"

namespace hermetic {
namespace {

using ::testing::IsEmpty;

// Its parameter is the way of whoever starts from what others have left.
class OddTrees : public Ways {
 protected:
  static void freeze(const std::string& script, const std::string& name, Way way,
                     const std::string& from = {}) {
    LinuxBackend backend = make_backend(way);
    Task task = set_up(backend, from).value();
    EXPECT_EQ(run_in(task, backend, script), "");
    const Result<void> frozen = task.freeze(name, *cache);
    EXPECT_TRUE(frozen) << to_string(frozen.error());
  }
};

TEST_P(OddTrees, WhatASnapshotHasRemovedStaysAway) {
  for (const Way making : {Way::Detect, Way::Copy}) {
    freeze("rm tool; echo x >/task/scratch/x; echo y >/task/scratch/y", "s", making);
    freeze("rm file /task/scratch/x", "s2", making, "s");
    LinuxBackend backend = make_backend();
    Task task = set_up(backend, "s2").value();
    EXPECT_EQ(run_in(task, backend, "ls . /task/scratch"),
              ".:\nlink\nparts\nsub\n\n/task/scratch:\ny\n");
    EXPECT_THAT(changes_of(task), IsEmpty());
  }
}

TEST_P(OddTrees, ATaskMayGoOnInTheOtherWay) {
  LinuxBackend backend = make_backend();
  LinuxBackend other = make_backend(GetParam() == Way::Copy ? Way::Detect : Way::Copy);
  Task task = set_up(backend).value();
  EXPECT_EQ(run_in(task, backend, "rm tool sub/inner; echo x >new"), "");
  EXPECT_EQ(run_in(task, other, "ls; ls sub; cat new file; rm file; echo y >sub/y"),
            "file\nlink\nnew\nparts\nsub\nx\nsecond\n");
  EXPECT_EQ(run_in(task, backend, "ls; ls sub; cat new"), "link\nnew\nparts\nsub\ny\nx\n");
  EXPECT_EQ(changes_of(task), (Words{"removed file", "added new", "removed sub/inner",
                                     "added sub/y", "removed tool"}));
}

TEST_P(OddTrees, ModesOfASnapshotAreNoChanges) {
  freeze("echo x >x; chmod 4755 x; echo y >y; chmod 1644 y; mkdir z; chmod 3777 z", "s",
         Way::Detect);
  LinuxBackend backend = make_backend();
  Task task = set_up(backend, "s").value();
  EXPECT_EQ(run_in(task, backend, "stat -c %a x y z"), "755\n1644\n1777\n");
  EXPECT_THAT(changes_of(task), IsEmpty());
}

TEST_P(OddTrees, PipesAndSocketsOfASnapshotAreThere) {
  freeze("mkfifo -m 600 pipe; python -c 'import socket; socket.socket(1).bind(\"socket\")'", "s",
         Way::Detect);
  LinuxBackend backend = make_backend();
  Task task = set_up(backend, "s").value();
  EXPECT_EQ(run_in(task, backend, "stat -c '%F %a' pipe socket; echo x >pipe & read x <pipe"),
            "fifo 600\nsocket 755\n");
  EXPECT_THAT(changes_of(task), IsEmpty());
}

TEST_P(OddTrees, SnapshotsJoinInADirectoryThatIsReadOnly) {
  freeze("mkdir d d/e; echo x >d/e/x; echo z >d/e/z; chmod 555 d d/e", "s", Way::Detect);
  freeze("chmod 755 d/e; rm d/e/z; echo y >d/e/y; chmod 555 d/e", "s2", Way::Detect, "s");
  LinuxBackend backend = make_backend();
  Task task = set_up(backend, "s2").value();
  EXPECT_EQ(run_in(task, backend, "stat -c %a d d/e; ls d/e"), "555\n555\nx\ny\n");
}

TEST_P(OddTrees, ALinkOfALowerSnapshotLeadsNobodyOut) {
  const TempDir outside;
  ASSERT_EQ(::mkdir((outside / "closed").c_str(), 0), 0);
  freeze("rm -r sub; ln -s '" + outside.path() + "' sub", "s", GetParam());
  freeze("rm sub; mkdir -p sub/closed; echo x >sub/closed/x", "s2", GetParam(), "s");
  LinuxBackend backend = make_backend();
  Task task = set_up(backend, "s2").value();
  EXPECT_EQ(run_in(task, backend, "rm -r sub/closed"), "");
  const Result<std::vector<Change>> changes = task.changes();
  ASSERT_TRUE(changes) << to_string(changes.error());
  EXPECT_EQ(changes_of(task), (Words{"removed sub/closed", "removed sub/closed/x"}));
}

TEST_P(OddTrees, WhatIsInTheScratchFolderIsListed) {
  freeze("cd /task/scratch; echo old >old; echo gone >gone; mkdir d; echo x >d/x", "s",
         Way::Detect);
  LinuxBackend backend = make_backend();
  Task task = set_up(backend, "s").value();
  EXPECT_EQ(run_in(task, backend, "cd /task/scratch; rm gone; echo y >d/y; echo new >new"), "");
  Words paths;
  const std::vector<ListedFile> entries = task.scratch_listing().value();
  for (const ListedFile& entry : entries) paths.push_back(entry.path);
  EXPECT_EQ(paths, (Words{"d/x", "d/y", "new", "old"}));
}

TEST_P(OddTrees, ChangesAreKeptOnce) {
  LinuxBackend backend = make_backend();
  Task task = set_up(backend).value();
  EXPECT_EQ(run_in(task, backend, "echo x >new"), "");
  const TempDir kept;
  EXPECT_TRUE(task.keep_changes(OwnPlace::find(kept / "changes").value()));
  EXPECT_FALSE(task.keep_changes(OwnPlace::find(kept / "again").value()));
  EXPECT_EQ(names_of(kept.path()), Words{"changes"});
}

INSTANTIATE_TEST_SUITE_P(Tasks, OddTrees, ::testing::Values(Way::Detect, Way::Copy), name_of_way);

}  // namespace
}  // namespace hermetic
