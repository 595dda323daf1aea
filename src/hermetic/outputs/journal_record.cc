#include "hermetic/outputs/journal_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <optional>
#include <utility>

#include "hermetic/base/path.h"
#include "hermetic/places/private_folder.h"

namespace hermetic {
namespace {

using Kind = JournalRecord::Kind;

// More than two names or a path need.
constexpr std::size_t kLongestRecord = 16384;
constexpr std::string_view kOurs = ".hermetic-";

// FNV-1a: finds what was garbled by accident, not by intent.
std::uint64_t checksum(std::string_view bytes) {
  std::uint64_t sum = 0xcbf29ce484222325U;
  for (const char byte : bytes) {
    sum ^= static_cast<unsigned char>(byte);
    sum *= 0x100000001b3U;
  }
  return sum;
}

template <class Number>
void put(std::string& text, Number number) {
  for (std::size_t i = 0; i < sizeof number; ++i)
    text += static_cast<char>(static_cast<std::uint64_t>(number) >> (8 * i) & 0xffU);
}

void put_text(std::string& text, std::string_view value) {
  put(text, static_cast<std::uint16_t>(value.size()));
  text += value;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  template <class Number>
  std::optional<Number> number() {
    if (text_.size() < sizeof(Number)) return {};
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i)
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(text_[i])) << (8 * i);
    text_.remove_prefix(sizeof(Number));
    return static_cast<Number>(value);
  }
  std::optional<std::string> text() {
    const std::optional<std::uint16_t> size = number<std::uint16_t>();
    if (!size || text_.size() < *size) return {};
    std::string value(text_.substr(0, *size));
    text_.remove_prefix(*size);
    return value;
  }
  [[nodiscard]] bool at_end() const { return text_.empty(); }

 private:
  std::string_view text_;
};

// The length of a record, the same with all bits turned, and the checksum.
constexpr std::size_t kPrefix = 2 * sizeof(std::uint32_t) + sizeof(std::uint64_t);

struct Frame {
  enum class State { Whole, CutOff, Garbled };
  State state = State::CutOff;
  std::string_view payload = {};
};

Frame next_frame(std::string_view text) {
  Reader reader(text);
  const auto size = reader.number<std::uint32_t>();
  const auto size_again = reader.number<std::uint32_t>();
  const auto sum = reader.number<std::uint64_t>();
  if (!size || !size_again) return {};
  // Or one that is whole would look cut off.
  if (*size != ~*size_again || *size > kLongestRecord) return {.state = Frame::State::Garbled};
  if (!sum || text.size() - kPrefix < *size) return {};
  const std::string_view payload = text.substr(kPrefix, *size);
  if (checksum(payload) != *sum) return {.state = Frame::State::Garbled};
  return {.state = Frame::State::Whole, .payload = payload};
}

std::optional<JournalRecord> decode(std::string_view payload) {
  Reader reader(payload);
  const auto kind = reader.number<std::uint8_t>();
  const auto directory = reader.number<std::uint32_t>();
  std::optional<std::string> name = reader.text();
  const auto other = reader.number<std::uint32_t>();
  std::optional<std::string> other_name = reader.text();
  const auto device = reader.number<std::uint64_t>();
  const auto inode = reader.number<std::uint64_t>();
  const auto birth = reader.number<std::uint64_t>();
  if (!kind || !directory || !name || !other || !other_name || !device || !inode || !birth)
    return {};
  if (!reader.at_end() || *kind > static_cast<std::uint8_t>(Kind::Note)) return {};
  return JournalRecord{
      .kind = static_cast<Kind>(*kind),
      .directory = *directory,
      .name = std::move(*name),
      .other = *other,
      .other_name = std::move(*other_name),
      .identity = {.device = *device, .inode = *inode, .birth_nanoseconds = *birth}};
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= NAME_MAX && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

bool is_path(std::string_view path) {
  if (path == "/") return true;
  if (path.empty() || path.front() != '/' || path.back() == '/' || path.size() >= PATH_MAX)
    return false;
  for (Components parts(path); parts.next();)
    if (!is_name(parts.name())) return false;
  return path.find("//") == std::string_view::npos;
}

// Can the record mean what it says, after so many directories?
bool is_sound(const JournalRecord& record, std::uint32_t directories) {
  const bool in_directory = record.directory < directories && is_name(record.name);
  switch (record.kind) {
    case Kind::Header:
    case Kind::Committed:
    case Kind::TakenBack:
    case Kind::Note: return true;
    case Kind::Folder:
      return is_path(record.name) &&
             last_component(record.name).starts_with(private_folder_prefix());
    case Kind::Directory:
      return record.directory == JournalRecord::kNowhere ? is_path(record.name) : in_directory;
    case Kind::Temporary: return in_directory && record.name.starts_with(kOurs);
    case Kind::MakeDirectory:
    case Kind::Made: return in_directory;
    case Kind::SetAside:
      return in_directory && is_name(record.other_name) && record.other_name.starts_with(kOurs);
    case Kind::MoveIn:
    case Kind::Exchange:
      return in_directory && record.other < directories && is_name(record.other_name);
  }
  return false;
}

}  // namespace

std::string encode(const JournalRecord& record) {
  std::string payload;
  put(payload, static_cast<std::uint8_t>(record.kind));
  put(payload, record.directory);
  put_text(payload, record.name);
  put(payload, record.other);
  put_text(payload, record.other_name);
  put(payload, record.identity.device);
  put(payload, record.identity.inode);
  put(payload, record.identity.birth_nanoseconds);
  std::string text;
  const auto size = static_cast<std::uint32_t>(payload.size());
  put(text, size);
  put(text, ~size);
  put(text, checksum(payload));
  return text + payload;
}

Result<ParsedJournal> parse_journal(std::string_view text) {
  ParsedJournal journal;
  std::uint32_t directories = 0;
  const auto garbled = [&](std::string_view how) {
    return unsupported(fmt::format("record {} {}", journal.records.size(), how));
  };
  for (;;) {
    const Frame frame = next_frame(text.substr(journal.size));
    if (frame.state == Frame::State::CutOff) break;
    if (frame.state == Frame::State::Garbled) return garbled("is not what was written");
    std::optional<JournalRecord> record = decode(frame.payload);
    if (!record || !is_sound(*record, directories)) return garbled("makes no sense");
    if ((record->kind == Kind::Header) != journal.records.empty())
      return garbled("is no header, or one too many");
    if (record->kind == Kind::Directory) ++directories;
    journal.records.push_back(std::move(*record));
    journal.size += kPrefix + frame.payload.size();
  }
  if (journal.records.empty()) return garbled("is missing");
  return journal;
}

}  // namespace hermetic
