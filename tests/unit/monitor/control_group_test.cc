// Where groups can be made: asked of trees that look like a host's. What the kernel does with them
// is tested by tests/limits.
#include "hermetic/monitor/control_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "hermetic/monitor/group_settings.h"
#include "tests/unit/spec/temp_dir.h"

namespace hermetic {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class Unified : public ::testing::Test {
 protected:
  void SetUp() override {
    add("", "memory pids cpu io\n", "");
    std::filesystem::remove(root() + "/cgroup.type");  // the real root has none
  }
  std::string root() { return dir_.path(); }
  void add(const std::string& place, const std::string& controllers, const std::string& processes) {
    std::filesystem::create_directories(root() + "/" + place);
    const std::string prefix = place.empty() ? "" : place + "/";
    dir_.file(prefix + "cgroup.controllers", controllers);
    dir_.file(prefix + "cgroup.subtree_control", "");
    dir_.file(prefix + "cgroup.procs", processes);
    dir_.file(prefix + "cgroup.type", "domain\n");
  }
  ControlGroups find(const std::string& own) {
    return ControlGroups::find(root(), "0::" + own + "\n");
  }

  TempDir dir_;
};

TEST_F(Unified, TakesTheNearestDirectoryWithoutProcesses) {
  add("slice", "memory pids cpu\n", "");
  add("slice/scope", "memory pids cpu\n", "17\n");
  const ControlGroups groups = find("/slice/scope");
  EXPECT_EQ(groups.version(), 2);
  EXPECT_THAT(groups.places(), ElementsAre(root() + "/slice"));
  for (const Controller controller :
       {Controller::Memory, Controller::Processes, Controller::CpuShare, Controller::CpuAccounting})
    EXPECT_TRUE(groups.has(controller));
}

TEST_F(Unified, HasOnlyTheControllersThatArePassedOn) {
  add("slice", "pids\n", "");
  add("slice/scope", "pids\n", "17\n");
  const ControlGroups groups = find("/slice/scope");
  EXPECT_TRUE(groups.has(Controller::Processes));
  EXPECT_TRUE(groups.has(Controller::CpuAccounting));
  EXPECT_FALSE(groups.has(Controller::Memory));
  EXPECT_FALSE(groups.has(Controller::CpuShare));
  EXPECT_FALSE(groups.has(Controller::Disk));
}

TEST_F(Unified, UsesTheRootForWhoIsInIt) {
  dir_.file("cgroup.procs", "1\n17\n");
  EXPECT_THAT(find("/").places(), ElementsAre(root()));
  EXPECT_TRUE(find("/").has(Controller::Memory));
}

TEST_F(Unified, AContainersPathMayNotExistHere) {
  EXPECT_THAT(find("/docker/0123").places(), ElementsAre(root()));
}

TEST_F(Unified, WhatIsNotOursIsLetBe) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everything";
  add("slice", "memory pids cpu\n", "");
  add("slice/scope", "memory pids cpu\n", "17\n");
  for (const char* place : {"", "/slice", "/slice/scope"})
    ASSERT_EQ(::chmod((root() + place).c_str(), 0555), 0);
  const ControlGroups groups = find("/slice/scope");
  EXPECT_EQ(groups.version(), 0);
  EXPECT_THAT(groups.why_not(), HasSubstr("yours to write"));
  for (const char* place : {"/slice/scope", "/slice", ""})
    ASSERT_EQ(::chmod((root() + place).c_str(), 0755), 0);
}

TEST(Separate, FindsEachControllerWhereTheProcessIs) {
  const TempDir dir;
  for (const char* place : {"memory/a/b", "pids", "cpu,cpuacct"}) {
    std::filesystem::create_directories(dir.path() + "/" + place);
    dir.file(std::string(place) + "/cgroup.procs", "");
  }
  std::filesystem::create_directory_symlink("cpu,cpuacct", dir.path() + "/cpu");
  std::filesystem::create_directory_symlink("cpu,cpuacct", dir.path() + "/cpuacct");
  const ControlGroups groups = ControlGroups::find(
      dir.path(), "9:name=systemd:/x\n8:pids:/\n4:memory:/a/b\n2:cpu,cpuacct:/\n0::/\n");
  EXPECT_EQ(groups.version(), 1);
  EXPECT_TRUE(groups.has(Controller::Memory));
  EXPECT_THAT(groups.places(), SizeIs(4));
  EXPECT_EQ(groups.places().front(), dir.path() + "/memory/a/b");
}

TEST(GroupSettings, RatesAreWrittenForEachDisk) {
  const GroupLimits limits{.disk_rates = {{"8:0", 5, 7}, {"8:16", 9, std::nullopt}}};
  const auto texts = [](const std::vector<GroupSetting>& settings) {
    std::vector<std::string> found;
    for (const GroupSetting& setting : settings)
      found.push_back(std::string(setting.file) + ": " + setting.text);
    return found;
  };
  EXPECT_THAT(texts(unified_settings(limits)),
              ElementsAre("io.max: 8:0 rbps=5 wbps=7", "io.max: 8:16 rbps=9 wbps=max"));
  EXPECT_THAT(
      texts(separate_settings(limits)),
      ElementsAre("blkio.throttle.read_bps_device: 8:0 5", "blkio.throttle.write_bps_device: 8:0 7",
                  "blkio.throttle.read_bps_device: 8:16 9"));
}

TEST(Separate, NothingIsThere) {
  const TempDir dir;
  const ControlGroups groups = ControlGroups::find(dir.path(), "");
  EXPECT_EQ(groups.version(), 0);
  EXPECT_FALSE(groups.why_not().empty());
  EXPECT_FALSE(groups.make({.memory_bytes = 1}));
}

// A directory that only looks like one cannot keep a limit: that is noticed, and it is gone again.
TEST_F(Unified, ALimitThatCannotBeSetLeavesNothing) {
  const ControlGroups groups = find("/");
  const Result<ControlGroup> group = groups.make({.memory_bytes = 1 << 20});
  ASSERT_FALSE(group);
  EXPECT_THAT(group.error().message, HasSubstr("memory.max"));
  for (const auto& entry : std::filesystem::directory_iterator(root()))
    EXPECT_FALSE(entry.is_directory()) << entry.path();
}

TEST_F(Unified, RemovesWhatWasLeftAndOnlyThat) {
  const std::string mine = "hermetic-" + std::to_string(::geteuid()) + "-";
  for (const std::string& name :
       {mine + "1-aa", std::string("hermetic-4242-1-aa"), std::string("somebody"), mine + "2-bb"})
    std::filesystem::create_directories(root() + "/" + name);
  dir_.file(mine + "2-bb/busy");  // as one with processes, it cannot be removed
  std::filesystem::create_directories(root() + "/" + mine + "1-aa/inside/deeper");
  EXPECT_THAT(find("/").remove_abandoned(), ElementsAre(root() + "/" + mine + "1-aa"));
  EXPECT_TRUE(std::filesystem::exists(root() + "/hermetic-4242-1-aa"));
  EXPECT_TRUE(std::filesystem::exists(root() + "/somebody"));
  EXPECT_TRUE(std::filesystem::exists(root() + "/" + mine + "2-bb"));
}

}  // namespace
}  // namespace hermetic
