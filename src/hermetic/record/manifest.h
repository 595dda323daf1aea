// Manifest: what a run was, and how it came out, so that two runs can be compared.
//
// The stable part holds nothing that depends on time, on process numbers or on the host's name:
// equal runs have the same bytes, and its digest is the identity of the run. The volatile part is
// all the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "hermetic/record/redaction.h"
#include "hermetic/record/run_record.h"
#include "hermetic/record/tree_digest.h"

namespace hermetic {

struct Manifest {
  nlohmann::json stable;
  nlohmann::json rest;  // the volatile part; `volatile` is a keyword

  [[nodiscard]] std::string canonical() const;  // of the stable part: manifest.json, to the byte
  [[nodiscard]] std::string digest() const;     // SHA-256 of that

  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// What the record does not know about the run.
struct ManifestFacts {
  std::vector<InputDigest> inputs;
  std::string spec;           // its canonical form
  std::string policy_digest;  // of the policy that asked for the run; "" if none did
  nlohmann::json task = {};   // of the task that it was a command of; null if of none
};

[[nodiscard]] Manifest make_manifest(const RunRecord& record, const ManifestFacts& facts,
                                     const Redaction& redaction);

}  // namespace hermetic
