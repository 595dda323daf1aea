#include "hermetic/record/dsse.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include <nlohmann/json.hpp>

#include "hermetic/record/bounded_json.h"
#include "hermetic/record/canonical_json.h"

namespace hermetic {
namespace {

using nlohmann::json;

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8U | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    for (std::size_t j = 0; j < 4; ++j)
      text += j <= count ? kAlphabet[group >> (18 - 6 * j) & 63U] : '=';
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::string_view four = text.substr(i, 4);
    const bool last = i + 4 == text.size();
    if (last && four.ends_with("=="))
      four.remove_suffix(2);
    else if (last && four.ends_with('='))
      four.remove_suffix(1);
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const std::size_t value = j < four.size() ? kAlphabet.find(four[j]) : 0;
      if (value == std::string_view::npos) return std::nullopt;
      group = group << 6U | static_cast<std::uint32_t>(value);
    }
    for (std::size_t j = 0; j + 1 < four.size(); ++j)
      bytes += static_cast<char>(group >> (16 - 8 * j) & 255U);
  }
  return bytes;
}

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
