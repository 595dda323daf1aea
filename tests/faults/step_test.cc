// A step that fails is named: each of the script in its turn, and those of init.
#include <sys/socket.h>
#include <sys/wait.h>

#include <cstdlib>

#include "hermetic/backends/linux/facts.h"
#include "hermetic/backends/linux/init_image.h"
#include "hermetic/backends/linux/launch.h"
#include "hermetic/backends/linux/lower.h"
#include "hermetic/backends/linux/standard_streams.h"
#include "hermetic/outputs/staging.h"
#include "tests/faults/sweep.h"

namespace hermetic {
namespace {

using namespace linux_backend;
using ::testing::UnorderedElementsAre;

// Stands for names that differ from run to run.
constexpr std::string_view kVaries = "/varies";

LoweredScript script_of(const Scene& scene) {
  const LinuxBackend backend = LinuxBackend::make().value();
  const Plan plan = make_plan(scene.spec(), backend.probe()).value();
  Facts facts =
      gather_facts(landlock_abi_of_this_kernel(), scene.mounts() == Mounts::Classic).value();
  for (const Publication& publication : plan.publications)
    facts.staging[publication.path] = {.path = std::string(kVaries), .device = 1, .inode = 1};
  const RunOptions options = scene.options().value();
  StandardStreams::make({options.standard_input, options.standard_output, options.standard_error},
                        options.interactive)
      .value()
      .describe(facts);
  facts.watched = watched_in(plan, options);
  return lower(plan, facts);
}

// "step 5: making mounts private", from the message of a run; "" if it names none.
std::string step_in(const std::string& answer) {
  constexpr std::string_view kStart = "error cannot make the sandbox: ";
  if (!answer.starts_with(kStart)) return "";
  const std::string line = answer.substr(kStart.size(), answer.find('\n') - kStart.size());
  constexpr std::string_view kReason = ": Operation not permitted";
  if (!line.ends_with(kReason)) return "no reason: " + line;
  return line.substr(0, line.size() - kReason.size());
}

// Is this the name of the step? What varies is not compared, but the number is.
bool is_name(const std::string& found, const std::string& expected) {
  const std::size_t varies = expected.find(kVaries);
  if (varies == std::string::npos) return found == expected;
  const std::string end = expected.substr(varies + kVaries.size());
  return found.starts_with(expected.substr(0, varies)) && found.ends_with(end);
}

bool cannot_fail(const Step& step) {
  return step.kind == Step::Kind::SetUmask || step.kind == Step::Kind::TryWriteFile;
}

// Every step but those that cannot fail is named when its calls fail, in order.
std::string complaints_about_names(const Scene::Kind& kind) {
  Sweeper sweeper(kind);
  sweeper.sweep({Role::Child, EPERM, 1});
  if (!sweeper.scene.problem().empty()) return sweeper.result();
  const LoweredScript script = script_of(sweeper.scene);
  std::uint32_t expected = 0;
  for (const std::string& answer : sweeper.answers) {
    const std::string step = step_in(answer);
    if (step.empty() && answer.starts_with("ended Exited 0")) continue;  // it did not matter
    if (expected > 0 && is_name(step, describe_step(script, expected - 1))) continue;
    while (kSlowness == 1 && expected < script.steps.size() && cannot_fail(script.steps[expected]))
      ++expected;
    while (kSlowness > 1 && expected < script.steps.size() &&
           !is_name(step, describe_step(script, expected)))
      ++expected;
    if (!is_name(step, describe_step(script, expected)))
      sweeper.complain("not " + describe_step(script, expected) + " but " + answer);
    ++expected;
  }
  if (kSlowness == 1 && expected != script.steps.size() + 1)
    sweeper.complain("no fault in " + describe_step(script, expected));
  return sweeper.result();
}

TEST(StepThatFails, IsNamed) {
  expect_no_complaints([] { return complaints_about_names({}); });
}

TEST(StepThatFails, IsNamedWithOlderMountCalls) {
  expect_no_complaints([] { return complaints_about_names({.mounts = Mounts::Classic}); });
}

TEST(StepThatFails, IsNamedWithATerminal) {
  expect_no_complaints([] { return complaints_about_names({.terminal = true}); });
}

// The guard's sockets are made one by one, by hundreds of calls: with --long.
TEST(StepOfAGuardThatFails, IsNamed) {
  if (std::getenv("HERMETIC_LONG") == nullptr) GTEST_SKIP() << "with ./check --long";
  expect_no_complaints([] { return complaints_about_names({.hosts = true}); });
}

// The same without a tracer: each step in turn is replaced by one that cannot be done.
TEST(StepThatFails, EndsTheChildAndIsReported) {
  const TempDir dir;
  dir.file("in/file", "input");
  dir.file("out/old", "old");
  const Spec spec =
      shell("true").input(dir / "in").output(dir / "out").temp("/scratch").build().value();
  const Plan plan = make_plan(spec, LinuxBackend::make().value().probe()).value();
  const UniqueFd init = make_init_image().value();
  const std::size_t descriptors = names_of("/proc/self/fd").size();
  std::set<std::string> staged;
  std::uint32_t count = 1;
  for (std::uint32_t step = 0; step < count; ++step) {
    const Staging staging = Staging::make(plan).value();
    Facts facts = gather_facts(landlock_abi_of_this_kernel(), false).value();
    for (const StagedOutput& output : staging.outputs()) {
      staged.insert(output.directory);
      const UniqueFd tree(::open(output.tree().c_str(), O_PATH | O_CLOEXEC));
      facts.staging[output.publication.path] = identify_object(output.tree(), tree.get()).value();
    }
    const StandardStreams standard = StandardStreams::make({-1, -1, -1}, false).value();
    Channel channel = make_channel().value();
    standard.describe(facts);
    facts.socket = channel.theirs.get();
    LoweredScript script = lower(plan, facts);
    count = static_cast<std::uint32_t>(script.steps.size());
    script.steps[step] = {.kind = Step::Kind::ChangeDirectory, .target = "no such directory"};
    const Launched launched =
        launch(script, init.get(), std::move(channel), NetworkNamespace::Own).value();
    InitReport report;
    ssize_t size = -1;
    do {
      size = ::recv(launched.socket.get(), &report, sizeof report, 0);
    } while (size < 0 ? errno == ECONNRESET : report.kind == InitReport::Kind::Processes);
    ASSERT_EQ(size, static_cast<ssize_t>(sizeof report));
    EXPECT_EQ(report.kind, InitReport::Kind::StepFailed);
    EXPECT_EQ(report.step, step);
    EXPECT_EQ(report.os_error, ENOENT);
    siginfo_t ending = {};
    ASSERT_EQ(::waitid(P_PIDFD, static_cast<id_t>(launched.pidfd.get()), &ending, WEXITED | __WALL),
              0);
    EXPECT_EQ(ending.si_status, 125);
  }
  EXPECT_GT(count, 50U);
  EXPECT_EQ(names_of("/proc/self/fd").size(), descriptors);
  EXPECT_EQ(names_of(dir / "out"), Words{"old"});
  for (const std::string& folder : staged) EXPECT_FALSE(exists(folder));
}

// The steps of init that were named, and how the other faults of it ended.
std::string endings_of_init(const Scene::Kind& kind) {
  Sweeper sweeper(kind);
  sweeper.sweep({Role::Init, EPERM, 1});
  sweeper.sweep({Role::Starter, EPERM, 1});
  std::set<std::string> endings;
  for (const std::string& answer : sweeper.answers) {
    const std::string step = step_in(answer);
    if (!step.empty()) endings.insert(step);
  }
  std::string text = sweeper.result();
  for (const std::string& ending : endings) text += ending + "\n";
  return text;
}

TEST(StepOfInitThatFails, IsNamed) {
  const Answer answer = ask_with_own_mounts([] { return endings_of_init({.terminal = true}); });
  SKIP_UNLESS_ANSWERED(answer);
  if (kSlowness > 1) return;  // not all of them were tried
  EXPECT_EQ(answer.text,
            "init: asking to be told of system calls\n"
            "init: closing its memory to others\n"
            "init: entering the directory of the command\n"
            "init: loading the system-call filter\n"
            "init: making a session\n"
            "init: reading its instructions\n"
            "init: starting a process\n"
            "init: taking the terminal\n"
            "init: watching for the end of its children\n");
}

}  // namespace
}  // namespace hermetic
