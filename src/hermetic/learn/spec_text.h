// A learned spec as people read it: YAML, with a comment for each rule that was applied.
#pragma once

#include <string>

#include "hermetic/learn/generalise.h"

namespace hermetic {

// `here` is the folder that the file will stand in: what lies below it is written with $here.
[[nodiscard]] std::string spec_text(const Learned& learned, const std::string& here);

// One text of YAML: bare if it has nothing but letters, digits and what stands in paths, otherwise
// in double quotes.
[[nodiscard]] std::string yaml_scalar(const std::string& text);

}  // namespace hermetic
