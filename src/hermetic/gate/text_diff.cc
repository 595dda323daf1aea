#include "hermetic/gate/text_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace hermetic::gate {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::size_t size = end == std::string_view::npos ? text.size() : end + 1;
    lines.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return lines;
}

struct Change {
  char kind;  // ' ', '-', '+'
  std::string_view line;
};

std::vector<Change> changes_between(std::string_view before, std::string_view after) {
  const std::vector<std::string_view> old_lines = lines_of(before);
  const std::vector<std::string_view> new_lines = lines_of(after);
  const std::size_t rows = old_lines.size();
  std::size_t begin = 0;
  while (begin < rows && begin < new_lines.size() && old_lines[begin] == new_lines[begin]) ++begin;
  std::size_t tail = 0;
  while (tail < rows - begin && tail < new_lines.size() - begin &&
         old_lines[rows - 1 - tail] == new_lines[new_lines.size() - 1 - tail])
    ++tail;
  std::vector<Change> changes;
  for (std::size_t i = 0; i < begin; ++i) changes.push_back({' ', old_lines[i]});
  const std::size_t n = rows - begin - tail;
  const std::size_t m = new_lines.size() - begin - tail;
  // The longest common subsequence of what is in between, as a table.
  constexpr std::size_t kMostCells = std::size_t{16} << 20U;
  if (n * m > kMostCells) {
    for (std::size_t i = 0; i < n; ++i) changes.push_back({'-', old_lines[begin + i]});
    for (std::size_t k = 0; k < m; ++k) changes.push_back({'+', new_lines[begin + k]});
  } else {
    std::vector<std::uint32_t> length((n + 1) * (m + 1), 0);
    const auto cell = [&](std::size_t i, std::size_t k) -> std::uint32_t& {
      return length[i * (m + 1) + k];
    };
    for (std::size_t i = n; i-- > 0;)
      for (std::size_t k = m; k-- > 0;)
        cell(i, k) = old_lines[begin + i] == new_lines[begin + k]
                         ? cell(i + 1, k + 1) + 1
                         : std::max(cell(i + 1, k), cell(i, k + 1));
    std::size_t i = 0;
    std::size_t k = 0;
    while (i < n || k < m) {
      if (i < n && k < m && old_lines[begin + i] == new_lines[begin + k]) {
        changes.push_back({' ', old_lines[begin + i]});
        ++i, ++k;
      } else if (i < n && (k == m || cell(i + 1, k) >= cell(i, k + 1))) {
        changes.push_back({'-', old_lines[begin + i++]});
      } else {
        changes.push_back({'+', new_lines[begin + k++]});
      }
    }
  }
  for (std::size_t i = rows - tail; i < rows; ++i) changes.push_back({' ', old_lines[i]});
  return changes;
}

}  // namespace

std::string unified_diff(const std::string& name, std::string_view before, std::string_view after) {
  if (before == after) return "";
  constexpr std::size_t kContext = 3;
  const std::vector<Change> changes = changes_between(before, after);
  // A tab ends a name with spaces.
  const char* end = name.find(' ') == std::string::npos ? "" : "\t";
  std::string text = fmt::format("--- a/{0}{1}\n+++ b/{0}{1}\n", name, end);
  std::size_t old_line = 1;
  std::size_t new_line = 1;
  std::size_t at = 0;
  while (at < changes.size()) {
    std::size_t first = at;
    while (first < changes.size() && changes[first].kind == ' ') ++first;
    if (first == changes.size()) break;
    const std::size_t begin = first - std::min(kContext, first - at);
    old_line += begin - at;
    new_line += begin - at;
    // To the last change after which there are not more lines in between than two contexts have.
    std::size_t last = first;
    for (std::size_t i = first; i < changes.size() && i - last <= 2 * kContext; ++i)
      if (changes[i].kind != ' ') last = i;
    const std::size_t stop = std::min(last + kContext + 1, changes.size());
    std::size_t old_count = 0;
    std::size_t new_count = 0;
    std::string body;
    for (std::size_t i = begin; i < stop; ++i) {
      old_count += changes[i].kind != '+' ? 1U : 0U;
      new_count += changes[i].kind != '-' ? 1U : 0U;
      body += changes[i].kind;
      body += changes[i].line;
      if (!changes[i].line.ends_with('\n')) body += "\n\\ No newline at end of file\n";
    }
    text += fmt::format("@@ -{},{} +{},{} @@\n{}", old_count == 0 ? old_line - 1 : old_line,
                        old_count, new_line, new_count, body);
    old_line += old_count;
    new_line += new_count;
    at = stop;
  }
  return text;
}

}  // namespace hermetic::gate
