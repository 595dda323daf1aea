// Files in places of hermetic's own. docs/decisions/0017-own-places.md says why they are made so.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "hermetic/base/result.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/places/own_place.h"

namespace hermetic {

// Writes all of `text`. A file comes under its name when it is complete, in place of one that was
// there; a stream is written to, for as long as it takes something every few seconds.
[[nodiscard]] Result<void> write_own_file(const OwnPlace& place, std::string_view text);

// Writes `text` at the end of what is there. A file has to be the one that was found, with one
// name.
[[nodiscard]] Result<void> append_to_own_file(const OwnPlace& place, std::string_view text);

// Opens a file there for writing bit by bit. One that was there is emptied, or replaced by a new
// one with its permissions if it has other names. A stream is opened as it is; one without a reader
// is an error.
[[nodiscard]] Result<UniqueFd> open_own_file(const OwnPlace& place, mode_t mode);

}  // namespace hermetic
