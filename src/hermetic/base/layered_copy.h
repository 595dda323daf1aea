// Layers as one tree: what the overlay file system would show, copied file by file.
#pragma once

#include <string>
#include <vector>

#include "hermetic/base/result.h"

namespace hermetic {

// How the overlay file system marks what is gone: a character device 0:0 stands for one name, an
// attribute of a directory for everything that the layers below it have there.
[[nodiscard]] bool is_whiteout(unsigned mode, unsigned long device);
inline constexpr const char* kOpaqueMark = "user.overlay.opaque";  // "y"
[[nodiscard]] bool is_opaque(const std::string& directory);

// Marks a directory and all below it as opaque: it shows itself and nothing else, whatever it lies
// over. Fails where the file system has no such marks.
[[nodiscard]] Result<void> mark_as_whole(const std::string& path);

// Makes `target`, which must not be there, of `layers`, the first uppermost, and marks it as a
// whole. What was copied before a failure stays: the caller removes it.
[[nodiscard]] Result<void> copy_layers(const std::vector<std::string>& layers,
                                       const std::string& target);

}  // namespace hermetic
