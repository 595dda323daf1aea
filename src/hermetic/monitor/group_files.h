// The files of a control group: each is read and written as a whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hermetic {

// "" if there is none.
[[nodiscard]] std::string read_group_file(int group, const char* name);
// An errno.
int write_group_file(int group, const char* name, std::string_view text);

// The number that the text begins with.
[[nodiscard]] std::optional<std::uint64_t> number_in(std::string_view text);

// Takes the first line off the text.
[[nodiscard]] std::string_view take_line(std::string_view& text);

}  // namespace hermetic
