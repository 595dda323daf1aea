// Many runs from one process: the last leaves as little behind as the first, and asks no more of
// the system. HERMETIC_SOAK_RUNS says how many; ./check --long has thousands.
#include <malloc.h>
#include <sys/resource.h>

#include <atomic>
#include <iostream>
#include <thread>

#include "tests/sandbox/sandbox.h"

namespace hermetic {
namespace {

using Clock = std::chrono::steady_clock;

std::size_t runs_wanted() {
  const char* value = std::getenv("HERMETIC_SOAK_RUNS");
  return value == nullptr ? 300 : std::stoul(value);
}

// What a process can hold on to.
struct Held {
  std::size_t descriptors = 0;
  std::size_t namespaces = 0;  // by descriptor, or by a thread that is in another than we are
  std::size_t mounts = 0;
  std::size_t children = 0;
  std::size_t threads = 0;
  auto operator<=>(const Held&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Held& held) {
  return out << held.descriptors << " descriptors, " << held.namespaces << " namespaces, "
             << held.mounts << " mounts, " << held.children << " children, " << held.threads
             << " threads";
}

std::string target_of(const std::filesystem::path& link) {
  std::error_code gone;
  return std::filesystem::read_symlink(link, gone);
}

Held held_now() {
  Held held;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++held.descriptors;
    const std::string target = target_of(entry.path());
    for (const char* kind : {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "time"})
      if (target.starts_with(std::string(kind) + ":[")) ++held.namespaces;
  }
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    ++held.threads;
    std::ifstream children(task.path() / "children");
    for (std::string child; children >> child;) ++held.children;
    for (const auto& entry : std::filesystem::directory_iterator(task.path() / "ns"))
      if (target_of(entry.path()) != target_of("/proc/self/ns" / entry.path().filename()))
        ++held.namespaces;
  }
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) ++held.mounts;
  return held;
}

std::size_t resident_kilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "VmRSS:") continue;
    std::size_t size = 0;
    status >> size;
    return size;
  }
  return 0;
}

std::size_t allocated_bytes() { return ::mallinfo2().uordblks + ::mallinfo2().hblkhd; }

long page_faults() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

// One spec, run again and again: it reads an input, and publishes an output in the place of the
// last one.
class Soak : public ::testing::Test {
 protected:
  Spec spec_of(const std::string& out) const {
    return shell("read line <" + dir / "in/file" + "; echo $line >" + out + "/new")
        .input(dir / "in")
        .output(out)
        .build()
        .value();
  }

  // Returns the number of runs that failed.
  static std::size_t run_often(const Spec& spec, LinuxBackend& backend, std::size_t count) {
    std::size_t failed = 0;
    Audience events;
    for (std::size_t i = 0; i < count; ++i) {
      const Result<Finished> finished = execute(spec, backend, captured(), events);
      if (!finished || !finished->outcome.success()) ++failed;
    }
    return failed;
  }

  // What some runs cost: printed, and the page faults are compared, which do not depend on what
  // else the machine does.
  struct Cost {
    double milliseconds = 0;  // a run
    double faults = 0;        // a run
  };
  static Cost cost_of(const Spec& spec, LinuxBackend& backend, std::size_t count) {
    const Clock::time_point start = Clock::now();
    const long faults = page_faults();
    EXPECT_EQ(run_often(spec, backend, count), 0U);
    const std::chrono::duration<double, std::milli> time = Clock::now() - start;
    return {.milliseconds = time.count() / static_cast<double>(count),
            .faults = static_cast<double>(page_faults() - faults) / static_cast<double>(count)};
  }

  void SetUp() override {
    dir.file("in/file", "input\n");
    dir.file("out/old", "old\n");
  }

  const std::set<std::string> abandoned_before = abandoned_folders();
  const TempDir dir;
  LinuxBackend backend = LinuxBackend::make().value();
};

constexpr std::size_t kWarmUp = 50;
constexpr std::size_t kSample = 50;
#ifdef HERMETIC_SANITIZED  // it keeps what is freed, to catch who uses it later
constexpr std::size_t kMostGrowthKilobytes = 400 * 1024;
constexpr double kMostMoreFaults = 1000;
#else
constexpr std::size_t kMostGrowthKilobytes = 1024;
constexpr double kMostMoreFaults = 5;
#endif

TEST_F(Soak, ManyRunsOneAfterAnother) {
  const Spec spec = spec_of(dir / "out");
  ASSERT_EQ(run_often(spec, backend, kWarmUp), 0U);
  const Held held = held_now();
  const std::size_t allocated = allocated_bytes();
  const std::size_t resident = resident_kilobytes();
  const Cost first = cost_of(spec, backend, kSample);
  const std::size_t rest = runs_wanted();
  EXPECT_EQ(run_often(spec, backend, rest), 0U);
  const Cost last = cost_of(spec, backend, kSample);
  const std::size_t resident_after = resident_kilobytes();
  const std::size_t allocated_after = allocated_bytes();
  std::cout << rest + 2 * kSample << " runs: " << held_now() << "; " << first.milliseconds
            << " ms a run at first, " << last.milliseconds << " ms at last; " << first.faults
            << " page faults a run at first, " << last.faults << " at last; resident " << resident
            << " kB before, " << resident_after << " kB after; allocated " << allocated
            << " bytes before, " << allocated_after << " after\n";
  EXPECT_EQ(held_now(), held);
  EXPECT_LE(allocated_after, allocated + 4096);
  EXPECT_LE(resident_after, resident + kMostGrowthKilobytes);
  EXPECT_LE(last.faults, first.faults + kMostMoreFaults);
  EXPECT_EQ(names_of(dir / "out"), Words{"new"});
  EXPECT_EQ(names_of(dir.path()), (Words{"in", "out"}));
  // Other runs of this user that are killed meanwhile leave a few.
  EXPECT_LT(abandoned_folders().size(), abandoned_before.size() + runs_wanted() / 10);
}

TEST_F(Soak, ManyRunsFromTwoThreads) {
  const std::size_t each = std::max<std::size_t>(runs_wanted() / 5, 60);
  const std::array<Spec, 2> specs = {spec_of(dir / "first"), spec_of(dir / "second")};
  const auto both = [&](std::size_t count) {
    std::atomic<std::size_t> failed = 0;
    std::vector<std::thread> threads;
    for (const Spec& spec : specs)
      threads.emplace_back([&] { failed += run_often(spec, backend, count); });
    for (std::thread& thread : threads) thread.join();
    return failed.load();
  };
  ASSERT_EQ(both(kWarmUp), 0U);
  const Held held = held_now();
  const std::size_t allocated = allocated_bytes();
  const std::size_t resident = resident_kilobytes();
  EXPECT_EQ(both(each), 0U);
  std::cout << "2 x " << each << " runs: " << held_now() << "; resident " << resident
            << " kB before, " << resident_kilobytes() << " kB after\n";
  EXPECT_EQ(held_now(), held);
  EXPECT_LE(allocated_bytes(), allocated + 65536);  // the threads' own
  EXPECT_LE(resident_kilobytes(), resident + kMostGrowthKilobytes);
  EXPECT_EQ(names_of(dir / "first"), Words{"new"});
  EXPECT_EQ(names_of(dir / "second"), Words{"new"});
}

}  // namespace
}  // namespace hermetic
