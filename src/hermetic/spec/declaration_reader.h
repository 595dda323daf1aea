// The lists "inputs", "outputs" and "temps" of a spec file.
#pragma once

#include <string_view>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/spec/declaration.h"
#include "hermetic/spec/node_reader.h"

namespace hermetic {

[[nodiscard]] Result<std::vector<Declaration>> read_declarations(const YamlNode& node,
                                                                 TreeKind kind,
                                                                 std::string_view key,
                                                                 const NodeReader& reader);

// The key "root": a directory, or a mapping that says more.
[[nodiscard]] Result<Declaration> read_root(const YamlNode& node, const NodeReader& reader);

}  // namespace hermetic
