// Whole tasks in both ways of keeping their layers as they are.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <utility>

#include "hermetic/task/task.h"
#include "tests/sandbox/sandbox.h"

namespace hermetic {

using task::Task;
using task::TaskRequest;
using Way = LinuxBackend::Layers;

// Everything that a command could tell about the worktree but for git's own files.
inline constexpr const char* kStory =
    "find . -mindepth 1 -name .git -prune -o -printf '%p %y %m %s %T@ %l\\n' | LC_ALL=C sort";

// A repository with what checkouts get wrong, and one cache for all tests of the program:
// environments are slow to make.
class Ways : public ::testing::TestWithParam<Way> {
 protected:
  static void SetUpTestSuite() {
    if (place) return;
    place = std::make_unique<TempDir>();
    cache = std::make_unique<Cache>(Cache::open(*place / "cache").value());
    const Plain made = run_plainly(
        {"sh", "-ec",
         "cd \"$1\"; export GIT_CONFIG_NOSYSTEM=1 HOME=$PWD GIT_COMMITTER_DATE=@1600000000; "
         "git init -q library; git init -q repo; "
         "git config --global user.name n; git config --global user.email n@localhost; "
         "git config --global protocol.file.allow always; "
         "cd library; echo lib >lib; git add .; git commit -q -m lib; "
         "cd ../repo; mkdir sub; echo old >file; echo inner >sub/inner; echo run >tool; "
         "chmod 755 tool; ln -s sub/inner link; printf '*.big filter=lfs\\n' >.gitattributes; "
         "git submodule --quiet add \"$1/library\" parts/library; "
         "git add .; git commit -q -m first; echo second >file; git commit -q -a -m second 2>&1",
         "sh", place->path()});
    ASSERT_EQ(made.code, 0) << made.text;
  }
  static LinuxBackend make_backend(Way way = GetParam()) {
    return LinuxBackend::make(Mounts::Detect, LinuxBackend::Groups::Detect, way).value();
  }
  static Result<Task> set_up(Backend& backend, const std::string& from = {}) {
    return Task::set_up({.id = "t",
                         .repository = *place / "repo",
                         .seed = 7,
                         .scratch = *place / "scratch",
                         .from = from},
                        *cache, backend);
  }
  // What the script writes, if it ends well.
  static std::string run_in(Task& task, Backend& backend, const std::string& script) {
    task.set_command({"sh", "-ec", script});
    Audience events;
    const Result<Finished> finished = task.run(backend, captured(), events);
    if (!finished) return to_string(finished.error());
    EXPECT_EQ(finished->outcome.ending, Ending(Exited{0})) << finished->outcome.standard_error.text;
    return finished->outcome.standard_output.text;
  }
  static Words changes_of(const Task& task) {
    Words words;
    const std::vector<Change> changes = task.changes().value();
    for (const Change& change : changes)
      words.push_back(std::string(to_string(change.kind)) + " " + change.path);
    return words;
  }
  static std::string story_of_source() {
    return run_plainly({"sh", "-c",
                        "cd \"$1\"; find . -printf '%p %y %m %s %T@ %C@ %l\\n' | sort; "
                        "cat .git/HEAD; git worktree list 2>/dev/null",
                        "sh", *place / "repo"})
        .text;
  }

  inline static std::unique_ptr<TempDir> place;
  inline static std::unique_ptr<Cache> cache;
};

inline std::string name_of_way(const ::testing::TestParamInfo<LinuxBackend::Layers>& way) {
  return way.param == LinuxBackend::Layers::Copy ? "Copy" : "Overlay";
}

}  // namespace hermetic
