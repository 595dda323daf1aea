// What commands may leave behind, taken up again by others: in each way, whichever way it was made.
#include <tuple>

#include "tests/tasks/ways.h"

namespace hermetic {
namespace {

using ::testing::IsEmpty;

// The way of whoever makes something, and the way of whoever starts from it.
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

INSTANTIATE_TEST_SUITE_P(Tasks, OddTrees, ::testing::Values(Way::Detect, Way::Copy), name_of_way);

}  // namespace
}  // namespace hermetic
