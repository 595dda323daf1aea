#include "hermetic/backends/linux/pinned_directories.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hermetic::linux_backend {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using EntryKind = ViewEntry::Kind;

TEST(PinnedDirectories, AreTheWayFromAWritableTreeToWhatIsMountedInIt) {
  const std::vector<ViewEntry> view = {{.kind = EntryKind::OutputInPlace, .path = "/o"},
                                       {.kind = EntryKind::Directory, .path = "/o/a"},
                                       {.kind = EntryKind::Hidden, .path = "/o/a/b/key"},
                                       {.kind = EntryKind::Temp, .path = "/o/a/c/t"}};
  PinnedDirectories pinned(view);
  EXPECT_THAT(pinned.above(view[0]), IsEmpty());
  EXPECT_THAT(pinned.above(view[1]), IsEmpty()) << "it holds nothing itself";
  EXPECT_THAT(pinned.above(view[2]), ElementsAre("/o/a", "/o/a/b")) << "parents first";
  EXPECT_THAT(pinned.above(view[3]), ElementsAre("/o/a/c")) << "each once";
}

TEST(PinnedDirectories, AreNoneWhereNothingCanBeMoved) {
  const std::vector<ViewEntry> view = {{.kind = EntryKind::Output, .path = "/o"},
                                       {.kind = EntryKind::Input, .path = "/o/in"},
                                       {.kind = EntryKind::Hidden, .path = "/o/in/a/b"},
                                       {.kind = EntryKind::Link, .path = "/o/x/link"},
                                       {.kind = EntryKind::Input, .path = "/usr/lib/x"}};
  PinnedDirectories pinned(view);
  for (const ViewEntry& entry : view) EXPECT_THAT(pinned.above(entry), IsEmpty()) << entry.path;
}

}  // namespace
}  // namespace hermetic::linux_backend
