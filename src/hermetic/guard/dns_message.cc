#include "hermetic/guard/dns_message.h"

#include <algorithm>

#include "hermetic/base/check.h"

namespace hermetic::guard {
namespace {

constexpr std::size_t kLongestLabel = 63;
constexpr std::size_t kLongestName = 255;  // in a message, with all length bytes
// Of all names of a message together: with pointers, a few bytes each can stand for long ones, and
// whoever reads them has other things to do.
constexpr std::size_t kMostNameSteps = std::size_t{1} << 18U;
constexpr std::uint16_t kTypeOptions = 41;
constexpr std::uint8_t kPointer = 0xC0;

constexpr std::uint16_t kResponse = 0x8000;
constexpr std::uint16_t kAuthoritative = 0x0400;
constexpr std::uint16_t kTruncated = 0x0200;
constexpr std::uint16_t kRecursionDesired = 0x0100;
constexpr std::uint16_t kRecursionAvailable = 0x0080;

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

// Reads on from a place in the message; a read beyond the end makes it fail for good.
class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }
  [[nodiscard]] std::size_t at() const { return at_; }

  std::uint8_t byte() { return at_ < bytes_.size() ? bytes_[at_++] : fail(); }
  std::uint16_t two() {
    const unsigned high = byte();
    return static_cast<std::uint16_t>(high << 8U | byte());
  }
  std::uint32_t four() {
    const std::uint32_t high = two();
    return high << 16U | two();
  }
  std::span<const std::uint8_t> take(std::size_t count) {
    if (failed_ || count > bytes_.size() - at_) {
      fail();
      return {};
    }
    const auto taken = bytes_.subspan(at_, count);
    at_ += count;
    return taken;
  }

  std::string name() {
    std::string text;
    std::size_t size = 1;
    std::optional<std::size_t> after;  // where to go on, once a pointer was followed
    std::size_t earliest = at_;        // pointers lead strictly backwards, so they end
    while (!failed_) {
      const std::uint8_t length = byte();
      if (length == 0) break;
      if ((length & kPointer) == kPointer) {
        const std::size_t target = (length & ~unsigned{kPointer}) << 8U | byte();
        if (!after) after = at_;
        if (failed_ || target >= earliest || ++steps_ > kMostNameSteps) return fail(), text;
        at_ = earliest = target;
        continue;
      }
      if (length > kLongestLabel || (size += length + 1U) > kLongestName) return fail(), text;
      if ((steps_ += length + 1U) > kMostNameSteps) return fail(), text;
      append_label(text, take(length));
    }
    if (after) at_ = *after;
    return text;
  }

 private:
  std::uint8_t fail() {
    failed_ = true;
    return 0;
  }
  static void append_label(std::string& text, std::span<const std::uint8_t> label) {
    if (!text.empty()) text += '.';
    for (const std::uint8_t value : label) {
      if (const char c = static_cast<char>(value); is_plain(c)) {
        text += c;
        continue;
      }
      text += '\\';
      for (const unsigned digit : {value / 100U, value / 10U % 10U, value % 10U})
        text += static_cast<char>('0' + digit);
    }
  }

  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  std::size_t steps_ = 0;  // of names, so far
  bool failed_ = false;
};

void put_two(Bytes& bytes, std::size_t value) {
  bytes.push_back(static_cast<std::uint8_t>(value >> 8U));
  bytes.push_back(static_cast<std::uint8_t>(value));
}
void put_four(Bytes& bytes, std::uint32_t value) {
  put_two(bytes, value >> 16U);
  put_two(bytes, value & 0xFFFFU);
}

// The name as it stands in a message, or nothing.
std::optional<Bytes> encoded_name(std::string_view name) {
  Bytes bytes;
  Bytes label;
  const auto end_label = [&] {
    if (label.empty() || label.size() > kLongestLabel) return false;
    bytes.push_back(static_cast<std::uint8_t>(label.size()));
    bytes.insert(bytes.end(), label.begin(), label.end());
    label.clear();
    return true;
  };
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '.') {
      if (!end_label()) return {};
    } else if (name[i] == '\\') {
      unsigned value = 0;
      for (unsigned digit = 0; digit < 3; ++digit) {
        if (++i >= name.size() || name[i] < '0' || name[i] > '9') return {};
        value = value * 10 + static_cast<unsigned>(name[i] - '0');
      }
      if (value > UINT8_MAX) return {};
      label.push_back(static_cast<std::uint8_t>(value));
    } else if (is_plain(name[i])) {
      label.push_back(static_cast<std::uint8_t>(name[i]));
    } else {
      return {};
    }
  }
  if (!name.empty() && !end_label()) return {};
  bytes.push_back(0);
  if (bytes.size() > kLongestName) return {};
  return bytes;
}

void put_name(Bytes& bytes, std::string_view name) {
  const std::optional<Bytes> encoded = encoded_name(name);
  CHECK(encoded.has_value());
  bytes.insert(bytes.end(), encoded->begin(), encoded->end());
}

