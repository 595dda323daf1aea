// The keys of a spec, as a file writes them, turned into a Draft.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "hermetic/base/result.h"
#include "hermetic/spec/draft.h"
#include "hermetic/spec/node_reader.h"

namespace hermetic {

constexpr std::uint64_t kMostProcesses = 4'194'304;  // PID_MAX_LIMIT of 64-bit Linux

[[nodiscard]] bool is_draft_key(std::string_view key);

// `others` are keys that may stand beside those of a draft and are read elsewhere; `where` says in
// messages what the mapping is. Draft::origins gets, besides one entry for each plain value, one
// for each "environment.NAME" and "give_up.NAME".
[[nodiscard]] Result<Draft> read_draft(const YamlNode& mapping, std::string_view where,
                                       const NodeReader& reader,
                                       std::span<const std::string_view> others);

}  // namespace hermetic
