#include "hermetic/record/redaction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "hermetic/base/text.h"

namespace hermetic {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Environment = std::map<std::string, std::string>;

std::string clean(std::string_view text) { return Redaction(Environment{}).clean(text); }

// Written in two parts, so that nobody who looks for leaked tokens finds any here.
std::string token(std::string_view prefix, std::size_t length, char fill = 'a') {
  return std::string(prefix) + std::string(length, fill);
}

TEST(Redaction, StrikesOutValuesOfSecretVariables) {
  const Redaction redaction(
      Environment{{"API_KEY", "correct-horse"}, {"EDITOR", "battery-staple"}});
  EXPECT_EQ(redaction.clean("curl -d correct-horse battery-staple"),
            "curl -d [redacted:API_KEY] battery-staple");
  EXPECT_EQ(redaction.clean("correct-hors"), "[redacted:API_KEY]");  // as if it was cut there
  EXPECT_EQ(redaction.clean("correct-hors and more"), "correct-hors and more");
}

TEST(Redaction, LeavesShortValuesAlone) {
  EXPECT_EQ(Redaction(Environment{{"TOKEN", "short"}}).clean("short words"), "short words");
}

TEST(Redaction, FindsAValueInOtherForms) {
  const Redaction redaction(Environment{{"A_TOKEN", "a b/\"c\"\nd%e"}});
  EXPECT_EQ(redaction.clean("x=a%20b%2F%22c%22%0Ad%25e&y"), "x=[redacted:A_TOKEN]&y");
  EXPECT_EQ(redaction.clean("x=a%20b/%22c%22%0ad%25e&y"), "x=[redacted:A_TOKEN]&y");
  EXPECT_EQ(redaction.clean("x=a+b%2F%22c%22%0Ad%25e&y"), "x=[redacted:A_TOKEN]&y");
  EXPECT_EQ(redaction.clean(R"({"x":"a b/\"c\"\nd%e"})"), R"({"x":"[redacted:A_TOKEN]"})");
  EXPECT_EQ(redaction.clean(R"(a\u0020b\/\"c\"\x0ad%e)"), "[redacted:A_TOKEN]");
  EXPECT_EQ(redaction.clean(printable("<a b/\"c\"\nd%e>")), "<[redacted:A_TOKEN]>");
}

TEST(Redaction, FindsAValueInTheNameOfAHost) {
  const Redaction redaction(Environment{{"A_TOKEN", "Correct-Horse"}});
  EXPECT_EQ(redaction.clean("correct-horse.example.org"), "[redacted:A_TOKEN].example.org");
  EXPECT_EQ(Redaction(Environment{{"A_TOKEN", "Correct/Horse="}})
                .clean("x.correct\\047horse\\061.example.org"),
            "x.[redacted:A_TOKEN].example.org");
  EXPECT_EQ(redaction.clean("CORRECT-HORSE"), "CORRECT-HORSE") << "nobody writes them like that";
}

TEST(Redaction, FindsAValueInBase64) {
  const Redaction redaction(Environment{{"A_TOKEN", "correct-horse"}});
  // echo -n correct-horse | base64, and with one and two letters before it, and one behind
  for (const char* text : {"Y29ycmVjdC1ob3JzZQ==", "eGNvcnJlY3QtaG9yc2U=", "eHhjb3JyZWN0LWhvcnNl",
                           "Y29ycmVjdC1ob3JzZXg="})
    EXPECT_THAT(redaction.clean(text), HasSubstr("[redacted:A_TOKEN]")) << text;
}

TEST(Redaction, LeavesNothingOfValuesThatOverlap) {
  const Redaction redaction(Environment{{"A_TOKEN", "abcdefgh"}, {"B_TOKEN", "efghijkl"}});
  EXPECT_EQ(redaction.clean("<abcdefghijkl>"), "<[redacted]>");
  EXPECT_EQ(redaction.clean("<efghijkl>"), "<[redacted:B_TOKEN]>");
}

TEST(Redaction, KnowsTheLinesOfAKey) {
  const Redaction redaction(
      Environment{{"DEPLOY_KEY", "first-line-of-the-key\nsecond-line-of-the-key\n"}});
  EXPECT_EQ(redaction.clean("x second-line-of-the-key y"), "x [redacted:DEPLOY_KEY] y");
}

TEST(Redaction, TellsNoNameThatHoldsAValue) {
  const Redaction redaction(Environment{{"HUNTER2_TOKEN", "HUNTER2"}, {"B_SECRET", "redacted"}});
  EXPECT_EQ(redaction.clean("HUNTER2!"), "[redacted]!");
}

TEST(Redaction, KnowsTheTokensOfWellKnownServices) {
  for (const std::string& secret :
       {token("ghp_", 36), token("gho_", 36), token("ghs_", 36), token("github_pat_", 60),
        token("glpat-", 20), token("AKIA", 16, 'Q'), token("ASIA", 16, '7'),
        token("xoxb-", 30, '1'), token("AIza", 35), token("npm_", 36), token("pypi-Ag", 60),
        "eyJ" + token("hb", 20) + ".eyJ" + token("zd", 20) + "." + token("sig", 20)})
    EXPECT_EQ(clean("<" + secret + ">"), "<[redacted]>") << secret;
  EXPECT_EQ(clean(token("AKIA", 16, 'Q') + ":" + token("", 40) + " x"), "[redacted] x");
}

TEST(Redaction, KnowsPrivateKeys) {
  const std::string begin = "-----BEGIN RSA PRIVATE";
  EXPECT_EQ(clean("a " + begin + " KEY-----\nabc\n-----END RSA PRIVATE KEY----- b"),
            "a [redacted] b");
  EXPECT_EQ(clean("a " + begin + " KEY-----\\nabc and cut"), "a [redacted]");
  EXPECT_EQ(clean("-----BEGIN CERTIFICATE-----\nabc"), "-----BEGIN CERTIFICATE-----\nabc");
}

TEST(Redaction, KnowsHeadersAndAddresses) {
  EXPECT_EQ(clean("-H 'Authorization: Bearer abc.def' x"),
            "-H 'Authorization: Bearer [redacted]' x");
  EXPECT_EQ(clean("proxy-authorization: basic YTpi"), "proxy-authorization: basic [redacted]");
  EXPECT_EQ(clean("X-Api-Key: abc"), "X-Api-Key: [redacted]");
  EXPECT_EQ(clean("Cookie: id=abc"), "Cookie: [redacted]");
  EXPECT_EQ(clean("https://me:pw@example.org/x"), "https://me:[redacted]@example.org/x");
  EXPECT_EQ(clean("db://me:p/w@example.org/x"), "db://me:[redacted]@example.org/x");
  EXPECT_EQ(clean("https://" + token("", 30) + "@example.org"), "https://[redacted]@example.org");
}

TEST(Redaction, KnowsAssignmentsAndOptions) {
  EXPECT_EQ(clean("--password=a,b c"), "--password=[redacted] c");
  EXPECT_EQ(clean("run --token abc x"), "run --token [redacted] x");
  EXPECT_EQ(clean("run --token 'a b' x"), "run --token '[redacted]' x");
  EXPECT_EQ(clean("DB_PASS=abc run"), "DB_PASS=[redacted] run");
  EXPECT_EQ(clean("/x?access_token=abc&y=1"), "/x?access_token=[redacted]&y=1");
  EXPECT_EQ(clean(R"({"password": "a b", "x": 1})"), R"({"password": "[redacted]", "x": 1})");
  EXPECT_EQ(clean(R"({\"password\":\"ab\"})"), R"({\"password\":\"[redacted]"})");
}

