#include "hermetic/record/signing_key.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>

#include "hermetic/base/check.h"
#include "hermetic/base/digest.h"
#include "hermetic/base/text.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/record/base64.h"

namespace hermetic {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t kLargestFile = 64 * 1024;
// How long the process at the other end of a pipe may take to write a key.
constexpr std::chrono::seconds kLongestWait{10};

// An Ed25519 key in DER is one of these and its 32 bytes (RFC 8410). Nothing in them varies.
constexpr std::string_view kPublicDer = "\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00"sv;
constexpr std::string_view kPrivateDer =
    "\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20"sv;

const unsigned char* raw(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

template <std::size_t kSize>
std::string_view text_of(const std::array<unsigned char, kSize>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Libsodium chooses code for this processor, once.
void set_sodium_up() {
  static const bool ready = sodium_init() >= 0;
  CHECK(ready);
}

std::string as_pem(std::string_view label, std::string_view der) {
  return fmt::format("-----BEGIN {0}-----\n{1}\n-----END {0}-----\n", label, base64(der));
}

// The 32 bytes of the first block of that label, if it is a key of Ed25519. Text around the block
// and line breaks in it are allowed, as in the files of other tools.
std::optional<std::array<unsigned char, 32>> key_in(std::string_view pem, std::string_view label,
                                                    std::string_view prefix) {
  const std::string begin = fmt::format("-----BEGIN {}-----", label);
  const std::size_t start = pem.find(begin);
  if (start == std::string_view::npos) return std::nullopt;
  pem.remove_prefix(start + begin.size());
  const std::size_t end = pem.find(fmt::format("-----END {}-----", label));
  if (end == std::string_view::npos) return std::nullopt;
  std::string letters;
  for (const char letter : pem.substr(0, end))
    if (" \t\r\n"sv.find(letter) == std::string_view::npos) letters += letter;
  const std::optional<std::string> der = from_base64(letters);
  std::array<unsigned char, 32> key;
  if (!der || der->size() != prefix.size() + key.size() || !der->starts_with(prefix))
    return std::nullopt;
  std::copy(der->begin() + static_cast<std::ptrdiff_t>(prefix.size()), der->end(), key.begin());
  return key;
}

Error not_a_key(std::string_view what, std::string_view source) {
  return invalid(fmt::format("{} holds no {} of Ed25519 in PEM", printable(source), what),
                 "make a pair with 'hermetic key new FILE'");
}

enum class Secret { Yes, No };

Result<std::string> read_small_file(int file, const std::string& path, Secret secret) {
  const auto failed = [&](int os_error) {
    return system_error(fmt::format("cannot read the key '{}'", printable(path)), os_error);
  };
  struct stat status = {};
  if (::fstat(file, &status) != 0) return failed(errno);
  if (secret == Secret::Yes && (status.st_mode & 0077) != 0)
    return invalid(fmt::format("the private key '{}' can be read by others", printable(path)),
                   fmt::format("chmod 600 {}, and make a new one if anybody has", printable(path)));
  std::string text;
  std::array<char, 4096> block;
  const auto deadline = std::chrono::steady_clock::now() + kLongestWait;
  for (;;) {
    const ssize_t size = ::read(file, block.data(), block.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          deadline - std::chrono::steady_clock::now());
      if (left.count() <= 0)
        return system_error(fmt::format("cannot read the key '{}' within {} s", printable(path),
                                        kLongestWait.count()),
                            ETIMEDOUT);
      pollfd waiting = {.fd = file, .events = POLLIN, .revents = 0};
      if (::poll(&waiting, 1, static_cast<int>(left.count())) < 0 && errno != EINTR)
        return failed(errno);
      continue;
    }
    if (size < 0) return failed(errno);
    if (size == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(size));
    if (text.size() > kLargestFile)
      return invalid(fmt::format("'{}' is too large for a key", printable(path)));
  }
}

}  // namespace

Result<PublicKey> PublicKey::from_pem(std::string_view pem, std::string_view source) {
  const std::optional<Bytes> key = key_in(pem, "PUBLIC KEY", kPublicDer);
  if (!key) return not_a_key("public key", source);
  return PublicKey(*key);
}

Result<PublicKey> PublicKey::from_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open())
    return system_error(fmt::format("cannot read the key '{}'", printable(path)), errno);
  const std::string pem = TRY(read_small_file(file.get(), path, Secret::No));
  return from_pem(pem, fmt::format("'{}'", path));
}

bool PublicKey::verifies(std::string_view text, std::string_view signature) const {
  set_sodium_up();
  return signature.size() == crypto_sign_ed25519_BYTES &&
         crypto_sign_ed25519_verify_detached(raw(signature), raw(text), text.size(),
                                             bytes_.data()) == 0;
}

std::string PublicKey::der() const { return std::string(kPublicDer).append(text_of(bytes_)); }

std::string PublicKey::id() const { return sha256(der()); }

std::string PublicKey::pem() const { return as_pem("PUBLIC KEY", der()); }

SigningKey::SigningKey(const Seed& seed) {
  set_sodium_up();
  PublicKey::Bytes open;
  CHECK(crypto_sign_ed25519_seed_keypair(open.data(), secret_.data(), seed.data()) == 0);
}

Result<SigningKey> SigningKey::make_new() {
  set_sodium_up();
  Seed seed;
  randombytes_buf(seed.data(), seed.size());
  return SigningKey(seed);
}

Result<SigningKey> SigningKey::from_pem(std::string_view pem, std::string_view source) {
  const std::optional<Seed> seed = key_in(pem, "PRIVATE KEY", kPrivateDer);
  if (!seed) return not_a_key("private key", source);
  return SigningKey(*seed);
}

Result<SigningKey> SigningKey::from_open_file(int file, const std::string& path) {
  const std::string pem = TRY(read_small_file(file, path, Secret::Yes));
  return from_pem(pem, fmt::format("'{}'", path));
}

std::string SigningKey::sign(std::string_view text) const {
  std::array<unsigned char, crypto_sign_ed25519_BYTES> signature;
  CHECK(crypto_sign_ed25519_detached(signature.data(), nullptr, raw(text), text.size(),
                                     secret_.data()) == 0);
  return std::string(text_of(signature));
}

PublicKey SigningKey::public_key() const {
  PublicKey::Bytes open;
  std::copy(secret_.begin() + 32, secret_.end(), open.begin());
  return PublicKey(open);
}

std::string SigningKey::pem() const {
  return as_pem("PRIVATE KEY", std::string(kPrivateDer).append(text_of(secret_).substr(0, 32)));
}

}  // namespace hermetic
