// Whole trees of files: remove and copy them, by descriptor, without following a link out.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"

namespace hermetic {

// A command can nest directories until whoever looks into them has no stack, descriptors or path
// left. What lies deeper than this is not looked at; who does not look says so.
inline constexpr int kDeepestTree = 500;
// A directory that lies so deep, with a path of so many bytes: a name in it may have no path.
[[nodiscard]] bool is_too_deep(std::size_t path_bytes, int depth);

// Whether something has this name, be it a link that leads nowhere. Nothing is mounted or fetched
// from afar to find out, which could take long: others choose the names that we are asked about.
[[nodiscard]] bool is_present(const std::string& path);

// Opens a directory for listing; a symbolic link at the end is refused.
[[nodiscard]] Result<UniqueFd> open_directory(int parent, const std::string& name);

// The names in an open directory, sorted by bytes.
[[nodiscard]] Result<std::vector<std::string>> names_in(int directory);

// Removes the entry `name` of `parent` and everything below it, however deep and whatever its
// modes. What does not exist is removed already.
[[nodiscard]] Result<void> remove_tree(int parent, const std::string& name);

// Copies a file, link or directory with everything below it; shares blocks where the file system
// can. Modes and modification times are kept, ownership is the caller's. What was copied before a
// failure stays: the caller removes it.
[[nodiscard]] Result<void> copy_tree(int from_parent, const std::string& from, int to_parent,
                                     const std::string& to);

}  // namespace hermetic
