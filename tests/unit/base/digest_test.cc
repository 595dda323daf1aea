#include "hermetic/base/digest.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace hermetic {
namespace {

// The vectors of FIPS 180-4.
TEST(Sha256, IsTheStandardOne) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, DoesNotDependOnHowTheBytesArrive) {
  Sha256 hash;
  hash.update("a");
  hash.update("");
  Sha256 moved = std::move(hash);
  moved.update("bc");
  EXPECT_EQ(moved.finish(), sha256("abc"));
}

TEST(Sha256, CountsNulBytes) { EXPECT_NE(sha256(std::string("a\0", 2)), sha256("a")); }

}  // namespace
}  // namespace hermetic
