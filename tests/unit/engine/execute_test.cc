#include "hermetic/engine/execute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "hermetic/plan/model.h"
#include "hermetic/spec/spec_builder.h"

namespace hermetic {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What was called, in order.
using Log = std::vector<std::string>;

class FakeRun final : public Run {
 public:
  FakeRun(Result<Outcome> outcome, Log& log) : outcome_(std::move(outcome)), log_(log) {}
  FakeRun(const FakeRun&) = delete;
  FakeRun& operator=(const FakeRun&) = delete;
  ~FakeRun() override { log_.emplace_back("gone"); }

  Result<Outcome> wait() override {
    log_.emplace_back("wait");
    return outcome_;
  }
  bool signal(int /*number*/) override { return true; }
  Usage snapshot() override { return {}; }
  void kill() override {}

 private:
  Result<Outcome> outcome_;
  Log& log_;
};

// Runs nothing: remembers the plan it was given and ends as it was told.
class FakeBackend final : public Backend {
 public:
  Capabilities capabilities = model_capabilities();
  Result<Outcome> outcome = Outcome{};
  std::optional<Error> start_error;
  std::vector<Plan> started;
  Log log;

  [[nodiscard]] std::string_view name() const override { return "fake"; }
  [[nodiscard]] Capabilities probe() const override { return capabilities; }
  Result<std::unique_ptr<Run>> start(const Plan& plan, const RunOptions& /*options*/,
                                     EventSink& events) override {
    log.emplace_back("start");
    if (start_error) return *start_error;
    started.push_back(plan);
    events.on_event({.kind = Event::Kind::Started, .since_start = {}, .detail = ""});
    return std::unique_ptr<Run>(std::make_unique<FakeRun>(outcome, log));
  }
};

class Listener final : public EventSink {
 public:
  std::vector<Event> heard;
  void on_event(const Event& event) override { heard.push_back(event); }
};

Spec compile_spec() {
  return SpecBuilder({"cc", "-c", "/src/main.c"})
      .input("/src")
      .output("/out")
      .lookup(look_up_by_name)
      .build()
      .value();
}

TEST(Execute, PlansStartsAndWaitsInThisOrder) {
  FakeBackend backend;
  backend.outcome = Outcome{.ending = Exited{3}};
  Listener events;
  const Result<Finished> finished = execute(compile_spec(), backend, {}, events);
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->outcome.ending, Ending(Exited{3}));
  EXPECT_THAT(backend.started, ElementsAre(finished->plan));
  EXPECT_THAT(backend.log, ElementsAre("start", "wait", "gone"));
  EXPECT_EQ(events.heard.size(), 1U);
}

TEST(Execute, StartsNothingWhenAClauseCannotBeEnforced) {
  FakeBackend backend;
  backend.capabilities.clauses.erase(Clause::NoNetwork);
  Listener events;
  const Result<Finished> finished = execute(compile_spec(), backend, {}, events);
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().kind, Error::Kind::Unsupported);
  EXPECT_THAT(finished.error().message, HasSubstr("no-network"));
  EXPECT_THAT(backend.log, ElementsAre());
}

TEST(Execute, PassesOnWhyTheSandboxCouldNotBeMade) {
  FakeBackend backend;
  backend.start_error = system_error("cannot make the sandbox", ENOSPC);
  Listener events;
  const Result<Finished> finished = execute(compile_spec(), backend, {}, events);
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().os_error, ENOSPC);
  EXPECT_THAT(backend.log, ElementsAre("start"));
}

TEST(Execute, EndsTheRunWhenWaitingFails) {
  FakeBackend backend;
  backend.outcome = system_error("cannot publish", EIO);
  Listener events;
  ASSERT_FALSE(execute(compile_spec(), backend, {}, events));
  EXPECT_THAT(backend.log, ElementsAre("start", "wait", "gone"));
}

TEST(Finished, IsHermeticOnlyIfNothingWasGivenUpOrTried) {
  FakeBackend backend;
  Listener events;
  EXPECT_TRUE(execute(compile_spec(), backend, {}, events)->hermetic());

  backend.outcome =
      Outcome{.violations = {{.act = "connect", .subject = "127.0.0.1:1", .detail = ""}}};
  EXPECT_FALSE(execute(compile_spec(), backend, {}, events)->hermetic());

  backend.outcome = Outcome{};
  backend.capabilities.clauses[Clause::OwnIpc].strength = Strength::Absent;
  const Spec lax = SpecBuilder({"true"}).give_up("own-ipc").lookup(look_up_by_name).build().value();
  EXPECT_FALSE(execute(lax, backend, {}, events)->hermetic());
}

}  // namespace
}  // namespace hermetic
