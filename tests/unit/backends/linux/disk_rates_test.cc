// Which disks a run has, asked of a table of mounts and of a tree that looks like /sys.
#include "hermetic/backends/linux/disk_rates.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/spec/temp_dir.h"

namespace hermetic::linux_backend {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using EntryKind = ViewEntry::Kind;

constexpr std::string_view kMounts =
    "21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "30 21 8:2 / /home rw shared:2 master:1 - ext4 /dev/sda2 rw\n"
    "31 21 8:16 / /srv rw - xfs /dev/sdb rw\n"
    "32 21 0:30 / /memory rw - tmpfs tmpfs rw\n"
    "33 21 0:31 / /layers rw - overlay overlay rw\n"
    "34 21 8:17 / /stick rw - vfat /dev/sdb1 rw\n"
    "35 21 8:18 / /usr/share rw - ext4 /dev/sdb2 rw\n";

class DiskRates : public ::testing::Test {
 protected:
  // Two disks with partitions, as links to their folders.
  void SetUp() override {
    for (const auto& [disk, number, first] : {std::tuple("sda", "8:0", 1), {"sdb", "8:16", 17}}) {
      const std::string folder = std::string("devices/") + disk;
      sys_.file(folder + "/dev", std::string(number) + "\n");
      sys_.link(std::string("dev/block/") + number, "../../" + folder);
      for (const int part : {first, first + 1}) {
        const std::string inner = folder + "/" + disk + std::to_string(part);
        sys_.file(inner + "/dev", "8:" + std::to_string(part) + "\n");
        sys_.file(inner + "/partition", "1\n");
        sys_.link("dev/block/8:" + std::to_string(part), "../../" + inner);
      }
    }
  }

  static Plan plan(std::vector<ViewEntry> view, ResourceLimits limits) {
    Plan plan;
    plan.view = std::move(view);
    plan.limits = limits;
    return plan;
  }
  Result<std::vector<DiskRate>> rates(const Plan& plan, int standard_output = -1) {
    const RunOptions options{
        .standard_input = -1, .standard_output = standard_output, .standard_error = -1};
    return disk_rates(plan, Staging(), options, MountTable::parse(kMounts).value(), sys_.path());
  }

  const TempDir sys_;
};

ViewEntry input(const std::string& path) {
  return {.kind = EntryKind::Input, .path = path, .source = path};
}
ViewEntry in_place(const std::string& path) {
  return {.kind = EntryKind::OutputInPlace, .path = path, .source = path};
}

TEST_F(DiskRates, AreThoseOfTheWholeDisk) {
  EXPECT_THAT(rates(plan({input("/etc"), input("/home/me")}, {.disk_read_rate = 5})).value(),
              ElementsAre(DiskRate{.disk = "8:0", .read_bytes = 5}));
}

TEST_F(DiskRates, AreOfWhatIsMountedBelowToo) {
  EXPECT_THAT(rates(plan({input("/usr")}, {.disk_read_rate = 5})).value(),
              ElementsAre(DiskRate{.disk = "8:0", .read_bytes = 5},
                          DiskRate{.disk = "8:16", .read_bytes = 5}));
}

TEST_F(DiskRates, OfWritesAreThoseOfWhatIsWritten) {
  EXPECT_THAT(
      rates(plan({input("/etc"), in_place("/srv/x")}, {.disk_read_rate = 5, .disk_write_rate = 7}))
          .value(),
      ElementsAre(DiskRate{.disk = "8:0", .read_bytes = 5},
                  DiskRate{.disk = "8:16", .read_bytes = 5, .written_bytes = 7}));
}

TEST_F(DiskRates, AreOfTheFilesThatTheCallerHasOpened) {
  const UniqueFd file(::open((sys_ / "output").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  EXPECT_THAT(rates(plan({}, {.disk_write_rate = 7}), file.get()).value(),
              ElementsAre(DiskRate{.disk = "8:0", .written_bytes = 7}));
  EXPECT_THAT(rates(plan({}, {.disk_write_rate = 7})).value(), IsEmpty());
}

TEST_F(DiskRates, AreNoneForWhatIsInMemory) {
  EXPECT_THAT(
      rates(plan({in_place("/memory/x")}, {.disk_read_rate = 5, .disk_write_rate = 7})).value(),
      IsEmpty());
}

TEST_F(DiskRates, AreRefusedWhereThereIsNoDisk) {
  Plan layered = plan({input("/etc"), input("/layers/x")}, {.disk_read_rate = 5});
  const Result<std::vector<DiskRate>> refused = rates(layered);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Error::Kind::Unsupported);
  EXPECT_THAT(refused.error().message,
              AllOf(HasSubstr("disk-read-rate cannot be kept for '/layers/x'"),
                    HasSubstr("'overlay', mounted at '/layers'")));
  EXPECT_THAT(refused.error().hint, HasSubstr("--give-up disk-read-rate"));
  layered.clauses.push_back({.clause = Clause::DiskReadRate, .given_up = true});
  EXPECT_THAT(rates(layered).value(), ElementsAre(DiskRate{.disk = "8:0", .read_bytes = 5}));
}

TEST_F(DiskRates, OfWritesAreRefusedWhereTheKernelForgetsWhoWrote) {
  EXPECT_TRUE(rates(plan({in_place("/stick/x")}, {.disk_read_rate = 5})));
  Plan stick = plan({in_place("/stick/x")}, {.disk_write_rate = 7});
  EXPECT_THAT(rates(stick).error().message, HasSubstr("does not know for whom it writes"));
  stick.clauses.push_back({.clause = Clause::DiskWriteRate, .given_up = true});
  EXPECT_THAT(rates(stick).value(), ElementsAre(DiskRate{.disk = "8:16", .written_bytes = 7}));
}

}  // namespace
}  // namespace hermetic::linux_backend
