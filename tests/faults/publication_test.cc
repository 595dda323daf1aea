// Killed at any moment while it publishes, hermetic leaves a journal by which a later run, or
// recover_abandoned() itself, makes everything old or everything new.
#include <sys/syscall.h>

#include "hermetic/outputs/recovery.h"
#include "tests/faults/sweep.h"

namespace hermetic {
namespace {

using Outputs = Scene::Outputs;

// At every call from the end of the command on.
void expect_old_or_new(Outputs outputs) {
  expect_no_complaints([outputs] {
    return complaints_of({.outputs = outputs}, {{Role::Supervisor, kKill, 1, SYS_poll}});
  });
}

TEST(KilledWhilePublishing, OneOutput) { expect_old_or_new(Outputs::One); }
TEST(KilledWhilePublishing, TwoOutputs) { expect_old_or_new(Outputs::Whole); }
TEST(KilledWhilePublishing, AnOutputThatIsMerged) { expect_old_or_new(Outputs::Merged); }
TEST(KilledWhilePublishing, AnOutputWithExceptions) { expect_old_or_new(Outputs::Carved); }
TEST(KilledWhilePublishing, ADestinationThatIsAMountPoint) { expect_old_or_new(Outputs::Mounted); }
TEST(KilledWhilePublishing, ACopyAcrossFileSystems) { expect_old_or_new(Outputs::Copied); }
TEST(KilledWhilePublishing, ADestinationWhoseParentsAreNotThere) {
  expect_old_or_new(Outputs::Made);
}
TEST(KilledWhilePublishing, EveryKindAtOnce) {
  expect_no_complaints([] {
    return complaints_of({.outputs = Outputs::EveryWay}, {{Role::Supervisor, kKill, 11, SYS_poll}});
  });
}

std::string recover_everywhere(const Scene& scene) {
  begin_counting();
  for (const std::string& base : {std::string("/var/tmp"), scene.folder()})
    if (!recover_abandoned(base)) return "it cannot look through " + base;
  end_counting();
  return "recovered";
}

// Is anything there that a run has put there?
bool is_half_done(const Scene& scene) {
  const Snapshot now = snapshot_of(scene.folder());
  const bool has_new = std::any_of(
      now.begin(), now.end(), [](const auto& entry) { return entry.second.ends_with(" new\n"); });
  return has_new && !names_of("/var/tmp").empty();
}

// The one who clears up is killed too, at every other call; the next one makes it good.
std::string complaints_about_recovery(Outputs outputs, std::size_t rename) {
  Sweeper sweeper({.outputs = outputs});
  if (!sweeper.scene.problem().empty()) return sweeper.result();
  Scene& scene = sweeper.scene;
  const Fault while_publishing{Role::Supervisor, rename, kKill, SYS_renameat2};
  const auto recover = [&scene] { return recover_everywhere(scene); };
  if (!scene.interrupt(while_publishing).reached || !is_half_done(scene))
    return "the run was not killed while it published";
  const Traced usual = run_traced(recover, {}, Record::Calls);
  if (usual.said != "recovered") return usual.said;
  const std::size_t count = usual.calls.at(Role::Supervisor).size();
  for (std::size_t number = 0; number < count; number += 2 * kSlowness) {
    (void)scene.interrupt(while_publishing);
    const Traced killed = run_traced(recover, {Role::Supervisor, number, kKill}, Record::Nothing);
    if (!killed.reached) continue;
    for (const std::string& complaint : scene.complaints_after_recovery())
      sweeper.complain("call " + std::to_string(number) + " (system call " +
                       std::to_string(killed.system_call) + "): " + complaint);
  }
  if (count < 50) sweeper.complain("there was nothing to be done");
  return sweeper.result();
}

TEST(KilledWhileRecovering, IsRecoveredByTheNext) {
  expect_no_complaints([] { return complaints_about_recovery(Outputs::Whole, 1); });
  expect_no_complaints([] { return complaints_about_recovery(Outputs::Merged, 5); });
  expect_no_complaints([] { return complaints_about_recovery(Outputs::Mounted, 6); });
  expect_no_complaints([] { return complaints_about_recovery(Outputs::Copied, 3); });
}

TEST(KilledWhilePublishing, IsPutRightByTheProgram) {
  expect_no_complaints([]() -> std::string {
    Scene scene({.outputs = Outputs::Merged});
    if (!scene.problem().empty()) return scene.problem();
    const Traced traced = scene.interrupt({Role::Supervisor, 5, kKill, SYS_renameat2});
    if (!traced.reached || !is_half_done(scene)) return "the run was not killed in time";
    const Plain gc = run_plainly({HERMETIC_PROGRAM, "gc", scene.folder()});
    if (gc.code != 0 || !gc.text.starts_with("taken back /var/tmp/.hermetic-")) return gc.text;
    if (!names_of("/var/tmp").empty()) return "something is left";
    std::string complaints;
    for (const std::string& complaint : scene.complaints_after_recovery()) complaints += complaint;
    return complaints;
  });
}

}  // namespace
}  // namespace hermetic
