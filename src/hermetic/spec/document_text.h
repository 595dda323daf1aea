// The text of a spec file before it is parsed: read with a cap, checked character by character.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/base/result.h"

namespace hermetic {

constexpr std::size_t kLargestDocumentBytes = std::size_t{1} << 20U;

// A place in a text; both numbers count from 1, columns in characters.
struct Place {
  int line = 1;
  int column = 1;

  friend auto operator<=>(const Place&, const Place&) = default;
};

// "-", "/dev/stdin" and "/dev/fd/N" (what a shell makes of <(...)) name a stream.
[[nodiscard]] bool is_stream(std::string_view file);
[[nodiscard]] std::string document_name(
    const std::string& file);  // for messages: "<stdin>" for "-"

// Reads a regular file or a stream. Fails with InvalidSpec for anything else and for what is larger
// than the cap (a regular file is then not read at all), with System if the file cannot be opened
// or read.
[[nodiscard]] Result<std::string> read_document(const std::string& file);

// Refuses what is not UTF-8, a byte order mark, and every character that is invisible or that YAML
// takes for a line break where an editor does not: so a place means the same here and in an editor.
[[nodiscard]] Result<void> check_characters(std::string_view text, const std::string& file_name);

// JSON writes characters beyond U+FFFF as two \u escapes, which YAML does not know. Only text that
// is JSON as a whole may be passed: elsewhere a backslash need not be an escape.
struct JoinedSurrogates {
  std::string text;         // each pair as one \U escape, which is two columns shorter
  std::vector<Place> ends;  // where each \U escape ends in `text`; sorted

  [[nodiscard]] Place original(Place place) const;  // of a place in `text`
};
[[nodiscard]] JoinedSurrogates join_surrogates(std::string_view json);

// The first \u escape that is half of a pair without its other half.
[[nodiscard]] std::optional<Place> find_lone_surrogate(std::string_view json);

}  // namespace hermetic
