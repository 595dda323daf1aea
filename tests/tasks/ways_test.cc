// Tasks are the same whatever keeps their layers as they are: the overlay file system, or, where a
// kernel has none, a copy of every file.
#include "tests/tasks/ways.h"

namespace hermetic {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_P(Ways, GitWorksInTheWorktreeAndTheSourceStaysAsItIs) {
  const std::string before = story_of_source();
  LinuxBackend backend = make_backend();
  Task task = set_up(backend).value();
  EXPECT_EQ(run_in(task, backend, "git diff-files; git -C parts/library diff-files"), "")
      << "git would have to read every file";
  EXPECT_EQ(run_in(task, backend, "git status --porcelain; git log --format=%s; cat file"),
            "second\nfirst\nsecond\n");
  EXPECT_EQ(run_in(task, backend,
                   "echo third >file; rm sub/inner; echo new >new; git diff --name-status; "
                   "git add -A; git commit -q -m third; git log --format=%s; git status --short; "
                   "git -C parts/library log --format=%s; git worktree list | wc -l"),
            "M\tfile\nD\tsub/inner\nthird\nsecond\nfirst\nlib\n1\n");
  EXPECT_EQ(changes_of(task), (Words{"modified file", "added new", "removed sub/inner"}));
  EXPECT_THAT(task.clean_up().left, IsEmpty());
  EXPECT_EQ(story_of_source(), before);
}

TEST_P(Ways, TheCallerSeesTheWorktreeAndChangesIt) {
  const std::string before = story_of_source();
  LinuxBackend backend = make_backend();
  Task task = set_up(backend).value();
  EXPECT_EQ(run_in(task, backend, "echo early >new; rm tool; git commit -q -a -m third"), "");
  ASSERT_TRUE(task.show_worktree());
  const std::string tree = task.worktree_path();
  EXPECT_EQ(content_of(tree + "/new"), "early\n");
  const Plain said = run_plainly(
      {"sh", "-ec",
       "cd \"$1\"; git log --format=%s; git status --porcelain; echo mine >file; rm new; "
       "git -C parts/library log --format=%s; git add -A; "
       "git -c user.name=n -c user.email=n@localhost commit -q -m mine; git status --porcelain",
       "sh", tree});
  EXPECT_EQ(said.text, "second\nfirst\n D tool\n?? new\nlib\n");
  EXPECT_EQ(run_in(task, backend,
                   "cat file; test ! -e new; test ! -e tool; echo theirs >sub/inner; "
                   "git log -1 --format=%s"),
            "mine\nthird\n");
  EXPECT_EQ(content_of(tree + "/sub/inner"), "theirs\n");
  EXPECT_EQ(changes_of(task), (Words{"modified file", "modified sub/inner", "removed tool"}));
  EXPECT_THAT(task.clean_up().left, IsEmpty());
  EXPECT_EQ(story_of_source(), before);
}

TEST_P(Ways, TheWorktreeIsTheSameAndSoIsTheRecord) {
  LinuxBackend overlay = make_backend(Way::Detect);
  LinuxBackend backend = make_backend();
  Task usual = set_up(overlay).value();
  Task task = set_up(backend).value();
  const std::string story = run_in(usual, overlay, kStory);
  EXPECT_THAT(story, HasSubstr("./parts/library/lib f 644 4 "));
  EXPECT_EQ(run_in(task, backend, kStory), story);
  EXPECT_THAT(changes_of(task), IsEmpty());
  EXPECT_EQ(task.stable_hash().value(), usual.stable_hash().value());
}

TEST_P(Ways, TheEnvironmentIsOneOfItsOwn) {
  LinuxBackend backend = make_backend();
  for (int i = 0; i < 2; ++i) {
    Task task = set_up(backend).value();
    EXPECT_EQ(run_in(task, backend,
                     "python -c 'import sys; print(sys.prefix)'; pip --version | cut -d' ' -f1; "
                     "! test -e /task/venv/mine; echo mine >/task/venv/mine; "
                     "! test -e /task/scratch/mine; echo mine >/task/scratch/mine"),
              "/task/venv\npip\n");
  }
}

TEST_P(Ways, NoTwoTasksMeet) {
  LinuxBackend backend = make_backend();
  Task one = set_up(backend).value();
  Task other = set_up(backend).value();
  EXPECT_EQ(run_in(one, backend, "echo one >file; git commit -q -a -m one"), "");
  EXPECT_EQ(run_in(other, backend, "cat file; git log --format=%s -1"), "second\nsecond\n");
  EXPECT_EQ(run_in(one, backend, "cat file; git log --format=%s -1"), "one\none\n");
}

TEST_P(Ways, KeepWhatWasChangedAndNothingElse) {
  LinuxBackend backend = make_backend();
  Task task = set_up(backend).value();
  EXPECT_EQ(run_in(task, backend,
                   "echo third >file; rm tool; rm -r parts; mkdir -p new/er; echo x >new/er/x; "
                   "chmod 500 new/er; chmod 0 new; touch .gitattributes; mv sub/inner sub/outer"),
            "");
  const TempDir kept;
  EXPECT_FALSE(task.keep_changes(OwnPlace::find(kept / "none/there").value()));
  EXPECT_EQ(run_in(task, backend, "cat file"), "third\n") << "it is as it was";
  ASSERT_TRUE(task.keep_changes(OwnPlace::find(kept / "changes").value()));
  EXPECT_EQ(content_of(kept / "changes/file"), "third\n");
  const Plain names = run_plainly(
      {"sh", "-c", "chmod 755 \"$1/new\"; cd \"$1\"; find . -printf '%p %y %m\\n' | sort", "sh",
       kept / "changes"});
  const std::string common =
      "./file f 644\n./new d 755\n./new/er d 500\n./new/er/x f 644\n./parts c 0\n./sub d 755\n"
      "./sub/inner c 0\n./sub/outer f 644\n./tool c 0\n";
  const std::string touched = GetParam() == Way::Copy ? "" : "./.gitattributes f 644\n";
  EXPECT_EQ(names.text, ". d 755\n" + touched + common);
  EXPECT_EQ(run_in(task, backend, "cat file"), "second\n") << "it starts anew";
}

// Frozen in one way and used in another: a host may have lost the file system since.
TEST_P(Ways, StartFromASnapshotWhicheverWayThatWasMade) {
  for (const Way making : {Way::Detect, Way::Copy}) {
    LinuxBackend maker = make_backend(making);
    Task setup = set_up(maker).value();
    EXPECT_EQ(run_in(setup, maker,
                     "echo prepared >file; rm sub/inner; git commit -q -a -m prepared; "
                     "echo ready >/task/scratch/ready; echo there >/task/venv/there"),
              "");
    ASSERT_TRUE(setup.freeze("s", *cache));
    LinuxBackend backend = make_backend();
    for (int i = 0; i < 2; ++i) {
      Task task = set_up(backend, "s").value();
      EXPECT_EQ(run_in(task, backend,
                       "git status --short; git log --format=%s -1; cat file /task/scratch/ready "
                       "/task/venv/there; ! test -e sub/inner; echo mine >file; rm tool"),
                "prepared\nprepared\nready\nthere\n");
      EXPECT_EQ(changes_of(task), (Words{"modified file", "removed tool"}));
    }
  }
}

TEST_P(Ways, LeaveNothing) {
  LinuxBackend backend = make_backend();
  {
    Task task = set_up(backend).value();
    EXPECT_EQ(run_in(task, backend, "mkdir -p deep/er; echo x >deep/er/x; chmod 0 deep"), "");
    const Certificate certificate = task.clean_up();
    EXPECT_THAT(certificate.left, IsEmpty());
    EXPECT_EQ(certificate.made.size(), certificate.removed.size());
    Task forgotten = set_up(backend).value();
    EXPECT_EQ(run_in(forgotten, backend, "echo x >new"), "");
  }
  EXPECT_FALSE(std::filesystem::exists(*place / "scratch"));
  EXPECT_THAT(names_of(*place / "cache/journals"), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Tasks, Ways, ::testing::Values(Way::Detect, Way::Copy), name_of_way);

}  // namespace
}  // namespace hermetic
