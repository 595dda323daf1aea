#include "hermetic/record/base64.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace hermetic {
namespace {

TEST(Base64, IsThatOfTheStandard) {
  const std::pair<const char*, const char*> pairs[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"}};
  for (const auto& [text, encoded] : pairs) {
    EXPECT_EQ(base64(text), encoded);
    EXPECT_EQ(from_base64(encoded), text);
  }
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(from_base64(base64(all)), all);
  for (const char* bad : {"A", "AA", "AAA", "A=AA", "====", "AA=A", "Zg==Zg==", "Zg= =", "Zm9v\n"})
    EXPECT_EQ(from_base64(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace hermetic
