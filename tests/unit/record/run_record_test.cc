#include "hermetic/record/run_record.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/unit/record/long_attempts.h"

namespace hermetic {
namespace {

Event denied(int pid, const std::string& subject) {
  return {
      .kind = Event::Kind::Network,
      .act = "connect",
      .subject = subject,
      .verdict = Verdict::Deny,
      .processes = {
          {.pid = pid, .parent = 1, .executable = "/bin/x", .arguments = {"x"}, .directory = "/"}}};
}

RunRecord finish(RunRecorder& recorder) { return std::move(recorder).finish({}, {}, 0); }

TEST(RunRecorder, CountsWhatLooksTheSame) {
  RunRecorder first;
  for (const int pid : {7, 8, 9}) first.on_event(denied(pid, "a"));
  first.on_event(denied(7, "b"));
  RunRecorder second;  // in another order, with other numbers
  second.on_event(denied(20, "b"));
  for (const int pid : {21, 22, 23}) second.on_event(denied(pid, "a"));
  const RunRecord one = finish(first);
  const RunRecord other = finish(second);
  ASSERT_EQ(one.network.size(), 2U);
  EXPECT_EQ(one.network[0].event.subject, "a");
  EXPECT_EQ(one.network[0].count, 3U);
  ASSERT_EQ(other.network.size(), 2U);
  EXPECT_EQ(other.network[0].event.subject, "a");
  EXPECT_EQ(other.network[0].count, 3U);
}

TEST(RunRecorder, SaysWhatItCouldNotKeep) {
  RunRecorder recorder;
  constexpr int kMany = 10'005;
  for (int i = 0; i < kMany; ++i) recorder.on_event(denied(1, std::to_string(i)));
  const RunRecord record = finish(recorder);
  EXPECT_EQ(record.network.size() + record.lost_events, static_cast<std::size_t>(kMany));
  EXPECT_GT(record.lost_events, 0U);
}

TEST(RunRecorder, KeepsALongRunWithinBounds) {
  RunRecorder recorder;
  for (int i = 0; i < 100'000; ++i) {
    Usage usage;
    usage.wall_time = std::chrono::milliseconds(i);
    recorder.on_sample(usage);
  }
  const RunRecord record = finish(recorder);
  EXPECT_LT(record.samples.size(), 2'001U);
  EXPECT_GT(record.samples.size(), 500U);
  EXPECT_EQ(record.samples.front().wall_time.count(), 0);
  EXPECT_GT(record.samples.back().wall_time, std::chrono::milliseconds(90'000));
  for (std::size_t i = 1; i < record.samples.size(); ++i)
    EXPECT_LT(record.samples[i - 1].wall_time, record.samples[i].wall_time);
}

// Who listens at a path is inside, or declared: no attempt in the network.
TEST(RunRecorder, LeavesSocketsWithAPathToTheLog) {
  RunRecorder recorder;
  for (const char* family : {"unix", "inet"}) {
    Event event{.kind = Event::Kind::Network, .act = "connect", .verdict = Verdict::Deny};
    event.endpoint = Endpoint{.family = family, .protocol = "", .address = "", .name = ""};
    recorder.on_event(event);
  }
  const RunRecord record = std::move(recorder).finish({}, {}, 0);
  ASSERT_EQ(record.network.size(), 1U);
  EXPECT_EQ(record.network[0].event.endpoint->family, "inet");
}

Event starts_program(int pid, int parent, const std::string& program) {
  return {.kind = Event::Kind::Process,
          .act = "execute",
          .subject = program,
          .processes = {
              {.pid = pid, .parent = parent, .executable = "", .arguments = {}, .directory = ""}}};
}

TEST(ProcessTree, PutsEachUnderWhoStartedIt) {
  ProcessTree tree;
  tree.add(starts_program(10, 1, "/bin/sh"));
  tree.add(starts_program(12, 10, "/bin/z"));
  tree.add(starts_program(11, 10, "/bin/a"));
  tree.add(starts_program(11, 10, "/bin/b"));
  const std::vector<ProcessNode> roots = std::move(tree).finish();
  ASSERT_EQ(roots.size(), 1U);
  ASSERT_EQ(roots[0].children.size(), 2U);
  EXPECT_EQ(roots[0].children[0].executed, (std::vector<std::string>{"/bin/a", "/bin/b"}));
  EXPECT_EQ(executed_programs(roots),
            (std::set<std::string>{"/bin/a", "/bin/b", "/bin/sh", "/bin/z"}));
  const Redaction none{std::map<std::string, std::string>{}};
  EXPECT_EQ(process_tree_as_json(roots, none).dump().find("pid"), std::string::npos);
}

TEST(ProcessTree, HasNobodyForThoseThatWereLeftOut) {
  ProcessTree tree;
  Event event = starts_program(10, 9, "/bin/a");
  event.processes.push_back({.executable = "…"});
  tree.add(event);
  const std::vector<ProcessNode> roots = std::move(tree).finish();
  ASSERT_EQ(roots.size(), 1U);
  EXPECT_EQ(roots[0].pid, 10);
}

TEST(ProcessTree, KnowsASearchFromAWrapper) {
  ProcessTree tree;
  const auto asks = [&](const std::string& was, const std::string& program) {
    Event event = starts_program(10, 1, program);
    event.processes.front().executable = was;
    tree.add(event);
  };
  asks("/bin/init", "/usr/local/bin/cc");
  asks("/bin/init", "/usr/bin/cc");
  asks("/usr/bin/cc", "/opt/real/cc");  // it has become the first one, and becomes another
  const std::vector<ProcessNode> roots = std::move(tree).finish();
  ASSERT_EQ(roots.size(), 1U);
  EXPECT_EQ(roots[0].executed, (std::vector<std::string>{"/usr/bin/cc", "/opt/real/cc"}));
}

// Numbers are given out again.
TEST(ProcessTree, NeverGoesInACircle) {
  ProcessTree tree;
  tree.add(starts_program(10, 11, "/bin/a"));
  tree.add(starts_program(11, 10, "/bin/b"));
  tree.add(starts_program(12, 12, "/bin/c"));
  tree.add(starts_program(13, 12, "/bin/d"));
  const std::vector<ProcessNode> roots = std::move(tree).finish();
  EXPECT_EQ(roots.size(), 2U);
  EXPECT_EQ(executed_programs(roots).size(), 4U);
}

TEST(RunRecorder, KeepsSoManyBytesOfAttemptsAndCountsTheRest) {
  RunRecorder recorder;
  constexpr int kMany = 4000;
  for (int pid = 2; pid < 2 + kMany; ++pid) recorder.on_event(attempt_by(pid));
  const RunRecord record = std::move(recorder).finish({}, {}, 0);
  std::size_t bytes = 0;
  for (const Attempt& attempt : record.network) bytes += memory_of(attempt.event);
  EXPECT_GT(bytes, std::size_t{8} << 20U);
  EXPECT_LT(bytes, std::size_t{32} << 20U);
  EXPECT_GE(record.lost_events + record.network.size(), std::uint64_t{kMany});
  EXPECT_GT(record.lost_events, 0U);
}

}  // namespace
}  // namespace hermetic
