#include "hermetic/task/command_log.h"

#include <gtest/gtest.h>

namespace hermetic::task {
namespace {

using Time = std::chrono::milliseconds;

TEST(CommandLogs, KeepTheOrderAndWhatIsKnown) {
  CommandLog log;
  const std::size_t first = log.add({.words = {"a"}, .digest = "1"}, Time(1));
  const std::size_t second = log.add({.words = {"b"}, .digest = "2"}, Time(2));
  log.end(first, {.exit_code = 3, .failure = Failure::Command, .hermetic = true}, Time(9));
  const std::vector<LoggedCommand> commands = log.commands();
  ASSERT_EQ(commands.size(), 2U);
  EXPECT_EQ(commands[first].given.words, std::vector<std::string>{"a"});
  EXPECT_EQ(commands[first].end->exit_code, 3);
  EXPECT_EQ(commands[first].time, Time(9));
  EXPECT_EQ(commands[second].guard, Time(2));
  EXPECT_FALSE(commands[second].end);
}

TEST(CommandLogs, AreAmendedWhereSomethingHasEnded) {
  CommandLog log;
  const CommandEnd expired{.exit_code = 124, .failure = Failure::Timeout, .hermetic = true};
  EXPECT_FALSE(log.amend(expired));
  const std::size_t only = log.add({.words = {"a"}, .digest = "1"}, {});
  EXPECT_FALSE(log.amend(expired)) << "it still runs";
  log.end(only, {.exit_code = 137, .failure = Failure::Signal, .hermetic = true}, Time(5));
  EXPECT_TRUE(log.amend(expired));
  EXPECT_EQ(log.commands().front().end->failure, Failure::Timeout);
  EXPECT_EQ(log.commands().front().time, Time(5));
}

}  // namespace
}  // namespace hermetic::task
