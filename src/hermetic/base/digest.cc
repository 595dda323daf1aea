// OpenSSL's low-level calls are used on purpose: EVP loads providers and costs the first caller
// about a millisecond, as much as a whole sandbox. See docs/decisions/0003-dependencies.md.
#define OPENSSL_SUPPRESS_DEPRECATED
#include "hermetic/base/digest.h"

#include <openssl/sha.h>

#include "hermetic/base/check.h"

namespace hermetic {

struct Sha256::State {
  SHA256_CTX context;
};

Sha256::Sha256() : state_(std::make_unique<State>()) { CHECK(SHA256_Init(&state_->context) == 1); }
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;
Sha256::~Sha256() = default;

void Sha256::update(std::string_view bytes) {
  CHECK(SHA256_Update(&state_->context, bytes.data(), bytes.size()) == 1);
}

std::string Sha256::finish() {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> raw;
  CHECK(SHA256_Final(raw.data(), &state_->context) == 1);
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * raw.size());
  for (const unsigned char byte : raw) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

std::string sha256(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

}  // namespace hermetic
