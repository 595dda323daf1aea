// What hermetic itself keeps of a command that does all it can to make it keep much.
#include "hermetic/record/event_json.h"
#include "hermetic/record/redaction.h"
#include "hermetic/record/run_record.h"
#include "hermetic/run/event_size.h"
#include "tests/sandbox/sandbox.h"

namespace hermetic {
namespace {

constexpr std::size_t kMegabyte = std::size_t{1} << 20U;

// The most that this process has had in memory since forget_peak(), in bytes.
std::size_t peak() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stoul(line.substr(6)) * 1024;
  return 0;
}
void forget_peak() { std::ofstream("/proc/self/clear_refs") << 5; }

// Keeps all it is told, without a bound: the control.
class Hoarder final : public EventSink {
 public:
  void on_event(const Event& event) override {
    largest_ = std::max(largest_, memory_of(event));
    any_cut_ = any_cut_ || std::any_of(event.processes.begin(), event.processes.end(),
                                       [](const ProcessFacts& facts) { return facts.is_cut; });
    ++count_;
  }
  std::size_t largest_ = 0;
  std::size_t count_ = 0;
  bool any_cut_ = false;
};

struct Kept {
  std::size_t peak = 0;
  Outcome outcome;
  RunRecord record;
};

Kept nag(const char* how, int number, Hoarder& hoarder) {
  RunRecorder recorder(&hoarder);
  const Spec spec = sandboxed({misbehave("nag"), how, std::to_string(number)}).build().value();
  LinuxBackend backend = LinuxBackend::make().value();
  RunOptions options = captured();
  options.observe_processes = true;
  options.why_denied = [](const AskedPath& asked) {
    return asked.path.starts_with("/undeclared") ? "not declared" : "";
  };
  forget_peak();
  const std::size_t before = peak();
  Finished finished = execute(spec, backend, options, recorder).value();
  RunRecord record = std::move(recorder).finish(finished.plan, finished.outcome, 0);
  const std::size_t most = peak();
  EXPECT_EQ(finished.outcome.ending, Ending(Exited{0})) << finished.outcome.standard_error.text;
  return {.peak = most - std::min(before, most),
          .outcome = std::move(finished.outcome),
          .record = std::move(record)};
}

TEST(Memory, IsLittleForTheAttemptsOfALongChainOfProcesses) {
  Hoarder hoarder;
  const Kept kept = nag("connect", 3000, hoarder);
  EXPECT_GT(hoarder.count_, 3000U);
  EXPECT_GT(hoarder.largest_, std::size_t{16} << 10U) << "they are as long as they may be";
  EXPECT_LT(hoarder.largest_, std::size_t{64} << 10U);
  EXPECT_TRUE(hoarder.any_cut_) << "and say so";
  EXPECT_LT(kept.peak, 128 * kMegabyte);
  EXPECT_GT(kept.record.lost_events, 0U) << "what was not kept is counted";
  EXPECT_GT(kept.record.network.size(), 100U);
  EXPECT_EQ(kept.outcome.violations.size(), 3000U);
}

TEST(Memory, IsLittleForManyLongNames) {
  Hoarder hoarder;
  const Kept kept = nag("open", 12'000, hoarder);
  EXPECT_LT(kept.peak, 128 * kMegabyte);
  EXPECT_GT(kept.outcome.denied.size(), 1000U);
  EXPECT_GT(kept.outcome.more_denied, 1000U);
  EXPECT_EQ(kept.outcome.denied.size() + kept.outcome.more_denied, 12'000U);
}

TEST(Memory, IsLittleForManyProcessesWithManyArguments) {
  Hoarder hoarder;
  const Kept kept = nag("execute", 500, hoarder);
  EXPECT_LT(kept.peak, 128 * kMegabyte);
  EXPECT_FALSE(kept.record.processes.empty());
}

TEST(Memory, OfOneEventIsWhatTheLineOfItSays) {
  Hoarder hoarder;
  class Lines final : public EventSink {
   public:
    void on_event(const Event& event) override {
      if (event.act == "connect") line = lines.line(event, {});
    }
    Redaction redaction{std::span<const std::pair<std::string, std::string>>()};
    EventLines lines{redaction};
    std::string line;
  };
  const auto line_of = [](const Words& command) {
    Lines lines;
    const Spec spec = sandboxed(command).build().value();
    LinuxBackend backend = LinuxBackend::make().value();
    (void)execute(spec, backend, captured(), lines).value();
    return lines.line;
  };
  EXPECT_THAT(line_of({misbehave("nag"), "connect", "1"}), ::testing::HasSubstr(",\"cut\":true"));
  // The chain is as long as it was, and its words are few.
  EXPECT_THAT(line_of({misbehave("nag"), "connect", "1", "30"}),
              ::testing::AllOf(::testing::Not(::testing::HasSubstr("\"cut\"")),
                               ::testing::HasSubstr("\"connect\"")));
}

}  // namespace
}  // namespace hermetic
