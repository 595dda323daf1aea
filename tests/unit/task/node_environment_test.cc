#include "hermetic/task/node_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hermetic::task {
namespace {

using ::testing::HasSubstr;

std::string refusal_of_packages(const std::string& packages) {
  const Result<void> checked =
      check_node_lockfile(R"({"lockfileVersion":3,"packages":)" + packages + "}", "lock.json");
  return checked ? "accepted" : checked.error().message;
}

TEST(NodeLockfiles, HaveTheDigestOfEveryPackage) {
  EXPECT_EQ(refusal_of_packages("{}"), "accepted");
  EXPECT_EQ(refusal_of_packages(R"({"":{"name":"x"},"node_modules/a":{"integrity":"sha512-x"},
                        "node_modules/a/node_modules/b":{"inBundle":true}})"),
            "accepted");
}

// Under one key there would be whatever was there when it was first asked for.
TEST(NodeLockfiles, NameNothingThatCanBeAnotherTomorrow) {
  for (const char* package :
       {R"({"resolved":"file:a.tgz"})", R"({"link":true})", R"({"link": true,"integrity":"x"})",
        R"({"resolved":"git+ssh://example.org/a"})", R"({"integrity":""})", R"({"integrity":1})",
        R"({"inBundle":"yes"})", "null", "[]"})
    EXPECT_THAT(refusal_of_packages(R"({"node_modules/a":)" + std::string(package) + "}"),
                HasSubstr("'node_modules/a' has no digest"))
        << package;
}

TEST(NodeLockfiles, AreOfAFormThatSaysSo) {
  for (const char* text : {"", "[]", "{}", R"({"packages":[]})", R"({"dependencies":{"a":{}}})"})
    EXPECT_FALSE(check_node_lockfile(text, "lock.json")) << text;
}

}  // namespace
}  // namespace hermetic::task
