#include "hermetic/learn/spec_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hermetic/spec/loader.h"
#include "tests/unit/learn/world.h"
#include "tests/unit/spec/property.h"

namespace hermetic {
namespace {

TEST(SpecText, IsReadableAndExplained) {
  World world;
  world.runs("/usr/bin/make").reads("/srv/a b").makes("/p/app/out", FileType::Directory);
  world.makes("/srv/log").observation.mentioned = {"MODE"};
  world.observation.environment = {{"MODE", "it's \"fast\""}};
  EXPECT_EQ(
      spec_text(world.learned(), kProject),
      "# Learned by 'hermetic learn' from one run. What another run may need besides is not in "
      "here.\n"
      "version: 1\n"
      "command: [make]\n"
      "directory: $here\n"
      "inputs:\n"
      "  # programs and libraries of the system\n"
      "  - /usr\n"
      "  # files that were read\n"
      "  - \"/srv/a b\"\n"
      "outputs:\n"
      "  # the command made this directory\n"
      "  - $here/out\n"
      "  # the command made this file\n"
      "  - path: /srv/log\n"
      "    type: file\n"
      "environment:\n"
      "  set:\n"
      "    # named by a file that was read\n"
      "    MODE: \"it's \\\"fast\\\"\"\n"
      "# Nobody was reached: there is no network.\n");
}

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

TEST(SpecText, NotesCannotBreakOut) {
  World world;
  world.reads("/p/app/a\nversion: 2\n.key");
  EXPECT_THAT(spec_text(world.learned(), kProject),
              ::testing::Not(::testing::HasSubstr("\nversion: 2")));
}

}  // namespace
}  // namespace hermetic