TEST(Redaction, LeavesOrdinaryTextAlone) {
  for (const std::string_view text : {"sort --key=2,3 file",
                                      "unexpected token: foo",
                                      "https://example.org:8080/a@b",
                                      "ssh://git@example.org/x",
                                      "key: value",
                                      "/usr/share/keyboard",
                                      "--author=me",
                                      "npm_config_cache",
                                      "http://[::1]:80/",
                                      "Makefile:12: error",
                                      "a=b",
                                      "token",
                                      "--token",
                                      "AKIA",
                                      "ghp_",
                                      "eyJ",
                                      "[redacted]",
                                      "[redacted:X]",
                                      "connect 192.0.2.1:443",
                                      "network: none (hermetic.yaml:7)",
                                      "std::token::x",
                                      "--password-stdin x",
                                      "%zz\\"})
    EXPECT_EQ(clean(text), text);
}

TEST(Redaction, KnowsThatAnArgumentFollowsItsOption) {
  const Redaction redaction(Environment{{"A_TOKEN", "correct-horse"}});
  const std::vector<std::string> arguments = {
      "curl", "--token", "ab cd",         "--password=a b&c", "-u",        "me:p w",
      "-u",   "0:1000",  "--token",       "--verbose",        "--api-key", "correct-horse",
      "x",    "-p",      "correct-horse!"};
  const std::vector<std::string> cleaned = redaction.clean_arguments(arguments);
  EXPECT_THAT(cleaned,
              ElementsAre("curl", "--token", "[redacted]", "--password=[redacted]", "-u",
                          "me:[redacted]", "-u", "0:1000", "--token", "--verbose", "--api-key",
                          "[redacted:A_TOKEN]", "x", "-p", "[redacted:A_TOKEN]!"));
  EXPECT_EQ(redaction.clean_arguments(cleaned), cleaned);
}

TEST(Redaction, TakesTimeInProportion) {
  // A quadratic search would not come to an end within the time of this test.
  const Redaction redaction(Environment{{"A_TOKEN", std::string(50'000, 'a') + "b"}});
  constexpr std::size_t kLength = 100'000;
  for (const std::string_view piece :
       {"a", "://", "://a:b", "--", "a_key=\\", "eyJ", "-----BEGIN ", "ghp_", "AKIA", "%61", "\\",
        "://:a", "\"", "= ", "[redacted:", "'--token '", "@", "://@"}) {
    std::string text;
    while (text.size() < kLength) text += piece;
    const std::string cleaned = redaction.clean(text);
    EXPECT_EQ(redaction.clean(cleaned), cleaned) << piece;
  }
}

}  // namespace
}  // namespace hermetic
