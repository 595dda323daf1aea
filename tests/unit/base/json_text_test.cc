#include "hermetic/base/json_text.h"

#include <gtest/gtest.h>

#include <string>

#include <nlohmann/json.hpp>

namespace hermetic {
namespace {

TEST(JsonText, WritesObjectsAndArraysWithoutBlanks) {
  JsonText json;
  json.begin_object().key("a").begin_array().number(1).text("x").begin_object().end_object();
  json.end_array().key("b").boolean(true).end_object();
  EXPECT_EQ(json.str(), R"({"a":[1,"x",{}],"b":true})");
}

TEST(JsonText, EscapesWhatTheCanonicalFormEscapesAndNothingElse) {
  JsonText json;
  json.text("\x01\b\t\n\f\r\"\\/\x7f\xc3\xa9");
  EXPECT_EQ(json.str(), "\"\\u0001\\b\\t\\n\\f\\r\\\"\\\\/\x7f\xc3\xa9\"");
}

TEST(JsonText, IsReadBackByAnotherParser) {
  std::string every;
  for (int c = 0; c < 128; ++c) every += static_cast<char>(c);
  JsonText json;
  json.begin_array().text(every).end_array();
  EXPECT_EQ(nlohmann::json::parse(json.str())[0].get<std::string>(), every);
}

TEST(JsonText, WritesTextThatIsNotUtf8AsItsBytes) {
  JsonText json;
  json.text("a\xff");
  EXPECT_EQ(json.str(), "[97,255]");
}

}  // namespace
}  // namespace hermetic
