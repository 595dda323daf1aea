#include "hermetic/spec/mount_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hermetic {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kSample =
    "21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/root rw\n"
    "22 21 0:20 / /proc rw,nosuid shared:5 - proc proc rw\n"
    "30 21 8:2 / /home rw shared:2 master:1 - ext4 /dev/sdb rw\n"
    "31 30 8:1 /srv/data /home/me/data rw - ext4 /dev/root rw\n"
    "32 21 8:3 / /mnt/my\\040disk rw - ext4 /dev/sdc rw\n"
    "33 21 8:3 /a\\134b\\011c /mnt/odd rw - ext4 /dev/sdc rw\n"
    "34 21 0:4 net:[4026531840] /run/netns/x rw - nsfs nsfs rw\n"
    "35 30 8:4 / /home rw - ext4 /dev/sdd rw\n";

MountTable sample() { return MountTable::parse(kSample).value(); }

std::string located(std::string_view path, std::uint64_t mount_id = 0) {
  const FilesystemPath place = sample().locate(path, mount_id);
  return place.device + " " + place.path;
}

TEST(MountTable, KnowsTheKindOfAFileSystem) {
  EXPECT_EQ(sample().showing("/usr")->filesystem, "ext4");
  EXPECT_EQ(sample().showing("/proc/1")->filesystem, "proc");  // after one field more
  EXPECT_EQ(MountTable::parse("").value().showing("/"), nullptr);
  EXPECT_EQ(MountTable::parse("1 1 8:1 / / rw\n").value().showing("/")->filesystem, "");
}

TEST(MountTable, LocatesAPathInItsFileSystem) {
  EXPECT_EQ(located("/"), "8:1 /");
  EXPECT_EQ(located("/usr/bin"), "8:1 /usr/bin");
  EXPECT_EQ(located("/homeless"), "8:1 /homeless");
  EXPECT_EQ(located("/home/me/data/x"), "8:1 /srv/data/x");
  EXPECT_EQ(located("/proc/1"), "0:20 /1");
}

TEST(MountTable, TheLastOfSeveralMountsAtAPointIsTheVisibleOne) {
  EXPECT_EQ(located("/home/me"), "8:4 /me");
  EXPECT_EQ(located("/home/me", 30), "8:2 /me") << "unless the number says otherwise";
}

TEST(MountTable, ANumberOfAMountElsewhereIsNotBelieved) {
  EXPECT_EQ(located("/usr", 22), "8:1 /usr");
}

TEST(MountTable, ReadsWhatTheKernelEscapes) {
  EXPECT_EQ(located("/mnt/my disk/x"), "8:3 /x");
  EXPECT_EQ(located("/mnt/odd"), "8:3 /a\\b\tc");
}

TEST(MountTable, LeavesABackslashAloneThatEscapesNothing) {
  const MountTable table = MountTable::parse("5 1 8:1 / /a\\9 rw\n6 1 8:2 / /b\\04 rw").value();
  EXPECT_EQ(table.locate("/a\\9", 0).path, "/");
  EXPECT_EQ(table.locate("/b\\04", 0).path, "/");
}

TEST(MountTable, ListsTheMountsStrictlyBelow) {
  std::vector<std::string> points;
  const MountTable table = sample();
  for (const Mount* mount : table.below("/home")) points.push_back(mount->point);
  EXPECT_THAT(points, ElementsAre("/home/me/data"));
  EXPECT_THAT(sample().below("/usr"), IsEmpty());
  EXPECT_THAT(sample().below("/run/netns"), IsEmpty()) << "a root that is no path is in no tree";
}

TEST(MountTable, SaysSoIfItCannotReadTheTable) {
  for (const char* text : {"nonsense\n", "12 1 8:1 /\n", "x 1 8:1 / / rw\n", "\n"}) {
    const Result<MountTable> table = MountTable::parse(text);
    ASSERT_FALSE(table) << text;
    EXPECT_THAT(table.error().message, HasSubstr("mountinfo"));
  }
  EXPECT_TRUE(MountTable::parse("")) << "no mounts are no mistake";
}

TEST(MountTable, ReadsTheTableOfThisProcess) {
  const Result<MountTable> table = MountTable::of_this_process();
  ASSERT_TRUE(table);
  EXPECT_FALSE(table->locate("/", 0).device.empty());
}

}  // namespace
}  // namespace hermetic
