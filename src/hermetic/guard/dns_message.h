// DNS messages (RFC 1035, EDNS0 of RFC 6891) as values: read with strict bounds, and written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hermetic::guard {

using Bytes = std::vector<std::uint8_t>;

inline constexpr std::uint16_t kTypeA = 1;
inline constexpr std::uint16_t kTypeAlias = 5;  // CNAME
inline constexpr std::uint16_t kTypeAaaa = 28;
inline constexpr std::uint16_t kClassInternet = 1;
inline constexpr std::size_t kLargestPlainDatagram = 512;  // without EDNS0
inline constexpr std::uint16_t kLargestDatagram = 1232;    // fits every path without fragments

enum class ResponseCode : std::uint8_t {
  NoError = 0,
  BadFormat = 1,
  ServerFailure = 2,
  NoSuchName = 3,
  NotImplemented = 4,
  Refused = 5,
};

// Names are written as usual, without the last dot; "" is the root. A byte of a label that is no
// letter, digit, '-' or '_' becomes \ and three digits. The case is kept: clients compare it.
struct DnsQuestion {
  std::string name;
  std::uint16_t type = kTypeA;
  std::uint16_t record_class = kClassInternet;

  friend bool operator==(const DnsQuestion&, const DnsQuestion&) = default;
};

struct DnsRecord {
  std::string name;
  std::uint16_t type = kTypeA;
  std::uint16_t record_class = kClassInternet;
  std::uint32_t time_to_live = 0;
  Bytes data;         // as it stands in the message; empty for an alias
  std::string alias;  // the other name, of a CNAME

  friend bool operator==(const DnsRecord&, const DnsRecord&) = default;
};

struct DnsMessage {
  std::uint16_t id = 0;
  bool is_response = false;
  std::uint8_t operation = 0;  // 0 is a query
  bool is_authoritative = false;
  bool is_truncated = false;
  bool recursion_desired = false;
  bool recursion_available = false;
  ResponseCode code = ResponseCode::NoError;  // the low four bits; any number can come
  std::vector<DnsQuestion> questions;
  std::vector<DnsRecord> answers;
  // The largest datagram that the sender takes: there is an EDNS0 record.
  std::optional<std::uint16_t> largest_datagram;

  friend bool operator==(const DnsMessage&, const DnsMessage&) = default;
};

// Nothing if it is cut short, goes on after its end, has a name with a loop or of more than 255
// bytes, names of more than 256 KiB in all, or more than one EDNS0 record. Authority and additional
// records are read over.
[[nodiscard]] std::optional<DnsMessage> parse_dns_message(std::span<const std::uint8_t> bytes);

// Without compression. Names must be such as is_encodable_name() accepts.
[[nodiscard]] Bytes build_dns_message(const DnsMessage& message);

// The same without its answers and marked as truncated, if it is larger than `limit`.
[[nodiscard]] Bytes build_dns_message(const DnsMessage& message, std::size_t limit);

// Can it stand in a message: labels of 1 to 63 bytes, 255 bytes in all?
[[nodiscard]] bool is_encodable_name(std::string_view name);

// ASCII letters only, as DNS compares names.
[[nodiscard]] std::string lower_case(std::string_view name);

}  // namespace hermetic::guard
