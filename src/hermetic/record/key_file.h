// KeyFile: a signing key and the file that it was read from, which no command may see that it signs
// for.
#pragma once

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "hermetic/base/result.h"
#include "hermetic/record/signing_key.h"
#include "hermetic/spec/lookup.h"
#include "hermetic/spec/spec.h"

namespace hermetic {

class KeyFile {
 public:
  // Reads the key from the very object that check_unseen() judges.
  static Result<KeyFile> open(const std::string& path);

  [[nodiscard]] const SigningKey& key() const { return key_; }

  // Fails with InvalidSpec, naming both, if the command of `spec` could read the file: also by a
  // hard link, a bind mount or the layer of a temp; or if it could put another in its place.
  [[nodiscard]] Result<void> check_unseen(const Spec& spec) const;

  // Fails with InvalidSpec if the command would get the file itself as a standard stream. Negative
  // descriptors are none.
  [[nodiscard]] Result<void> check_not_handed_on(std::span<const int> descriptors) const;

 private:
  struct Identity {
    dev_t device;
    ino_t inode;
  };
  KeyFile(std::string path, std::optional<Identity> identity, std::optional<Found> file,
          SigningKey key)
      : path_(std::move(path)), identity_(identity), file_(std::move(file)), key_(std::move(key)) {}

  std::string path_;
  std::optional<Identity> identity_;  // nothing if it is a pipe
  std::optional<Found> file_;         // nothing if it is a pipe, or has no name any more
  SigningKey key_;
};

}  // namespace hermetic
