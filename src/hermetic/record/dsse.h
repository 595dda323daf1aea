// DSSE: the envelope in which a statement is signed (secure-systems-lab/dsse, version 1).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/record/signing_key.h"

namespace hermetic {

inline constexpr std::string_view kInTotoType = "application/vnd.in-toto+json";

// What is really signed: "DSSEv1 29 http://example.com/HelloWorld 11 hello world".
[[nodiscard]] std::string pre_authentication(std::string_view type, std::string_view payload);

// One line of canonical JSON, without newline. Without a key, an envelope that nobody has signed.
[[nodiscard]] std::string envelope(std::string_view payload, const SigningKey* key);

struct OpenedEnvelope {
  struct Signature {
    std::string key_id;  // a hint, which anybody may write
    std::string bytes;
  };
  std::string type;
  std::string payload;
  std::vector<Signature> signatures;

  [[nodiscard]] bool is_signed_by(const PublicKey& key) const;
};

// `source` is for the error: "attestations.intoto.jsonl:2".
[[nodiscard]] Result<OpenedEnvelope> open_envelope(std::string_view line, std::string_view source);

}  // namespace hermetic
