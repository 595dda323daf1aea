#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/base/text.h"
#include "hermetic/record/redaction.h"
#include "tests/unit/spec/property.h"

namespace hermetic {
namespace {

using Environment = std::map<std::string, std::string>;

constexpr std::string_view kLetters = "abcXYZ019-_./+%\\\"' :=@&\n\xc3\xa9";

std::string text_from(const std::vector<std::uint32_t>& numbers, std::string_view letters) {
  std::string text;
  for (const std::uint32_t number : numbers) text += letters[number % letters.size()];
  return text;
}

TEST(RedactionProperty, NoSecretOfTheEnvironmentSurvives) {
  check_property(3000, [] {
    Environment environment;
    std::vector<std::string> values;
    for (const char* name : {"A_TOKEN", "B_SECRET", "C_PASSWORD"}) {
      // Blanks around a value are not part of it.
      values.push_back("s" + text_from(draw_numbers(12), kLetters) + "ecret");
      environment[name] = values.back();
    }
    std::string text;
    for (const std::uint32_t number : draw_numbers(12))
      text += number % 3 == 0 ? values[number / 3 % 3]
                              : std::string(1, kLetters[number % kLetters.size()]);
    const Redaction redaction(environment);
    const std::string cleaned = redaction.clean(text);
    for (const std::string& value : values)
      RC_ASSERT(value.size() < Redaction::kShortest || cleaned.find(value) == std::string::npos);
    RC_ASSERT(redaction.clean(cleaned) == cleaned);
    RC_ASSERT(redaction.clean(printable(text)).find(printable(values[0])) == std::string::npos);
  });
}

TEST(RedactionProperty, TextWithoutSecretsIsUnchanged) {
  check_property(3000, [] {
    const Redaction redaction(Environment{{"A_TOKEN", "QQQQQQQQ"}});
    const std::string text = text_from(draw_numbers(60), "abcxyz019-_./+% \n(),");
    RC_ASSERT(redaction.clean(text) == text);
  });
}

TEST(RedactionProperty, DoingItTwiceChangesNothing) {
  const std::vector<std::string> pieces = {
      "--password", "=",    " ",
      "token",      "AKIA", "QQQQQQQQQQQQQQQQ",
      "://",        "u:p@", "[redacted]",
      "[redacted",  ":",    "]",
      "'",          "\"",   "\\",
      "%41",        "&",    "correct-horse",
      "eyJa",       ".",    "ey",
      "J",          "ghp_", "abcdefghijklmnopqrstuvwxyz0123456789"};
  check_property(3000, [&] {
    const Redaction redaction(Environment{{"A_TOKEN", "correct-horse"}, {"B_KEY", "QQQQQQQQ="}});
    std::string text;
    for (const std::uint32_t number : draw_numbers(16)) text += pieces[number % pieces.size()];
    const std::string cleaned = redaction.clean(text);
    RC_ASSERT(redaction.clean(cleaned) == cleaned);
    RC_ASSERT(cleaned.find("correct-horse") == std::string::npos);
  });
}

}  // namespace
}  // namespace hermetic
