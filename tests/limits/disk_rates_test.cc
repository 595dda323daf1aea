// Rates of disks, kept by the kernel. A rate is seen in what was not moved when the time was over;
// a machine that is slow moves even less.
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>

#include "hermetic/monitor/block_device.h"
#include "tests/limits/groups_of.h"
#include "tests/sandbox/sandbox.h"

namespace hermetic {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

bool is_enforced(Clause clause) {
  return LinuxBackend::make().value().probe().clauses.at(clause).strength == Strength::Enforced;
}

// "254:0", or "" if the path lies on none.
std::string disk_of(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return "";
  const Result<std::string> disk =
      whole_disk(std::to_string(major(status.st_dev)) + ":" + std::to_string(minor(status.st_dev)));
  return disk ? *disk : "";
}

// What the groups of this process say about their disks.
std::vector<std::string> rates_in_force() {
  std::vector<std::string> lines;
  for (const std::string& group : groups_of(::getpid()))
    for (const char* file :
         {"io.max", "blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device"}) {
      std::ifstream stream(group + "/" + file);
      for (std::string line; std::getline(stream, line);) lines.push_back(line);
    }
  return lines;
}

class DiskRates : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!is_enforced(Clause::DiskReadRate)) GTEST_SKIP() << "no control group with disks is ours";
    disk_ = disk_of(dir_.path());
    if (disk_.empty()) GTEST_SKIP() << "the temporary files are on no disk here";
  }

  SpecBuilder mover(const std::string& how, int megabytes) const {
    const std::string path = how == "read-past-cache" ? file() : out() + "/file";
    return sandboxed({misbehave("use_up"), how, path, std::to_string(megabytes)})
        .input(dir_.path(), {out()})
        .output(out());
  }
  std::string file() const { return dir_.path() + "/file"; }
  std::string out() const { return dir_.path() + "/out"; }

  const TempDir dir_;
  std::string disk_;
};

Outcome run_for_two_seconds(SpecBuilder builder, ResourceLimits limits) {
  limits.wall_time = 2s;
  RunOptions options = captured();
  options.grace = 100ms;
  return run(builder.limits(limits), options);
}

TEST_F(DiskRates, AreInForceWhileTheRunLastsAndThenLifted) {
  const Spec spec = sandboxed({"sleep", "600"})
                        .input(dir_.path())
                        .limits({.disk_read_rate = 7 * kMegabyte})
                        .build()
                        .value();
  LinuxBackend linux = LinuxBackend::make().value();
  const Plan plan = make_plan(spec, linux.probe()).value();
  Audience events;
  const std::unique_ptr<hermetic::Run> run = linux.start(plan, captured(), events).value();
  const bool unified = ControlGroups::of_this_process().version() == 2;
  const std::string expected =
      disk_ + (unified ? " rbps=7340032 wbps=max riops=max wiops=max" : " 7340032");
  EXPECT_THAT(rates_in_force(), Contains(expected));
  run->kill();
  EXPECT_THAT(rates_in_force(), Not(Contains(HasSubstr("7340032"))));
  (void)run->wait();
  EXPECT_TRUE(groups_of(::getpid()).empty());
}

TEST_F(DiskRates, HoldReadsBack) {
  std::ofstream(file()) << std::string(64 * kMegabyte, 'x');
  const SpecBuilder reader = mover("read-past-cache", 64);
  EXPECT_THAT(output_of(reader), EndsWith("all\n"));
  EXPECT_THAT(output_of(SpecBuilder(reader).limits({.disk_read_rate = 4096 * kMegabyte})),
              EndsWith("all\n"));
  const Outcome slow = run_for_two_seconds(reader, {.disk_read_rate = kMegabyte});
  EXPECT_EQ(slow.ending, Ending(TimedOut{2s}));
  EXPECT_THAT(slow.standard_output.text, Not(HasSubstr("all")));
  const std::string& text = slow.standard_output.text;
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 32);
}

TEST_F(DiskRates, HoldWritesBack) {
  // Version 1 keeps the rate for what goes past the cache only, and says so.
  const bool enforced = is_enforced(Clause::DiskWriteRate);
  const std::vector<std::string> ways =
      enforced ? Words{"write-past-cache", "write-later"} : Words{"write-past-cache"};
  for (const std::string& how : ways) {
    SCOPED_TRACE(how);
    const SpecBuilder writer = mover(how, 64);
    EXPECT_THAT(output_of(writer), EndsWith("all\n"));
    const SpecBuilder limited = enforced ? writer : SpecBuilder(writer).give_up("disk-write-rate");
    const Outcome slow = run_for_two_seconds(limited, {.disk_write_rate = kMegabyte});
    EXPECT_EQ(slow.ending, Ending(TimedOut{2s}));
    EXPECT_THAT(slow.standard_output.text, Not(HasSubstr("all")));
  }
  if (enforced) return;
  const Result<Finished> refused = try_run(mover("write-later", 1).limits({.disk_write_rate = 1}));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("disk-write-rate is absent: cgroup v1"));
}

TEST_F(DiskRates, AreRefusedForWhatHasNoDiskOfItsOwn) {
  const TempDir dir;
  for (const char* name : {"lower", "upper", "work", "merged"})
    std::filesystem::create_directory(dir / name);
  const auto attempt = [&](bool gives_up) {
    SpecBuilder builder =
        sandboxed({"true"}).input(dir / "merged").limits({.disk_read_rate = 1 << 20});
    if (gives_up) builder.give_up("disk-read-rate");
    const Result<Finished> finished = try_run(builder);
    return finished ? std::string("ran") : finished.error().message;
  };
  const auto ask = [&](bool gives_up) {
    return ask_with_own_mounts([&]() -> std::string {
      const std::string options =
          "lowerdir=" + dir / "lower" + ",upperdir=" + dir / "upper" + ",workdir=" + dir / "work";
      const std::string place = dir / "merged";
      if (::mount("overlay", place.c_str(), "overlay", 0, options.c_str()) != 0)
        return "no overlay";
      return attempt(gives_up);
    });
  };
  SKIP_UNLESS_ANSWERED(ask(false));
  if (ask(false).text == "no overlay") GTEST_SKIP() << "overlays cannot be mounted here";
  EXPECT_THAT(ask(false).text, HasSubstr("disk-read-rate cannot be kept for '" + dir / "merged" +
                                         "': its file system has no disk of its own ('overlay'"));
  EXPECT_EQ(ask(true).text, "ran");
  EXPECT_EQ(attempt(false), "ran");  // the same without an overlay
}

TEST(DiskRate, IsRefusedWithoutGroups) {
  LinuxBackend linux = LinuxBackend::make(Mounts::Detect, LinuxBackend::Groups::None).value();
  Audience events;
  for (const bool reads : {true, false}) {
    ResourceLimits limits;
    (reads ? limits.disk_read_rate : limits.disk_write_rate) = kMegabyte;
    const Spec spec = sandboxed({"true"}).limits(limits).build().value();
    const Result<Finished> finished = execute(spec, linux, captured(), events);
    ASSERT_FALSE(finished);
    EXPECT_THAT(finished.error().message,
                HasSubstr(reads ? "disk-read-rate is absent" : "disk-write-rate is absent"));
  }
}

}  // namespace
}  // namespace hermetic
