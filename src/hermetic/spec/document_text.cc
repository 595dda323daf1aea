#include "hermetic/spec/document_text.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>

#include "hermetic/base/text.h"
#include "hermetic/base/unique_fd.h"

namespace hermetic {
namespace {

constexpr std::string_view kSmallerHint =
    "declare directories instead of single files, or split the file";

std::optional<int> stream_descriptor(std::string_view file) {
  if (file == "-" || file == "/dev/stdin") return STDIN_FILENO;
  constexpr std::string_view kFolder = "/dev/fd/";
  if (!file.starts_with(kFolder)) return {};
  int fd = -1;
  const auto [end, error] =
      std::from_chars(file.data() + kFolder.size(), file.data() + file.size(), fd);
  if (error != std::errc() || end != file.data() + file.size() || fd < 0) return {};
  return fd;
}

Result<UniqueFd> open_document(const std::string& file) {
  const std::string doing = fmt::format("opening spec file '{}'", printable(file));
  if (const std::optional<int> stream = stream_descriptor(file)) {
    UniqueFd copy(::fcntl(*stream, F_DUPFD_CLOEXEC, 0));
    if (!copy.is_open()) return system_error(doing, errno);
    return copy;
  }
  // O_NONBLOCK: a FIFO must not make us wait for a writer before we can refuse it.
  UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd.is_open()) return fd;
  const int error = errno;
  Error refused = system_error(
      doing, error, error == ENOENT ? "name an existing spec file, or '-' for standard input" : "");
  refused.kind = Error::Kind::InvalidSpec;  // the user named the wrong file; the system is well
  return refused;
}

Error too_large(const std::string& file, const std::string& size) {
  return invalid(fmt::format("{} is larger than the 1 MiB that a spec file may have", size),
                 std::string(kSmallerHint), {.source = document_name(file)});
}

Result<void> check_type(const std::string& file, const struct stat& status) {
  if (S_ISDIR(status.st_mode))
    return invalid("this is a directory, not a spec file",
                   fmt::format("name the file in it, such as {}/hermetic.yaml", printable(file)),
                   {.source = document_name(file)});
  if (is_stream(file)) return {};
  if (!S_ISREG(status.st_mode))
    return invalid("this is neither a regular file nor '-' for standard input",
                   fmt::format("write `- < {}` to read it as a stream", printable(file)),
                   {.source = document_name(file)});
  return {};
}

int character_length(std::string_view text) {
  const auto lead = static_cast<std::uint8_t>(text.front());
  const int length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  return is_utf8(text.substr(0, static_cast<std::size_t>(length))) ? length : 0;
}

// `sequence` is one well-formed character.
std::uint32_t decode(std::string_view sequence) {
  constexpr std::array<std::uint32_t, 5> kLeadBits = {0, 0x7F, 0x1F, 0x0F, 0x07};
  std::uint32_t value = static_cast<std::uint8_t>(sequence.front()) & kLeadBits[sequence.size()];
  for (const char c : sequence.substr(1))
    value = (value << 6U) | (static_cast<std::uint8_t>(c) & 0x3FU);
  return value;
}

bool is_forbidden(std::uint32_t character, char next) {
  if (character == '\t' || character == '\n') return false;
  if (character == '\r') return next != '\n';
  return character < 0x20 || (character >= 0x7F && character < 0xA0) || character == 0x2028 ||
         character == 0x2029 || character == 0xFEFF || character == 0xFFFE || character == 0xFFFF;
}

Error forbidden(std::uint32_t character, Origin origin) {
  if (character == 0)
    return invalid("NUL byte in the text", "save the file as plain UTF-8 text", std::move(origin));
  if (character == '\r')
    return invalid("carriage return that does not end a line",
                   R"(end lines with a line feed, or write "\r" in double quotes)",
                   std::move(origin));
  return invalid(fmt::format("invisible character U+{:04X} in the text", character),
                 fmt::format(R"(remove it, or write "\u{:04x}" in double quotes)", character),
                 std::move(origin));
}

bool is_utf16(std::string_view text) {
  if (text.size() < 2) return false;
  const auto first = static_cast<std::uint8_t>(text[0]);
  const auto second = static_cast<std::uint8_t>(text[1]);
  return (first == 0xFF && second == 0xFE) || (first == 0xFE && second == 0xFF) ||
         (first == 0) != (second == 0);
}

// The value of "\uXXXX" at the start of `text`, if that is what stands there.
std::optional<std::uint32_t> unicode_escape(std::string_view text) {
  if (text.size() < 6 || !text.starts_with("\\u")) return {};
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + 2, text.data() + 6, value, 16);
  if (error != std::errc() || end != text.data() + 6) return {};
  return value;
}

bool is_high(std::uint32_t value) { return value >= 0xD800 && value < 0xDC00; }
bool is_low(std::uint32_t value) { return value >= 0xDC00 && value < 0xE000; }

