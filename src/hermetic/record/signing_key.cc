#include "hermetic/record/signing_key.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "hermetic/base/digest.h"
#include "hermetic/base/text.h"
#include "hermetic/base/unique_fd.h"

namespace hermetic {

struct PublicKey::Key {
  explicit Key(EVP_PKEY* raw) : key(raw) {}
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;
  ~Key() { EVP_PKEY_free(key); }

  EVP_PKEY* key;
};

namespace {

constexpr std::size_t kSignatureSize = 64;
constexpr std::size_t kLargestFile = 64 * 1024;

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free_all(bio); }
};
using Bio = std::unique_ptr<BIO, FreeBio>;
struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_MD_CTX, FreeContext>;

const unsigned char* bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Bio reading(std::string_view text) {
  Bio bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  CHECK(bio != nullptr);
  return bio;
}

std::string text_in(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

// An encrypted key would make OpenSSL ask on the terminal.
int no_passphrase(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*user*/) { return -1; }

Error not_a_key(std::string_view what, std::string_view source) {
  ERR_clear_error();
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
  for (;;) {
    const ssize_t size = ::read(file, block.data(), block.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return failed(errno);
    if (size == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(size));
    if (text.size() > kLargestFile)
      return invalid(fmt::format("'{}' is too large for a key", printable(path)));
  }
}

}  // namespace

Result<PublicKey> PublicKey::from_pem(std::string_view pem, std::string_view source) {
  EVP_PKEY* raw = PEM_read_bio_PUBKEY(reading(pem).get(), nullptr, no_passphrase, nullptr);
  if (raw == nullptr) return not_a_key("public key", source);
  auto key = std::make_shared<const Key>(raw);
  if (EVP_PKEY_id(raw) != EVP_PKEY_ED25519) return not_a_key("public key", source);
  return PublicKey(std::move(key));
}

Result<PublicKey> PublicKey::from_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open())
    return system_error(fmt::format("cannot read the key '{}'", printable(path)), errno);
  const std::string pem = TRY(read_small_file(file.get(), path, Secret::No));
  return from_pem(pem, fmt::format("'{}'", path));
}

bool PublicKey::verifies(std::string_view text, std::string_view signature) const {
  const Context context(EVP_MD_CTX_new());
  CHECK(context != nullptr);
  const bool good =
      EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key_->key) == 1 &&
      EVP_DigestVerify(context.get(), bytes(signature), signature.size(), bytes(text),
                       text.size()) == 1;
  ERR_clear_error();
  return good;
}

std::string PublicKey::id() const {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key_->key, &der);
  CHECK(size > 0);
  std::string digest = sha256({reinterpret_cast<const char*>(der), static_cast<std::size_t>(size)});
  OPENSSL_free(der);
  return digest;
}

std::string PublicKey::pem() const {
  const Bio bio(BIO_new(BIO_s_mem()));
  CHECK(bio != nullptr && PEM_write_bio_PUBKEY(bio.get(), key_->key) == 1);
  return text_in(bio.get());
}

Result<SigningKey> SigningKey::make_new() {
  EVP_PKEY* raw = EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
  if (raw == nullptr) return system_error("cannot make a key", ENOSYS);
  return SigningKey(std::make_shared<const PublicKey::Key>(raw));
}

Result<SigningKey> SigningKey::from_pem(std::string_view pem, std::string_view source) {
  EVP_PKEY* raw = PEM_read_bio_PrivateKey(reading(pem).get(), nullptr, no_passphrase, nullptr);
  if (raw == nullptr) return not_a_key("private key", source);
  auto key = std::make_shared<const PublicKey::Key>(raw);
  if (EVP_PKEY_id(raw) != EVP_PKEY_ED25519) return not_a_key("private key", source);
  return SigningKey(std::move(key));
}

Result<SigningKey> SigningKey::from_open_file(int file, const std::string& path) {
  const std::string pem = TRY(read_small_file(file, path, Secret::Yes));
  return from_pem(pem, fmt::format("'{}'", path));
}

std::string SigningKey::sign(std::string_view text) const {
  const Context context(EVP_MD_CTX_new());
  std::array<unsigned char, kSignatureSize> signature;
  std::size_t size = signature.size();
  CHECK(context != nullptr &&
        EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_->key) == 1 &&
        EVP_DigestSign(context.get(), signature.data(), &size, bytes(text), text.size()) == 1 &&
        size == signature.size());
  return {reinterpret_cast<const char*>(signature.data()), signature.size()};
}

PublicKey SigningKey::public_key() const { return PublicKey(key_); }

std::string SigningKey::pem() const {
  const Bio bio(BIO_new(BIO_s_mem()));
  CHECK(bio != nullptr && PEM_write_bio_PKCS8PrivateKey(bio.get(), key_->key, nullptr, nullptr, 0,
                                                        nullptr, nullptr) == 1);
  return text_in(bio.get());
}

}  // namespace hermetic
