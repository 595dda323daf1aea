#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hermetic/learn/spec_text.h"
#include "hermetic/spec/loader.h"
#include "tests/unit/spec/property.h"

namespace hermetic {
namespace {

// Whatever a word holds, the loader reads the same word.
TEST(SpecText, AnyTextComesBack) {
  check_property(2000, [] {
    std::string word = "x";
    static const std::string letters = "ab/.$-+=@:#,[]{}&*!|>'\"%`~ \t\n\\\x01\x7f?_0";
    static const std::vector<std::string> others = {"\u0085", "\u009f", "\u2028", "\u2029",
                                                    "\ufeff", "\u00e9", "\u4e2d"};
    for (const std::uint32_t number : draw_numbers(12)) {
      const std::size_t choice = number % (letters.size() + others.size());
      if (choice < letters.size())
        word += letters[choice];
      else
        word += others[choice - letters.size()];
    }
    if (word.size() % 2 == 0) word.erase(0, 1);
    if (word.starts_with("$here")) word.clear();
    Learned learned;
    learned.command = {"true", word, "last"};
    learned.directory = "/";
    const Result<Project> project = parse_project(spec_text(learned, "/p"), "text", "/p");
    if (!project) RC_FAIL(to_string(project.error()));
    RC_ASSERT(project->defaults.command == learned.command);
  });
}

}  // namespace
}  // namespace hermetic
