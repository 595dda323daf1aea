// SigningKey: an Ed25519 key, with which evidence is signed and checked.
//
// Ed25519 needs no random number to sign: the same text gets the same signature, so that equal
// evidence is equal to the byte.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "hermetic/base/result.h"

namespace hermetic {

class PublicKey {
 public:
  // "-----BEGIN PUBLIC KEY-----"; `source` is for the error.
  static Result<PublicKey> from_pem(std::string_view pem, std::string_view source);
  static Result<PublicKey> from_file(const std::string& path);

  [[nodiscard]] bool verifies(std::string_view text, std::string_view signature) const;
  [[nodiscard]] std::string id() const;  // SHA-256 of the key in DER (SubjectPublicKeyInfo)
  [[nodiscard]] std::string pem() const;

 private:
  friend class SigningKey;
  using Bytes = std::array<unsigned char, 32>;
  explicit PublicKey(const Bytes& bytes) : bytes_(bytes) {}
  [[nodiscard]] std::string der() const;  // SubjectPublicKeyInfo

  Bytes bytes_;
};

class SigningKey {
 public:
  static Result<SigningKey> make_new();
  // "-----BEGIN PRIVATE KEY-----" (PKCS #8), not encrypted.
  static Result<SigningKey> from_pem(std::string_view pem, std::string_view source);
  // Refuses a file that others may read. `path` is for the error.
  static Result<SigningKey> from_open_file(int file, const std::string& path);

  [[nodiscard]] std::string sign(std::string_view text) const;  // 64 bytes
  [[nodiscard]] PublicKey public_key() const;
  [[nodiscard]] std::string pem() const;

 private:
  using Seed = std::array<unsigned char, 32>;
  explicit SigningKey(const Seed& seed);

  std::array<unsigned char, 64> secret_ = {};  // the seed, then the public key
};

}  // namespace hermetic