// One step through JSON text: a character, an escape, or a surrogate pair.
struct Piece {
  std::string_view text;
  std::uint32_t joined = 0;  // of a surrogate pair
  bool lone = false;         // half of a pair
};

Piece take_piece(std::string_view& rest) {
  std::size_t length = 1;
  Piece piece;
  if (rest.front() == '\\' && rest.size() > 1) {
    length = 2;
    if (const std::optional<std::uint32_t> first = unicode_escape(rest)) {
      length = 6;
      const std::optional<std::uint32_t> second = unicode_escape(rest.substr(6));
      if (is_high(*first) && second && is_low(*second)) {
        length = 12;
        piece.joined = 0x10000 + ((*first - 0xD800) << 10U) + (*second - 0xDC00);
      } else {
        piece.lone = is_high(*first) || is_low(*first);
      }
    }
  }
  piece.text = rest.substr(0, length);
  rest.remove_prefix(length);
  return piece;
}

void advance(Place& place, std::string_view text) {
  for (const char c : text) {
    if (c == '\n')
      place = {.line = place.line + 1, .column = 1};
    else if ((static_cast<std::uint8_t>(c) & 0xC0U) != 0x80)  // not the tail of a character
      ++place.column;
  }
}

// The text up to the end, or up to one byte more than the cap.
Result<std::string> read_all(const UniqueFd& fd, const std::string& file) {
  std::string text;
  std::array<char, 65536> buffer;
  while (text.size() <= kLargestDocumentBytes) {
    const ssize_t size = ::read(fd.get(), buffer.data(), buffer.size());
    if (size == 0) break;
    if (size > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(size));
    } else if (errno == EAGAIN) {
      pollfd ready{.fd = fd.get(), .events = POLLIN, .revents = 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      return system_error(fmt::format("reading spec file '{}'", printable(file)), errno);
    }
  }
  return text;
}

}  // namespace

bool is_stream(std::string_view file) { return stream_descriptor(file).has_value(); }

std::string document_name(const std::string& file) { return file == "-" ? "<stdin>" : file; }

Result<std::string> read_document(const std::string& file) {
  if (file.find('\0') != std::string::npos)
    return invalid(fmt::format("file name '{}' contains a NUL byte", printable(file)));
  const UniqueFd fd = TRY(open_document(file));
  struct stat status = {};
  if (::fstat(fd.get(), &status) != 0)
    return system_error(fmt::format("reading spec file '{}'", printable(file)), errno);
  TRY(check_type(file, status));
  if (S_ISREG(status.st_mode) && status.st_size > static_cast<off_t>(kLargestDocumentBytes))
    return too_large(file, fmt::format("a file of {} bytes", status.st_size));
  std::string text = TRY(read_all(fd, file));
  if (text.size() > kLargestDocumentBytes) return too_large(file, "the text");
  return text;
}

Result<void> check_characters(std::string_view text, const std::string& file_name) {
  Place place;
  const auto here = [&] { return Origin{file_name, place.line, place.column}; };
  if (text.size() > kLargestDocumentBytes)
    return too_large(file_name, fmt::format("a text of {} bytes", text.size()));
  if (is_utf16(text))
    return invalid("the text is UTF-16, not UTF-8", "save the file as UTF-8", here());
  if (text.starts_with("\xEF\xBB\xBF"))
    return invalid("the text starts with a byte order mark",
                   "save the file as UTF-8 without a byte order mark", here());
  while (!text.empty()) {
    const auto length = static_cast<std::size_t>(character_length(text));
    if (length == 0)
      return invalid(
          fmt::format("byte \\x{:02x} is not valid UTF-8", static_cast<std::uint8_t>(text.front())),
          "save the file as UTF-8", here());
    const std::uint32_t character = decode(text.substr(0, length));
    if (is_forbidden(character, text.size() > 1 ? text[1] : '\0'))
      return forbidden(character, here());
    advance(place, text.substr(0, length));
    text.remove_prefix(length);
  }
  return {};
}

Place JoinedSurrogates::original(Place place) const {
  const auto end = std::upper_bound(ends.begin(), ends.end(), place);
  const auto begin = std::lower_bound(ends.begin(), end, Place{.line = place.line, .column = 0});
  return {.line = place.line, .column = place.column + 2 * static_cast<int>(end - begin)};
}

JoinedSurrogates join_surrogates(std::string_view json) {
  JoinedSurrogates result;
  Place place;
  while (!json.empty()) {
    const Piece piece = take_piece(json);
    const std::size_t begin = result.text.size();
    if (piece.joined != 0)
      result.text += fmt::format("\\U{:08x}", piece.joined);
    else
      result.text += piece.text;
    advance(place, std::string_view(result.text).substr(begin));
    if (piece.joined != 0) result.ends.push_back(place);
  }
  return result;
}

std::optional<Place> find_lone_surrogate(std::string_view json) {
  Place place;
  while (!json.empty()) {
    const Piece piece = take_piece(json);
    if (piece.lone) return place;
    advance(place, piece.text);
  }
  return {};
}

}  // namespace hermetic
