// The monitor by itself, for whoever runs commands in other ways. In a run: tests/limits.
#include "hermetic/monitor/monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

namespace hermetic {
namespace {

using std::chrono_literals::operator""ms;
using ::testing::SizeIs;

// A process that does nothing but compute, until the test is over.
class Spinner {
 public:
  Spinner() : process_(::fork()) {
    if (process_ == 0)
      while (true) spin();
  }
  Spinner(const Spinner&) = delete;
  Spinner& operator=(const Spinner&) = delete;
  ~Spinner() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  [[nodiscard]] std::uint64_t process() const { return static_cast<std::uint64_t>(process_); }

 private:
  static void spin() {
    static volatile unsigned counter = 0;
    counter = counter + 1;
  }
  pid_t process_;
};

// Until it has used that much: however slow the machine is.
Usage wait_for_cpu(Monitor& monitor, std::chrono::milliseconds enough) {
  Usage usage;
  for (int i = 0; i < 3000 && usage.cpu_time() < enough; ++i) {
    std::this_thread::sleep_for(10ms);
    usage = monitor.snapshot();
  }
  return usage;
}

TEST(Monitor, CountsAProcessAndItsDescendants) {
  const Spinner spinner;
  Monitor monitor = Monitor::of_process(spinner.process(), {});
  monitor.start();
  EXPECT_FALSE(monitor.due());  // nobody needs it to look by itself
  const Usage usage = wait_for_cpu(monitor, 50ms);
  EXPECT_GE(usage.cpu_time(), 50ms);
  EXPECT_GE(usage.processes, 1U);  // the thread sanitizer has a thread of its own in it
  EXPECT_LE(usage.processes, 2U);
  EXPECT_GT(usage.memory_bytes, 0U);
  EXPECT_GT(usage.wall_time, 0ms);
  EXPECT_FALSE(monitor.is_violated());
  EXPECT_GE(monitor.stop().cpu_time(), 50ms);
}

TEST(Monitor, SaysWhatIsOverItsLimit) {
  const Spinner spinner;
  Monitor monitor = Monitor::of_process(spinner.process(), {.cpu_time = 50ms});
  monitor.start();
  EXPECT_TRUE(monitor.due());
  wait_for_cpu(monitor, 80ms);
  const std::optional<Ending> over = monitor.look();
  ASSERT_TRUE(over);
  EXPECT_EQ(std::get<OverLimit>(*over).which, "cpu_time");
  ASSERT_TRUE(monitor.is_violated());
  EXPECT_THAT(monitor.violations(), SizeIs(1));
  EXPECT_EQ(monitor.violations()[0].limit, 50U);
  EXPECT_GE(monitor.violations()[0].actual, 50U);
}

TEST(Monitor, ABreachBetweenTwoLooksIsNoticedAtTheEnd) {
  const Spinner spinner;
  Monitor monitor = Monitor::of_process(spinner.process(), {.processes = 2});
  monitor.start();
  monitor.stop();
  EXPECT_FALSE(monitor.is_violated());
  Monitor stricter = Monitor::of_process(spinner.process(), {.memory_bytes = 1});
  stricter.start();
  stricter.stop();
  ASSERT_TRUE(stricter.is_violated());
  EXPECT_EQ(stricter.violations()[0].which, "memory");
}

TEST(Monitor, SnapshotsDoNotPutOffTheNextLook) {
  const Spinner spinner;
  Monitor monitor = Monitor::of_process(spinner.process(), {.cpu_time = std::chrono::hours(1)});
  monitor.start();
  const auto due = monitor.due();
  (void)monitor.snapshot();
  EXPECT_EQ(monitor.due(), due);
  EXPECT_FALSE(monitor.look(*due));
  EXPECT_EQ(monitor.due(), *due + kLimitInterval);
}

TEST(Monitor, MayBeAskedFromSeveralThreads) {
  const Spinner spinner;
  Monitor monitor = Monitor::of_process(spinner.process(), {.cpu_time = std::chrono::hours(1)});
  monitor.start();
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      for (int turn = 0; turn < 50; ++turn) (void)monitor.snapshot();
    });
  for (int turn = 0; turn < 50; ++turn) EXPECT_FALSE(monitor.look());
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace hermetic
