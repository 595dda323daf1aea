// Cleans arbitrary bytes, with secrets made of arbitrary bytes: no value stays, and doing it twice
// changes nothing.
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/base/check.h"
#include "hermetic/base/text.h"
#include "hermetic/record/redaction.h"

namespace {

constexpr char kEnd = '\n';

std::string_view take_line(std::string_view& bytes) {
  const std::string_view line = bytes.substr(0, bytes.find(kEnd));
  bytes.remove_prefix(line.size() == bytes.size() ? line.size() : line.size() + 1);
  return line;
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// What touches a marker may make a value of it; that was none before.
bool may_touch_a_marker(std::string_view value) {
  return value.find_first_of("[]") != std::string_view::npos;
}

}  // namespace

// The first two lines are values of secrets, the rest is the text, whose lines are arguments, too.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string first(take_line(bytes));
  const std::string second(take_line(bytes));
  const hermetic::Redaction redaction(
      std::map<std::string, std::string>{{"FIRST_TOKEN", first}, {"SECOND_PASSWORD", second}});
  const std::string cleaned = redaction.clean(bytes);
  CHECK(redaction.clean(cleaned) == cleaned);
  for (const std::string& value : {first, second}) {
    const bool is_trimmed = !value.empty() && !is_blank(value.front()) && !is_blank(value.back());
    if (value.size() < hermetic::Redaction::kShortest || !is_trimmed || may_touch_a_marker(value))
      continue;
    if (std::string_view("[redacted]").find(value) != std::string_view::npos) continue;
    CHECK(cleaned.find(value) == std::string::npos);
  }
  std::vector<std::string> arguments;
  while (!bytes.empty()) arguments.emplace_back(take_line(bytes));
  const std::vector<std::string> once = redaction.clean_arguments(arguments);
  CHECK(once.size() == arguments.size());
  CHECK(redaction.clean_arguments(once) == once);
  return 0;
}
