// Layers as one tree: what the overlay file system would show, copied file by file.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "hermetic/base/result.h"

namespace hermetic {

// How the overlay file system marks what is gone: a character device 0:0 stands for one name, an
// attribute of a directory for everything that the layers below it have there.
[[nodiscard]] bool is_whiteout(unsigned mode, unsigned long device);
inline constexpr const char* kOpaqueMark = "user.overlay.opaque";  // "y"
[[nodiscard]] bool is_opaque(const std::string& directory);

// An attribute of the directory in which a tree is a copy of all its layers, out of reach of the
// command that is given the tree: it shows itself and nothing else, whatever has become of its own
// marks.
inline constexpr const char* kCopiedMark = "user.hermetic.copied";  // "y"
[[nodiscard]] bool is_copy(const std::string& upper);

// Marks a directory and all below it as opaque: it shows itself and nothing else, whatever it lies
// over. Fails where the file system has no such marks.
[[nodiscard]] Result<void> mark_as_whole(const std::string& path, int depth = 0);

// How many of the layers show, the first uppermost: what lies below one that is a whole does not.
// The kernel heeds the mark of every directory but that of a layer itself.
[[nodiscard]] std::size_t shown_layers(const std::vector<std::string>& layers);

// Makes `target`, which must not be there, of `layers`, the first uppermost, and marks it as a
// whole. What was copied before a failure stays: the caller removes it.
[[nodiscard]] Result<void> copy_layers(const std::vector<std::string>& layers,
                                       const std::string& target);

// Puts a copy of what `folder`/`name` holds over `layers` in the place of that, and marks the
// folder, which is open as `directory`. It has the name `making` until it is whole: a copy that was
// broken off is not taken for one.
[[nodiscard]] Result<void> replace_by_copy(int directory, const std::string& folder,
                                           std::vector<std::string> layers, const char* name,
                                           const char* making);

}  // namespace hermetic
