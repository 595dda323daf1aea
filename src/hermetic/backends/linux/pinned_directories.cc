#include "hermetic/backends/linux/pinned_directories.h"

#include <algorithm>

#include "hermetic/base/path.h"

namespace hermetic::linux_backend {
namespace {

using Kind = ViewEntry::Kind;

bool is_writable(Kind kind) {
  return kind == Kind::Output || kind == Kind::OutputInPlace || kind == Kind::Temp;
}

// Links and files that are made in a writable tree are part of it, and may go.
bool is_mounted(Kind kind) {
  return kind != Kind::Directory && kind != Kind::Link && kind != Kind::File;
}

}  // namespace

PinnedDirectories::PinnedDirectories(const std::vector<ViewEntry>& view) {
  for (const ViewEntry& entry : view)
    if (entry.kind != Kind::Directory)
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
