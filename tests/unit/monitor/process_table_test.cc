// What is read from /proc. The name in it is the watched process's own choice.
#include "hermetic/monitor/process_table.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

namespace hermetic {
namespace {

using ::testing::Contains;
using ::testing::Field;
using ::testing::SizeIs;

constexpr const char* kRest =
    "S 7 1 1 0 -1 4194560 100 200 3 4 150 50 20 30 20 0 6 0 777 10000000 25 "
    "18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0\n";

TEST(ParseLoopbackBytes, ReadsTheLineOfTheLoopback) {
  const std::string head = "Inter-|   Receive |  Transmit\n face |bytes    packets|bytes\n";
  EXPECT_EQ(parse_loopback_bytes(head + "    lo:    1234       5    0\n"), 1234U);
  EXPECT_EQ(parse_loopback_bytes(head + "  eth0:    9 1\n    lo:12345678901 5 0\n"), 12345678901U);
  EXPECT_EQ(parse_loopback_bytes(head + "  allo:    9 1\n"), std::nullopt);
  EXPECT_EQ(parse_loopback_bytes(""), std::nullopt);
}

TEST(ParseProcessStat, ReadsTheFields) {
  ProcessSample sample;
  ASSERT_TRUE(parse_process_stat(std::string("42 (cc1plus) ") + kRest, sample));
  EXPECT_EQ(sample.process, 42U);
  EXPECT_EQ(sample.parent, 7U);
  EXPECT_EQ(sample.name, "cc1plus");
  EXPECT_EQ(sample.threads, 6U);
  EXPECT_EQ(sample.started_ticks, 777U);
  EXPECT_EQ(sample.resident_bytes, 25U * static_cast<unsigned>(::sysconf(_SC_PAGESIZE)));
  const auto tick = std::chrono::microseconds(1'000'000 / ::sysconf(_SC_CLK_TCK));
  EXPECT_EQ(sample.user_time, 150 * tick);
  EXPECT_EQ(sample.system_time, 50 * tick);
  EXPECT_EQ(sample.user_time_of_children, 20 * tick);
  EXPECT_EQ(sample.system_time_of_children, 30 * tick);
}

TEST(ParseProcessStat, IsNotLedAstrayByTheName) {
  for (const std::string name : {") S 1 (", ") (", "a b", "\n", ")", "", ") S 1 1 1 0 -1 0 9 9"}) {
    ProcessSample sample;
    ASSERT_TRUE(parse_process_stat("42 (" + name + ") " + kRest, sample)) << name;
    EXPECT_EQ(sample.name, name);
    EXPECT_EQ(sample.parent, 7U);
    EXPECT_EQ(sample.threads, 6U);
  }
}

TEST(ParseProcessStat, RefusesWhatIsNone) {
  const std::string whole = std::string("42 (x) ") + kRest;
  ProcessSample sample;
  for (const std::string text : {"", "42", "42 (x", "42 (x)", "x (x) S 1", "42 (x) S 1 2 3"})
    EXPECT_FALSE(parse_process_stat(text, sample)) << text;
  // However it is cut off, it ends.
  for (std::size_t size = 0; size < whole.size(); ++size)
    (void)parse_process_stat(std::string_view(whole).substr(0, size), sample);
}

TEST(ParseProcessIo, ReadsTheCounts) {
  TransferCounts counts;
  ASSERT_TRUE(
      parse_process_io("rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\n"
                       "write_bytes: 6\ncancelled_write_bytes: 7\n",
                       counts));
  EXPECT_EQ(counts, (TransferCounts{1, 2, 3, 4, 5, 6}));
  EXPECT_FALSE(parse_process_io("", counts));
  EXPECT_FALSE(parse_process_io("rchar: x\nwchar: 2\n", counts));
}

class HostTable : public ::testing::Test {
 protected:
  ProcessTable table{UniqueFd(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC))};
};

TEST_F(HostTable, FindsTheDescendantsOfAProcess) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::prctl(PR_SET_NAME, "first) (child");
    if (::fork() == 0) ::prctl(PR_SET_NAME, "second");
    while (true) ::pause();
  }
  std::vector<ProcessSample> tree;
  for (int i = 0; i < 500 && tree.size() < 2; ++i) {
    tree = table.read_tree(static_cast<std::uint64_t>(child), ProcessTable::Transfers::Read);
    ::usleep(10'000);
  }
  EXPECT_THAT(tree, SizeIs(2));
  EXPECT_THAT(tree, Contains(Field(&ProcessSample::name, "first) (child")));
  for (const ProcessSample& sample : tree) {
    EXPECT_GT(table.proportional_bytes_of(sample.process).value(), 0U);
    ::kill(static_cast<pid_t>(sample.process), SIGKILL);
  }
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST_F(HostTable, WhoIsGoneIsLeftOut) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_THAT(table.read_tree(static_cast<std::uint64_t>(child), ProcessTable::Transfers::Read),
              SizeIs(0));
  EXPECT_EQ(table.transfers_of(static_cast<std::uint64_t>(child)), TransferCounts());
}

TEST(ProcessTable, WithoutProcIsEmpty) {
  EXPECT_THAT(ProcessTable().read(ProcessTable::Transfers::Read), SizeIs(0));
}

}  // namespace
}  // namespace hermetic
