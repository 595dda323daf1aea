// A disk that fills up while outputs are published: the message says so, and what was there before
// is still there.
#include <sys/mount.h>

#include "tests/faults/scene.h"

namespace hermetic {
namespace {

// Two file systems, a small one for outputs and one that stands in for /var/tmp, where outputs are
// prepared that cannot be prepared beside their destination.
class Disks {
 public:
  explicit Disks(const std::string& options)
      : works(mount(small, options) && mount("/var/tmp", "mode=1777,size=64m")) {}
  Disks(const Disks&) = delete;
  Disks& operator=(const Disks&) = delete;
  ~Disks() {
    ::umount2("/var/tmp", MNT_DETACH);
    ::umount2(small.c_str(), MNT_DETACH);
  }

  // A run that must fail for want of space, or must not; complaints or nothing.
  std::string run(const SpecBuilder& builder, bool fits) const {
    const Snapshot before = snapshot_of(dir.path());
    const Result<Finished> finished = try_run(builder);
    if (!names_of("/var/tmp").empty()) return "left in /var/tmp";
    for (const auto& [path, text] : snapshot_of(dir.path()))
      if (path.find("/.hermetic-") != std::string::npos) return "left: " + path;
    if (fits) return finished ? "" : to_string(finished.error());
    if (finished) return "it was published";
    if (finished.error().os_error != ENOSPC) return to_string(finished.error());
    return snapshot_of(dir.path()) == before ? "" : "something has changed";
  }

  const TempDir dir;
  const std::string small = dir.directory("small");
  const bool works;

 private:
  static bool mount(const std::string& place, const std::string& options) {
    return ::mount("tmpfs", place.c_str(), "tmpfs", 0, options.c_str()) == 0;
  }
};

constexpr const char* kSmall = "mode=0755,size=128k";
constexpr const char* kRoomy = "mode=0755,size=64m";
constexpr const char* kFewEntries = "mode=0755,size=64m,nr_inodes=12";

std::string write_much(const std::string& file) {
  return "head -c 1000000 /dev/zero >" + file + "; ";
}

using Make = std::function<SpecBuilder(const Disks&)>;

// Complaints about the run where there is too little space; the control is the same run where
// there is enough.
void expect_nothing_lost(const Make& make, const char* options = kSmall) {
  for (const bool fits : {true, false}) {
    const Answer answer = ask_with_own_mounts([&]() -> std::string {
      const Disks disks(fits ? kRoomy : options);
      return disks.works ? disks.run(make(disks), fits) : "no file systems of its own";
    });
    SKIP_UNLESS_ANSWERED(answer);
    EXPECT_EQ(answer.text, "") << (fits ? "with enough space" : "with too little space");
  }
}

TEST(DiskFull, WhereTheDestinationIsAMountPoint) {
  expect_nothing_lost([](const Disks& disks) {
    disks.dir.file("small/old", "old");
    disks.dir.file("small/sub/old", "old");
    return shell("echo new >" + disks.small + "/a; " + write_much(disks.small + "/b"))
        .output(disks.small);
  });
}

TEST(DiskFull, WhereAnOutputIsCopiedAsAWhole) {
  expect_nothing_lost([](const Disks& disks) {
    disks.dir.file("small/in/file", "input");
    disks.dir.file("small/out/old", "old");
    const std::string out = disks.small + "/out";
    return shell("echo new >" + out + "/a; " + write_much(out + "/b"))
        .input(disks.small, {out})
        .output(out);
  });
}

TEST(DiskFull, WhereAFileIsCopied) {
  expect_nothing_lost([](const Disks& disks) {
    disks.dir.file("small/in/file", "input");
    disks.dir.file("small/file", "old");
    const std::string file = disks.small + "/file";
    return shell(write_much(file))
        .input(disks.small, {file})
        .output(file, Publish::Replace, FileType::File);
  });
}

TEST(DiskFull, WhereOutputsAreMerged) {
  expect_nothing_lost([](const Disks& disks) {
    disks.dir.file("small/a", "old");
    disks.dir.file("small/z", "old");
    return shell("echo new >" + disks.small + "/a; " + write_much(disks.small + "/m") +
                 "echo new >" + disks.small + "/z")
        .output(disks.small, Publish::Merge);
  });
}

TEST(DiskFull, TakesBackWhatWasPublishedElsewhere) {
  expect_nothing_lost([](const Disks& disks) {
    disks.dir.file("first/old", "old");
    disks.dir.file("small/old", "old");
    return shell("echo new >" + disks.dir / "first/new" + "; " + write_much(disks.small + "/b"))
        .output(disks.dir / "first")
        .output(disks.small);
  });
}

TEST(DiskFull, OfEntries) {
  expect_nothing_lost(
      [](const Disks& disks) {
        disks.dir.file("small/old", "old");
        return shell("cd " + disks.small + "; for i in $(seq 20); do mkdir $i; done")
            .output(disks.small);
      },
      kFewEntries);
}

// The command learns of it first, and ends as it likes; then nothing is published.
TEST(DiskFull, WhileTheCommandWrites) {
  const Answer answer = ask_with_own_mounts([]() -> std::string {
    const Disks disks(kSmall);
    if (!disks.works) return "no file systems of its own";
    disks.dir.file("small/out/old", "old");
    const Result<Finished> finished = try_run(
        shell("set -e; " + write_much(disks.small + "/out/b")).output(disks.small + "/out"));
    if (!finished) return to_string(finished.error());
    if (finished->outcome.success()) return "it succeeds";
    if (names_of(disks.small) != Words{"out"}) return "something is left";
    return content_of(disks.small + "/out/old");
  });
  SKIP_UNLESS_ANSWERED(answer);
  EXPECT_EQ(answer.text, "old");
}

}  // namespace
}  // namespace hermetic
