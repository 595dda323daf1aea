#include "hermetic/learn/spec_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/learn/world.h"

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
      "  - path: $here/out\n"
      "    made_by: command\n"
      "  # the command made this file\n"
      "  - path: /srv/log\n"
      "    type: file\n"
      "    made_by: command\n"
      "environment:\n"
      "  set:\n"
      "    # named by a file that was read\n"
      "    MODE: \"it's \\\"fast\\\"\"\n"
      "# Nobody was reached: there is no network.\n");
}

TEST(SpecText, NotesCannotBreakOut) {
  World world;
  world.reads("/p/app/a\nversion: 2\n.key");
  EXPECT_THAT(spec_text(world.learned(), kProject),
              ::testing::Not(::testing::HasSubstr("\nversion: 2")));
}

}  // namespace
}  // namespace hermetic
