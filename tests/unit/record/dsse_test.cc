#include "hermetic/record/dsse.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace hermetic {
namespace {

// A key that is in the open (RFC 8032, test 1): its signatures are known.
constexpr const char* kPrivate =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
    "-----END PRIVATE KEY-----\n";

std::string hexadecimal(const std::string& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4U];
    text += kDigits[static_cast<unsigned char>(byte) & 15U];
  }
  return text;
}

TEST(SigningKey, SignsAsTheStandardSays) {
  const Result<SigningKey> key = SigningKey::from_pem(kPrivate, "test");
  ASSERT_TRUE(key) << key.error().message;
  EXPECT_EQ(
      hexadecimal(key->sign("")),
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9"
      "b46bd25bf5f0595bbe24655141438e7a100b");
  EXPECT_TRUE(key->public_key().verifies("", key->sign("")));
  EXPECT_FALSE(key->public_key().verifies("x", key->sign("")));
  EXPECT_FALSE(key->public_key().verifies("", "short"));
  EXPECT_FALSE(key->public_key().verifies("", std::string(64, '\0')));
}

TEST(SigningKey, ComesBackFromItsText) {
  const Result<SigningKey> key = SigningKey::make_new();
  ASSERT_TRUE(key);
  const Result<SigningKey> again = SigningKey::from_pem(key->pem(), "test");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->public_key().id(), key->public_key().id());
  const Result<PublicKey> open = PublicKey::from_pem(key->public_key().pem(), "test");
  ASSERT_TRUE(open);
  EXPECT_TRUE(open->verifies("text", again->sign("text")));
  EXPECT_NE(SigningKey::make_new()->public_key().id(), key->public_key().id());
}

TEST(SigningKey, IsNothingElse) {
  for (const char* text :
       {"", "hello", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"}) {
    EXPECT_FALSE(SigningKey::from_pem(text, "test")) << text;
    EXPECT_FALSE(PublicKey::from_pem(text, "test")) << text;
  }
  EXPECT_FALSE(PublicKey::from_pem(kPrivate, "test"));
  EXPECT_FALSE(SigningKey::from_pem(SigningKey::make_new()->public_key().pem(), "test"));
}

TEST(SigningKey, IsFoundBetweenOtherTextAndLineBreaks) {
  std::string text = kPrivate;
  text.insert(text.find("MC4C") + 20, "\r\n  ");
  const Result<SigningKey> key = SigningKey::from_pem("a comment\n" + text + "more\n", "test");
  ASSERT_TRUE(key) << key.error().message;
  EXPECT_EQ(key->pem(), kPrivate);
}

// Keys of other kinds differ in the bytes before the key, or in its length.
TEST(SigningKey, OfAnotherKindIsRefused) {
  for (const char* body :
       {"MC4CAQAwBQYDK2VuBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g",      // X25519
        "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrg==",      // short
        "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9gYA==",  // long
        "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/Vpg!oRK9JLsLMREScVpezJpGXA7rAMcrn9g"}) {
    const std::string pem =
        fmt::format("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", body);
    EXPECT_FALSE(SigningKey::from_pem(pem, "test")) << body;
  }
}

TEST(Dsse, EncodesAsItsSpecificationSays) {
  EXPECT_EQ(pre_authentication("http://example.com/HelloWorld", "hello world"),
            "DSSEv1 29 http://example.com/HelloWorld 11 hello world");
}

TEST(Dsse, AnEnvelopeOpensToWhatWasSigned) {
  const SigningKey key = *SigningKey::make_new();
  const std::string line = envelope("{\"a\":1}", &key);
  EXPECT_EQ(line, envelope("{\"a\":1}", &key));
  const Result<OpenedEnvelope> opened = open_envelope(line, "test");
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->payload, "{\"a\":1}");
  EXPECT_EQ(opened->type, kInTotoType);
  EXPECT_TRUE(opened->is_signed_by(key.public_key()));
  EXPECT_FALSE(opened->is_signed_by(SigningKey::make_new()->public_key()));
  OpenedEnvelope other = *opened;
  other.type = "application/json";
  EXPECT_FALSE(other.is_signed_by(key.public_key()));
  EXPECT_FALSE(open_envelope(envelope("{}", nullptr), "test")->is_signed_by(key.public_key()));
}

TEST(Dsse, WhatIsNoEnvelopeIsRefused) {
  for (const char* bad :
       {"", "[]", "{}", "{\"payload\":1,\"payloadType\":\"x\",\"signatures\":[]}",
        "{\"payload\":\"*\",\"payloadType\":\"x\",\"signatures\":[]}",
        "{\"payload\":\"\",\"payloadType\":\"x\"}",
        "{\"payload\":\"\",\"payloadType\":\"x\",\"signatures\":[1]}",
        "{\"payload\":\"\",\"payloadType\":\"x\",\"signatures\":[{\"sig\":\"*\"}]}"})
    EXPECT_FALSE(open_envelope(bad, "test")) << bad;
}

}  // namespace
}  // namespace hermetic