DnsRecord read_record(Reader& reader) {
  DnsRecord record;
  record.name = reader.name();
  record.type = reader.two();
  record.record_class = reader.two();
  record.time_to_live = reader.four();
  return record;
}

// The rest of a record: its data, which for an alias is a name that fills it exactly.
bool read_data(Reader& reader, DnsRecord& record) {
  const std::size_t size = reader.two();
  if (record.type == kTypeAlias) {
    const std::size_t begin = reader.at();
    record.alias = reader.name();
    return !reader.failed() && reader.at() - begin == size;
  }
  const auto data = reader.take(size);
  record.data.assign(data.begin(), data.end());
  return !reader.failed();
}

void put_record(Bytes& bytes, const DnsRecord& record) {
  put_name(bytes, record.name);
  put_two(bytes, record.type);
  put_two(bytes, record.record_class);
  put_four(bytes, record.time_to_live);
  Bytes data = record.data;
  if (record.type == kTypeAlias) data = *encoded_name(record.alias);
  put_two(bytes, data.size());
  bytes.insert(bytes.end(), data.begin(), data.end());
}

std::uint16_t flags_of(const DnsMessage& message) {
  unsigned flags = unsigned{message.operation} << 11U | static_cast<unsigned>(message.code);
  if (message.is_response) flags |= kResponse;
  if (message.is_authoritative) flags |= kAuthoritative;
  if (message.is_truncated) flags |= kTruncated;
  if (message.recursion_desired) flags |= kRecursionDesired;
  if (message.recursion_available) flags |= kRecursionAvailable;
  return static_cast<std::uint16_t>(flags);
}

void set_flags(DnsMessage& message, unsigned flags) {
  message.is_response = (flags & kResponse) != 0;
  message.operation = static_cast<std::uint8_t>(flags >> 11U & 0xFU);
  message.is_authoritative = (flags & kAuthoritative) != 0;
  message.is_truncated = (flags & kTruncated) != 0;
  message.recursion_desired = (flags & kRecursionDesired) != 0;
  message.recursion_available = (flags & kRecursionAvailable) != 0;
  message.code = static_cast<ResponseCode>(flags & 0xFU);
}

}  // namespace

std::optional<DnsMessage> parse_dns_message(std::span<const std::uint8_t> bytes) {
  Reader reader(bytes);
  DnsMessage message;
  message.id = reader.two();
  set_flags(message, reader.two());
  const unsigned questions = reader.two();
  const unsigned answers = reader.two();
  const unsigned authorities = reader.two();
  const unsigned additional = reader.two();
  for (unsigned i = 0; i < questions && !reader.failed(); ++i) {
    DnsQuestion question;
    question.name = reader.name();
    question.type = reader.two();
    question.record_class = reader.two();
    message.questions.push_back(std::move(question));
  }
  for (unsigned i = 0; i < answers && !reader.failed(); ++i) {
    DnsRecord record = read_record(reader);
    if (!read_data(reader, record)) return {};
    message.answers.push_back(std::move(record));
  }
  for (unsigned i = 0; i < authorities + additional && !reader.failed(); ++i) {
    const DnsRecord record = read_record(reader);
    reader.take(reader.two());
    if (record.type != kTypeOptions || i < authorities) continue;
    if (message.largest_datagram || !record.name.empty()) return {};
    message.largest_datagram = record.record_class;
  }
  if (reader.failed() || !reader.at_end()) return {};
  return message;
}

Bytes build_dns_message(const DnsMessage& message) {
  Bytes bytes;
  put_two(bytes, message.id);
  put_two(bytes, flags_of(message));
  put_two(bytes, message.questions.size());
  put_two(bytes, message.answers.size());
  put_two(bytes, 0);
  put_two(bytes, message.largest_datagram ? 1 : 0);
  for (const DnsQuestion& question : message.questions) {
    put_name(bytes, question.name);
    put_two(bytes, question.type);
    put_two(bytes, question.record_class);
  }
  for (const DnsRecord& record : message.answers) put_record(bytes, record);
  if (message.largest_datagram)
    put_record(bytes, {.name = {},
                       .type = kTypeOptions,
                       .record_class = *message.largest_datagram,
                       .time_to_live = 0,
                       .data = {},
                       .alias = {}});
  return bytes;
}

Bytes build_dns_message(const DnsMessage& message, std::size_t limit) {
  Bytes whole = build_dns_message(message);
  if (whole.size() <= limit) return whole;
  DnsMessage cut = message;
  cut.answers.clear();
  cut.is_truncated = true;
  return build_dns_message(cut);
}

bool is_encodable_name(std::string_view name) { return encoded_name(name).has_value(); }

std::string lower_case(std::string_view name) {
  std::string lower(name);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

}  // namespace hermetic::guard
