#include "hermetic/record/last_lines.h"

#include <algorithm>

#include "hermetic/record/markup.h"

namespace hermetic {
namespace {

// What comes before is not looked at: a stream may be as long as it likes.
constexpr std::size_t kMostBytes = std::size_t{64} << 10U;
constexpr std::size_t kLongestShown = 400;

// ECMA-48: ESC [ parameters and a final byte, ESC ] text up to BEL or ESC \, or ESC and one byte.
std::size_t end_of_escape(std::string_view text, std::size_t begin) {
  std::size_t at = begin + 1;
  if (at >= text.size()) return text.size();
  const char kind = text[at++];
  if (kind == '[') {
    while (at < text.size() && (text[at] < '\x40' || text[at] > '\x7e') && text[at] != '\n') ++at;
    return std::min(at + 1, text.size());
  }
  if (kind != ']') return at;
  while (at < text.size() && text[at] != '\a' && text[at] != '\n' && text[at] != '\x1b') ++at;
  if (at < text.size() && text[at] == '\x1b') return std::min(at + 2, text.size());
  return at < text.size() && text[at] == '\a' ? at + 1 : at;
}

std::string without_escapes(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\x1b') {
      at = end_of_escape(text, at);
    } else {
      plain += text[at++];
    }
  }
  return plain;
}

// The lines as a terminal would have left them.
std::vector<std::string> lines_of(std::string_view output, const Redaction& redaction) {
  if (output.size() > kMostBytes) {
    output.remove_prefix(output.size() - kMostBytes);
    const std::size_t first = output.find('\n');
    output.remove_prefix(first == std::string_view::npos ? 0 : first + 1);
  }
  const std::string text = redaction.clean(without_escapes(output));
  std::string_view rest = text;
  std::vector<std::string> lines;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    while (line.ends_with('\r')) line.remove_suffix(1);
    line.remove_prefix(line.rfind('\r') + 1);  // npos + 1 is 0
    std::string shown;
    for (const char c : line) shown += c == '\t' ? std::string(4, ' ') : std::string(1, c);
    lines.push_back(shortened(visible(shown), kLongestShown));
  }
  while (!lines.empty() && lines.back().find_first_not_of(" \t") == std::string::npos)
    lines.pop_back();
  return lines;
}

}  // namespace

std::vector<std::string> last_lines_of(std::string_view standard_output,
                                       std::string_view standard_error,
                                       const Redaction& redaction) {
  std::vector<std::string> output = lines_of(standard_output, redaction);
  std::vector<std::string> error = lines_of(standard_error, redaction);
  const std::size_t half = kLastLines / 2;
  const std::size_t of_error = std::min(error.size(), kLastLines - std::min(output.size(), half));
  const std::size_t of_output = std::min(output.size(), kLastLines - of_error);
  std::vector<std::string> last(output.end() - static_cast<std::ptrdiff_t>(of_output),
                                output.end());
  last.insert(last.end(), error.end() - static_cast<std::ptrdiff_t>(of_error), error.end());
  return last;
}

}  // namespace hermetic
