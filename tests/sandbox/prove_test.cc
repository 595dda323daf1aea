// Negative controls: a sandbox that does not hold runs nothing. They aim at addresses that nobody
// has, so all of it happens inside an outer network namespace that is empty.
#include <sched.h>

#include <functional>

#include "hermetic/backends/linux/facts.h"
#include "hermetic/backends/linux/init_image.h"
#include "hermetic/backends/linux/linux_run.h"
#include "hermetic/backends/linux/lower.h"
#include "hermetic/backends/linux/proof.h"
#include "tests/sandbox/sandbox.h"

namespace hermetic {
namespace {

using linux_backend::Facts;
using linux_backend::LoweredScript;
using linux_backend::Step;
using ::testing::HasSubstr;

// What is said about a run of `echo ran`, whose script `lower` makes. "ran" if it did.
std::string proved(const SpecBuilder& builder, const linux_backend::Lowering& lower,
                   bool watched = true) {
  LinuxBackend backend = LinuxBackend::make().value();
  Capabilities capabilities = backend.probe();
  if (!watched) capabilities.clauses.erase(Clause::NetworkWatched);
  const Plan plan = make_plan(builder.build().value(), capabilities).value();
  RunOptions options = captured();
  options.prove = true;
  Audience events;
  Facts facts = linux_backend::gather_facts(linux_backend::landlock_abi_of_this_kernel(),
                                            !linux_backend::has_new_mount_calls())
                    .value();
  const UniqueFd init = linux_backend::make_init_image().value();
  const auto run = linux_backend::start_run(plan, std::move(facts), {.init = init.get()}, options,
                                            events, lower);
  if (!run) return run.error().message;
  const Outcome outcome = (*run)->wait().value();
  std::string tried;
  for (const NegativeControl& control : outcome.probes)
    if (control.tried) tried += " " + control.name;
  if (!outcome.violations.empty()) tried += ", and violations";
  return outcome.standard_output.text + tried;
}

std::string in_empty_network(const std::function<std::string()>& ask) {
  const Answer answer = ask_with_own_mounts([&]() -> std::string {
    if (::unshare(CLONE_NEWNET) != 0) return "no network namespace of its own";
    return ask();
  });
  return answer.text;
}

SpecBuilder echo() { return sandboxed({"echo", "ran"}); }

std::size_t secrets_left() {
  std::size_t left = 0;
  for (const char* directory : {"/var/tmp", "/tmp"})
    for (const std::string& name : names_of(directory))
      left += name.starts_with(".hermetic-secret-" + std::to_string(::geteuid())) ? 1 : 0;
  return left;
}

class Prove : public ::testing::Test {
 protected:
  void SetUp() override {
    SKIP_UNLESS_ANSWERED(ask_with_own_mounts([] { return std::string("yes"); }));
  }
};

TEST_F(Prove, TriesAllThatTheSpecForbidsAndThenRuns) {
  const std::size_t before = secrets_left();
  EXPECT_EQ(in_empty_network([] { return proved(echo(), linux_backend::lower); }),
            "ran\n tcp udp dns io_uring vsock listen secret input");
  EXPECT_EQ(in_empty_network([] {
              return proved(echo().network({.mode = NetworkPolicy::Mode::Loopback}),
                            linux_backend::lower);
            }),
            "ran\n tcp udp dns io_uring vsock secret input");
  EXPECT_EQ(in_empty_network([] { return proved(echo(), linux_backend::lower, false); }),
            "the sandbox does not hold: what must fail inside succeeds there: listen")
      << "without a listener the kernel lets everybody listen";
  EXPECT_EQ(secrets_left(), before);
}

TEST_F(Prove, RunsNothingWhereInputsCanBeWritten) {
  const TempDir dir;
  const std::string input = dir.directory("in");
  const auto unsealed = [](const Plan& plan, const Facts& facts) {
    LoweredScript script = linux_backend::lower(plan, facts);
    std::erase_if(script.steps, [](const Step& step) {
      return step.kind == Step::Kind::Attributes || step.kind == Step::Kind::Remount ||
             step.kind == Step::Kind::Landlock || step.kind == Step::Kind::LandlockRule ||
             step.kind == Step::Kind::LandlockEnforce;
    });
    return script;
  };
  // One is tried, perhaps of root's: that a plain user may not write there proves nothing.
  SpecBuilder builder(Words{"echo", "ran"});
  builder.input(input).directory("/").caller_environment({});
  for (const std::string& directory : toolchain_directories()) builder.input(directory);
  const std::string said = in_empty_network([&] { return proved(builder, unsealed); });
  EXPECT_THAT(said, HasSubstr("succeeds there: input"));
  EXPECT_THAT(names_of(input), ::testing::IsEmpty());
}

TEST_F(Prove, RunsNothingWhereSecretsShow) {
  const auto shows_all = [](const Plan& /*plan*/, const Facts& facts) {
    LinuxBackend backend = LinuxBackend::make().value();
    const SpecBuilder builder = echo().input("/var/tmp");
    return linux_backend::lower(make_plan(builder.build().value(), backend.probe()).value(), facts);
  };
  EXPECT_EQ(in_empty_network([&] { return proved(echo(), shows_all); }),
            "the sandbox does not hold: what must fail inside succeeds there: secret");
}

TEST_F(Prove, RunsNothingWhereCallsAreNotFiltered) {
  const auto unfiltered = [](const Plan& plan, const Facts& facts) {
    LoweredScript script = linux_backend::lower(plan, facts);
    linux_backend::InitConfig config;
    std::memcpy(&config, script.init_message.data(), sizeof config);
    script.init_message.erase(sizeof config, std::size_t{8} * config.filter_count);
    config.filter_count = 0;
    std::memcpy(script.init_message.data(), &config, sizeof config);
    return script;
  };
  EXPECT_THAT(in_empty_network([&] { return proved(echo(), unfiltered, false); }),
              HasSubstr("io_uring"));
  EXPECT_THAT(in_empty_network([&] { return proved(echo(), unfiltered, true); }), HasSubstr("ran"))
      << "who listens refuses them, too";
}

TEST_F(Prove, SecretsOfKilledRunsAreRemovedAndNoOthers) {
  const std::string prefix = "/var/tmp/.hermetic-secret-" + std::to_string(::geteuid()) + "-";
  std::string left = prefix + "XXXXXX";
  std::string held = prefix + "XXXXXX";
  const UniqueFd abandoned(::mkostemp(left.data(), O_CLOEXEC));
  const UniqueFd locked(::mkostemp(held.data(), O_CLOEXEC));
  ASSERT_EQ(::flock(locked.get(), LOCK_EX), 0);
  const std::vector<std::string> removed = linux_backend::remove_abandoned_secrets();
  EXPECT_THAT(removed, ::testing::Contains(left));
  EXPECT_FALSE(exists(left));
  EXPECT_TRUE(exists(held));
  ::unlink(held.c_str());
}

}  // namespace
}  // namespace hermetic
