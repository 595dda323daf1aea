// A YAML or JSON document as a tree of nodes that know where they stand.
//
// Only the plain part of YAML is accepted: one document of scalars, sequences and mappings. Scalars
// stay text; what they mean is for the reader of each key to say, never for YAML's implicit rules.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/spec/document_text.h"

namespace hermetic {

struct YamlEntry;

struct YamlNode {
  enum class Kind { Scalar, Sequence, Mapping };

  Kind kind = Kind::Scalar;
  std::string text;             // of a scalar; never contains NUL
  bool quoted = false;          // of a scalar: in quotes or as a block, so that it is surely text
  std::vector<YamlNode> items;  // of a sequence
  std::vector<YamlEntry> entries;  // of a mapping, in the order of the file; keys differ
  Place place;
};

struct YamlEntry {
  std::string key;
  Place place;  // of the key
  YamlNode value;
};

// The entry with this key; null if there is none.
[[nodiscard]] const YamlEntry* entry_of(const YamlNode& mapping, std::string_view key);

// Never throws and never crashes, whatever the text. Fails with InvalidSpec, a place and a remedy
// for: more than 1 MiB, bad characters, bad syntax, no document or several, anchors and aliases,
// tags, merge keys, keys that are no scalars, duplicate keys, more than 32 levels or 100,000 nodes.
[[nodiscard]] Result<YamlNode> parse_yaml(std::string_view text, const std::string& file_name);

}  // namespace hermetic
