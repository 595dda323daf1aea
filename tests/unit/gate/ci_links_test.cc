#include "hermetic/gate/ci_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace hermetic::gate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kHead = "4c1f0e2b6a7d9c3e5f8a0b1c2d3e4f5a6b7c8d9e";

std::vector<std::string> links(const std::map<std::string, std::string>& environment,
                               const std::string& revision = kHead) {
  std::vector<std::string> texts;
  for (const ReportLink& link : ci_links(environment, revision))
    texts.push_back(link.name + " " + link.address);
  return texts;
}

TEST(CiLinks, OfEachSystem) {
  EXPECT_THAT(links({}), IsEmpty());
  EXPECT_THAT(links({{"GITHUB_SERVER_URL", "https://git.example"},
                     {"GITHUB_REPOSITORY", "a/b"},
                     {"GITHUB_RUN_ID", "7"}}),
              ElementsAre(std::string("commit https://git.example/a/b/commit/") + kHead,
                          "job https://git.example/a/b/actions/runs/7"));
  EXPECT_THAT(links({{"CI_PROJECT_URL", "https://lab.example/a/b"},
                     {"CI_JOB_URL", "http://lab.example/j/1"}},
                    "v1.0"),
              ElementsAre("job http://lab.example/j/1"));
  EXPECT_THAT(links({{"BUILD_URL", "https://ci.example/job/x/1/"}}),
              ElementsAre("job https://ci.example/job/x/1/"));
}

TEST(CiLinks, OnlyToTheWebAndWithoutMarkup) {
  for (const char* address :
       {"javascript:alert(1)", "https://", "https:///x", "https://a b",
        "https://a\"onclick=", "https://a/<b>", "https://user@a/", "ftp://a/", "https://a/)",
        "https://a/\n", "data:text/html,x", "HTTPS://a/", "//a/"})
    EXPECT_THAT(links({{"BUILD_URL", address}}), IsEmpty()) << address;
  EXPECT_THAT(links({{"GITHUB_SERVER_URL", "javascript:x"},
                     {"GITHUB_REPOSITORY", "a/b"},
                     {"GITHUB_RUN_ID", "1"}}),
              IsEmpty());
}

}  // namespace
}  // namespace hermetic::gate
