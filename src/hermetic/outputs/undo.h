// Takes back what a journal announces, as far as it was done; doing so twice does no harm.
#pragma once

#include <functional>
#include <span>

#include "hermetic/base/result.h"
#include "hermetic/outputs/journal_record.h"

namespace hermetic {

// The open directory of this number. It stays open until the next two have been asked for.
using OpenPlace = std::function<Result<int>(std::uint32_t number)>;

// From the last record to the first. All of them are tried; the first failure is returned. What
// somebody else has put in the place of what was published is let be, and is a failure if it stands
// where something is to be put back.
[[nodiscard]] Result<void> take_back(std::span<const JournalRecord> records, const OpenPlace& open);

// Removes what has temporary names; only for what was published, or taken back, as a whole.
[[nodiscard]] Result<void> remove_temporaries(std::span<const JournalRecord> records,
                                              const OpenPlace& open);

}  // namespace hermetic
