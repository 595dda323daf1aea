// What an input held: a digest of its content, or of the programs that were executed out of it.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/spec/spec.h"

namespace hermetic {

struct InputDigest {
  enum class Measure {
    Content,   // every file, link and directory in it; as outputs, see docs/reference/outcome.md
    Name,      // nothing: git's own folder changes whenever somebody looks at it
    Programs,  // only what was executed out of it: a system's own directories are too large
  };

  std::string path;         // inside
  std::string source = {};  // on the host, if it lies elsewhere there
  Measure measure = Measure::Content;
  std::string digest = {};
  std::uint64_t files = 0;
  std::uint64_t size_bytes = 0;
  // "kind digest path" of each entry below, sorted; empty if there are too many to be listed.
  std::vector<std::string> listing = {};

  friend bool operator==(const InputDigest&, const InputDigest&) = default;
};
[[nodiscard]] std::string_view to_string(
    InputDigest::Measure measure);  // "content", "name", "programs"

// Of every input of the spec, in the order of their paths. `executed` are the programs that the run
// has executed. What cannot be read is listed as unreadable: the command could not read it, either.
// With `Programs` as `usual` measure, no input is looked through.
[[nodiscard]] Result<std::vector<InputDigest>> digest_inputs(
    const Spec& spec, const std::set<std::string>& executed,
    InputDigest::Measure usual = InputDigest::Measure::Content);

}  // namespace hermetic
