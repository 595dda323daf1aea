// KeyFile: a signing key and the file that it was read from, which no command may see that it signs
// for.
#pragma once

#include <optional>
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
  // hard link, a bind mount or the layer of a temp.
  [[nodiscard]] Result<void> check_unseen(const Spec& spec) const;

 private:
  KeyFile(std::optional<Found> file, SigningKey key)
      : file_(std::move(file)), key_(std::move(key)) {}

  std::optional<Found> file_;  // nothing if it is a pipe, or has no name any more
  SigningKey key_;
};

}  // namespace hermetic
