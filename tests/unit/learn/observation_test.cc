#include "hermetic/learn/observation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "hermetic/base/path.h"
#include "tests/unit/spec/temp_dir.h"

namespace hermetic {
namespace {

const SeenPath* find(const std::vector<SeenPath>& paths, const std::string& path) {
  const auto found = std::find_if(paths.begin(), paths.end(),
                                  [&](const SeenPath& seen) { return seen.path == path; });
  return found == paths.end() ? nullptr : &*found;
}

TEST(See, FollowsLinksNameByName) {
  const TempDir temp;
  const std::string top = temp.path();
  std::ofstream(top + "/real") << "x";
  ASSERT_EQ(::symlink("real", (top + "/two").c_str()), 0);
  ASSERT_EQ(::symlink((top + "/two").c_str(), (top + "/one").c_str()), 0);
  const auto seen = see({{.path = top + "/one", .opened = true}});
  for (const char* name : {"/one", "/two", "/real"}) {
    const SeenPath* path = find(seen, top + name);
    ASSERT_NE(path, nullptr) << name;
    EXPECT_TRUE(path->is_needed()) << name;
  }
  EXPECT_TRUE(find(seen, top + "/one")->link);
  EXPECT_FALSE(find(seen, top + "/real")->link);
}

TEST(See, AddsTheInterpretersThatTheKernelLoads) {
  const TempDir temp;
  const std::string script = temp.path() + "/script";
  std::ofstream(script) << "#! /bin/sh -e\ntrue\n";
  const auto seen = see({{.path = script, .operation = Operation::Execute}});
  ASSERT_NE(find(seen, "/bin/sh"), nullptr);
  EXPECT_TRUE(find(seen, "/bin/sh")->executed);
  // And that of the shell itself, whatever it is called here.
  EXPECT_TRUE(std::any_of(seen.begin(), seen.end(), [](const SeenPath& path) {
    return path.path.find("/ld-") != std::string::npos;
  }));
}

TEST(See, TellsWhatIsGoneFromWhatWasNeverThere) {
  const auto seen = see({{.path = "/nowhere/x", .operation = Operation::Write, .absent = true},
                         {.path = "/usr", .opened = true}});
  EXPECT_FALSE(find(seen, "/nowhere/x")->exists());
  EXPECT_FALSE(find(seen, "/nowhere/x")->written) << "nobody can have written there";
  EXPECT_EQ(find(seen, "/usr")->type, FileType::Directory);
}

TEST(MentionedVariables, AreFoundInWhatWasReadBelowTheDirectory) {
  const TempDir temp;
  std::ofstream(temp.path() + "/script") << "echo $ONE ${TWO} FOUR; x = os.environ['THREE']\n";
  const auto seen = see({{.path = temp.path() + "/script", .opened = true}});
  const std::map<std::string, std::string> environment = {{"ONE", ""},  {"TWO", ""},  {"THREE", ""},
                                                          {"FOUR", ""}, {"FIVE", ""}, {"SIX", ""}};
  EXPECT_THAT(mentioned_variables(seen, temp.path(), {"sh", "-c", "echo $FIVE"}, environment),
              ::testing::ElementsAre("FIVE", "ONE", "THREE", "TWO"));
  EXPECT_THAT(mentioned_variables(seen, "/elsewhere", {"true"}, environment), ::testing::IsEmpty());
}

}  // namespace
}  // namespace hermetic
