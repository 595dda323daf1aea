// Checks a folder of evidence, with nothing but the folder and, if there is one, a public key.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/record/signing_key.h"

namespace hermetic {

struct EvidenceCheck {
  std::vector<std::string> failures;  // a sentence each; none: all that was checked holds
  std::string stable_file;            // "manifest.json" or "report.json"
  std::string stable_digest;          // its SHA-256: the identity of the run
  std::size_t files = 0;
  std::size_t statements = 0;
  std::size_t unsigned_statements = 0;
  std::set<std::string> signers;  // as the envelopes say; believed only if the key was given
  bool key_was_given = false;
};

// With a key, every statement must be signed by it. Fails only if the folder cannot be read at all.
[[nodiscard]] Result<EvidenceCheck> check_evidence(const std::string& folder, const PublicKey* key);

// For programs; ends with a newline.
[[nodiscard]] std::string check_as_json(const EvidenceCheck& check);

}  // namespace hermetic
