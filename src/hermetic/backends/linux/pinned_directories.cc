#include "hermetic/backends/linux/pinned_directories.h"

#include <algorithm>

#include "hermetic/base/path.h"

namespace hermetic::linux_backend {
namespace {

using EntryKind = ViewEntry::Kind;

bool is_writable(EntryKind kind) {
  return kind == EntryKind::Output || kind == EntryKind::OutputInPlace || kind == EntryKind::Temp;
}

// Links and files that are made in a writable tree are part of it, and may go.
bool is_mounted(EntryKind kind) {
  return kind != EntryKind::Directory && kind != EntryKind::Link && kind != EntryKind::File;
}

}  // namespace

PinnedDirectories::PinnedDirectories(const std::vector<ViewEntry>& view) {
  for (const ViewEntry& entry : view)
    if (entry.kind != EntryKind::Directory)
      (is_writable(entry.kind) ? writable_ : others_).insert(entry.path);
}

std::vector<std::string> PinnedDirectories::above(const ViewEntry& entry) {
  std::vector<std::string> directories;
  if (!is_mounted(entry.kind)) return directories;
  std::string_view above = parent_of(entry.path);
  for (; !writable_.contains(above); above = parent_of(above)) {
    if (above == "/" || others_.contains(above)) return {};
    if (given_.insert(std::string(above)).second) directories.emplace_back(above);
  }
  std::reverse(directories.begin(), directories.end());
  return directories;
}

}  // namespace hermetic::linux_backend
