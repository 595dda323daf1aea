// Kept changes: what a run has changed in a layered temp, moved to where its user wants it.
#pragma once

#include <string>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/places/own_place.h"
#include "hermetic/workspace/changes.h"

namespace hermetic {

// Moves `upper` to a place that holds nothing yet, or copies it if that is another file system:
// files as they are now, removed ones as character devices 0:0, and the marks of directories that
// were made anew. What was in a folder of ours alone comes to where others may be: no file keeps a
// set-user-id or set-group-id bit, and nobody else may write to the folder.
[[nodiscard]] Result<void> move_changes(const std::string& upper, const OwnPlace& place);

// Makes `target`, which must not be there, of those parts of `upper` that have changed: what the
// overlay file system would have kept if `upper` was not a copy of all its layers. What was copied
// before a failure stays: the caller removes it.
[[nodiscard]] Result<void> copy_changes(const std::string& upper,
                                        const std::vector<Change>& changes,
                                        const std::string& target);

}  // namespace hermetic
