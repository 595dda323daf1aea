#include "hermetic/spec/placed_path.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "hermetic/base/path.h"
#include "hermetic/base/text.h"

namespace hermetic {
namespace {

std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape =
        text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == ':' || text[i + 1] == '\\');
    if (escape)
      parts.back() += text[++i];
    else if (text[i] == ':')
      parts.emplace_back();
    else
      parts.back() += text[i];
  }
  return parts;
}

}  // namespace

Result<PlacedPath> parse_placed_path(std::string_view text) {
  std::vector<std::string> parts = parts_of(text);
  if (parts.size() == 1) return PlacedPath{.path = std::move(parts[0]), .at = {}};
  const auto refuse = [&](std::string_view why) {
    return invalid(fmt::format("'{}' {}", printable(text), why),
                   "write PATH:AT, where AT is absolute; a colon in a path is '\\:'");
  };
  if (parts.size() > 2) return refuse("has more than one colon");
  if (parts[0].empty() || parts[1].empty()) return refuse("says one half of a place only");
  if (!parts[1].starts_with('/')) return refuse("stands at a relative place");
  return PlacedPath { .path = std::move(parts[0]), .at = TRY(normal_path(parts[1])) };
}

Declaration as_root(Declaration declaration) {
  declaration.at = "/";
  if (declaration.kind != TreeKind::Temp) return declaration;
  declaration.over = {declaration.path};
  declaration.path = declaration.at;
  return declaration;
}

}  // namespace hermetic
