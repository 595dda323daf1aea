#include "hermetic/record/process_tree.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "tests/unit/record/long_attempts.h"

namespace hermetic {
namespace {

Event executes(int pid, int parent, std::string program, std::string was = "/bin/sh") {
  Event event{.kind = Event::Kind::Process, .act = "execute", .subject = std::move(program)};
  ProcessFacts facts;
  facts.pid = pid;
  facts.parent = parent;
  facts.executable = std::move(was);
  event.processes.push_back(std::move(facts));
  return event;
}

struct Size {
  std::size_t nodes = 0;
  std::size_t depth = 0;
};

Size size_of(const std::vector<ProcessNode>& nodes) {
  Size size;
  for (const ProcessNode& node : nodes) {
    const Size below = size_of(node.children);
    size.nodes += 1 + below.nodes;
    size.depth = std::max(size.depth, 1 + below.depth);
  }
  return size;
}

TEST(ProcessTree, AChainThatNeverEndsIsNoDeepTree) {
  ProcessTree tree;
  constexpr int kLength = 15'000;
  for (int pid = 2; pid < kLength + 2; ++pid) tree.add(executes(pid, pid - 1, "/bin/x"));
  const std::vector<ProcessNode> roots = std::move(tree).finish();
  const Size size = size_of(roots);
  EXPECT_EQ(size.nodes, std::size_t{kLength});
  EXPECT_LT(size.depth, 200U);
  EXPECT_EQ(executed_programs(roots), std::set<std::string>{"/bin/x"});
}

TEST(ProcessTree, AProcessThatBecomesOthersForEverIsToldToAnEnd) {
  ProcessTree tree;
  for (int i = 0; i < 10'000; ++i)
    tree.add(i % 2 == 0 ? executes(2, 1, "/bin/a", "/bin/b") : executes(2, 1, "/bin/b", "/bin/a"));
  tree.add(executes(2, 1, "/bin/c", "/bin/b"));  // what it is at last is not lost
  const std::vector<ProcessNode> roots = std::move(tree).finish();
  ASSERT_EQ(roots.size(), 1U);
  EXPECT_LE(roots.front().executed.size(), 1000U);
  EXPECT_EQ(executed_programs(roots).size(), 3U);
}

TEST(ProcessTree, KeepsSoManyBytesAndCountsTheRest) {
  ProcessTree tree;
  constexpr int kMany = 5000;
  for (int pid = 2; pid < 2 + kMany; ++pid) tree.add(attempt_by(pid));
  EXPECT_GT(tree.lost(), 1000U);
  std::size_t bytes = 0;
  for (const ProcessNode& node : std::move(tree).finish()) bytes += memory_of(node.arguments);
  EXPECT_GT(bytes, std::size_t{8} << 20U);
  EXPECT_LT(bytes, std::size_t{20} << 20U);
}

TEST(ProcessTree, LosesNothingThatIsSmall) {
  ProcessTree tree;
  for (int i = 0; i < 5000; ++i) tree.add(attempt_by(2));
  EXPECT_EQ(tree.lost(), 0U) << "it is the same again and again";
}

}  // namespace
}  // namespace hermetic
