#include "hermetic/task/package_index.h"

#include <gtest/gtest.h>

namespace hermetic::task {
namespace {

TEST(PackageIndexes, AreReachedAtTheirHostAlone) {
  EXPECT_EQ(network_for_index("https://example.org/simple").value(),
            NetworkPolicy::allow_hosts({"example.org:443"}).value());
  EXPECT_EQ(network_for_index("http://127.0.0.1:8080/").value(),
            NetworkPolicy::allow_hosts({"127.0.0.1:8080"}).value());
}

TEST(PackageIndexes, AreOfTheWebAndHaveNoPassword) {
  for (const char* url : {"ftp://example.org/", "example.org", "file:///tmp", "https://u:p@x/"})
    EXPECT_FALSE(network_for_index(url)) << url;
}

}  // namespace
}  // namespace hermetic::task
