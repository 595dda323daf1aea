#include "hermetic/record/dsse.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include <nlohmann/json.hpp>

#include "hermetic/record/base64.h"
#include "hermetic/record/bounded_json.h"
#include "hermetic/record/canonical_json.h"

namespace hermetic {
namespace {

using nlohmann::json;

}  // namespace

std::string pre_authentication(std::string_view type, std::string_view payload) {
  return fmt::format("DSSEv1 {} {} {} {}", type.size(), type, payload.size(), payload);
}

std::string envelope(std::string_view payload, const SigningKey* key) {
  json signatures = json::array();
  if (key != nullptr)
    signatures.push_back({{"keyid", key->public_key().id()},
                          {"sig", base64(key->sign(pre_authentication(kInTotoType, payload)))}});
  return canonical_json({{"payload", base64(payload)},
                         {"payloadType", kInTotoType},
                         {"signatures", std::move(signatures)}});
}

bool OpenedEnvelope::is_signed_by(const PublicKey& key) const {
  const std::string text = pre_authentication(type, payload);
  return std::any_of(signatures.begin(), signatures.end(), [&](const Signature& signature) {
    return key.verifies(text, signature.bytes);
  });
}

Result<OpenedEnvelope> open_envelope(std::string_view line, std::string_view source) {
  const auto bad = [&](std::string_view why) {
    return invalid(fmt::format("{}: not an envelope: {}", source, why));
  };
  const json document = parse_bounded_json(line);
  if (!document.is_object()) return bad("not a JSON object");
  const auto text = [](const json& object, const char* key) -> std::optional<std::string> {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_string()) return std::nullopt;
    return found->get<std::string>();
  };
  OpenedEnvelope opened;
  const std::optional<std::string> type = text(document, "payloadType");
  const std::optional<std::string> payload = text(document, "payload");
  const std::optional<std::string> bytes = payload ? from_base64(*payload) : std::nullopt;
  if (!type || !bytes) return bad("payloadType or payload are missing, or not base64");
  opened.type = *type;
  opened.payload = *bytes;
  const auto signatures = document.find("signatures");
  if (signatures == document.end() || !signatures->is_array()) return bad("no signatures");
  for (const json& signature : *signatures) {
    if (!signature.is_object()) return bad("a signature is not an object");
    const std::optional<std::string> encoded = text(signature, "sig");
    const std::optional<std::string> raw = encoded ? from_base64(*encoded) : std::nullopt;
    if (!raw) return bad("a signature is not base64");
    opened.signatures.push_back({.key_id = text(signature, "keyid").value_or(""), .bytes = *raw});
  }
  return opened;
}

}  // namespace hermetic
