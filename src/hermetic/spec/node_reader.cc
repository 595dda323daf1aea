#include "hermetic/spec/node_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/spec/quantity.h"

namespace hermetic {
namespace {

constexpr std::string_view kHere = "$here";

bool is_absent(const YamlNode& node) { return node.text.empty() && !node.quoted; }

bool is_null(const YamlNode& node) {
  return !node.quoted &&
         (node.text == "~" || node.text == "null" || node.text == "Null" || node.text == "NULL");
}

// The remedy for a path that names something people expand in other files.
std::string path_hint(std::string_view text) {
  if (text.starts_with('$'))
    return "only $here, alone or before '/', is known: it is the folder of the spec file";
  if (text.starts_with('~')) return "write the whole path: '~' is not expanded";
  return {};
}

}  // namespace

std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 80;
  if (text.size() <= kMost) return printable(text);
  std::size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80) --end;
  return printable(text.substr(0, end)) + "...";
}

std::string describe(const YamlNode& node) {
  if (node.kind == YamlNode::Kind::Sequence) return "a list";
  if (node.kind == YamlNode::Kind::Mapping) return "a mapping";
  if (is_absent(node)) return "an empty value";
  return fmt::format("'{}'", shown(node.text));
}

std::string list_of(std::span<const std::string_view> names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

Error NodeReader::refuse(Place place, std::string_view key, Error error) const {
  error.message = fmt::format("{}: {}", key, error.message);
  error.origin = origin(place);
  return error;
}

Error NodeReader::unknown_key(const YamlEntry& entry, std::string_view where,
                              std::span<const std::string_view> known) const {
  const std::string_view meant = closest(entry.key, known);
  return refuse(
      entry.place, fmt::format("unknown key '{}' in {}", shown(entry.key), where),
      meant.empty() ? "known keys: " + list_of(known) : fmt::format("did you mean '{}'?", meant));
}

Result<std::string> NodeReader::text(const YamlNode& node, std::string_view key) const {
  if (node.kind != YamlNode::Kind::Scalar)
    return refuse(node.place, fmt::format("'{}' takes a single value, not {}", key, describe(node)),
                  "write one text; quote it if it has brackets or braces in it");
  if (is_absent(node))
    return refuse(node.place, fmt::format("'{}' has an empty value", key),
                  "write a value, \"\" for an empty text, or leave the key out");
  return node.text;
}

Result<std::string> NodeReader::item(const YamlNode& node, std::string_view key) const {
  if (node.kind == YamlNode::Kind::Scalar && (is_absent(node) || is_null(node)))
    return refuse(node.place, fmt::format("'{}' has an empty value in its list", key),
                  node.text.empty()
                      ? "remove it, or write \"\" if you mean an empty text"
                      : fmt::format("remove it, or write \"{}\" if you mean the text", node.text));
  return text(node, key);
}

Result<bool> NodeReader::boolean(const YamlNode& node, std::string_view key) const {
  if (node.kind == YamlNode::Kind::Scalar && !node.quoted) {
    if (node.text == "true") return true;
    if (node.text == "false") return false;
  }
  return refuse(node.place, fmt::format("'{}' takes true or false, not {}", key, describe(node)),
                "write true or false, in lower case and without quotes");
}

Result<std::uint64_t> NodeReader::count(const YamlNode& node, std::string_view key,
                                        std::uint64_t least, std::uint64_t most) const {
  const std::string written = TRY(text(node, key));
  Result<std::uint64_t> number = parse_count(written, least, most);
  if (!number) return refuse(node.place, key, std::move(number).error());
  return number;
}

Result<std::uint64_t> NodeReader::size(const YamlNode& node, std::string_view key) const {
  const std::string written = TRY(text(node, key));
  Result<std::uint64_t> bytes = parse_size(written);
  if (!bytes) return refuse(node.place, key, std::move(bytes).error());
  return bytes;
}

Result<std::chrono::milliseconds> NodeReader::duration(const YamlNode& node,
                                                       std::string_view key) const {
  const std::string written = TRY(text(node, key));
  Result<std::chrono::milliseconds> time = parse_duration(written);
  if (!time) return refuse(node.place, key, std::move(time).error());
  return time;
}

std::string NodeReader::with_here(std::string_view text) const {
  if (text != kHere && !text.starts_with("$here/")) return std::string(text);
  return here_ + std::string(text.substr(kHere.size()));
}

Result<std::string> NodeReader::path(const YamlNode& node, std::string_view key) const {
  const std::string written = TRY(text(node, key));
  Result<std::string> normal = normal_path(with_here(written));
  if (normal) return normal;
  Error error = std::move(normal).error();
  if (std::string hint = path_hint(written); !hint.empty() && with_here(written) == written)
    error.hint = std::move(hint);
  return refuse(node.place, key, std::move(error));
}

Result<void> NodeReader::check_list(const YamlNode& node, std::string_view key) const {
  if (node.kind == YamlNode::Kind::Sequence) return {};
  const bool scalar = node.kind == YamlNode::Kind::Scalar && !is_absent(node);
  return refuse(node.place, fmt::format("'{}' takes a list, not {}", key, describe(node)),
                scalar ? fmt::format("write [{}]", shown(node.text))
                       : "write one item per line, each after '- ', or [] for none");
}

Result<void> NodeReader::check_mapping(const YamlNode& node, std::string_view key) const {
  if (node.kind == YamlNode::Kind::Mapping) return {};
  return refuse(node.place, fmt::format("'{}' takes a mapping, not {}", key, describe(node)),
                "write one 'name: value' per line, indented, or {} for none");
}

Result<void> NodeReader::check_keys(const YamlNode& node, std::string_view key,
                                    std::span<const std::string_view> known) const {
  TRY(check_mapping(node, key));
  for (const YamlEntry& entry : node.entries)
    if (std::ranges::find(known, entry.key) == known.end())
      return unknown_key(entry, fmt::format("'{}'", key), known);
  return {};
}

std::string NodeReader::not_a_choice(std::string_view key, std::string_view written) {
  return fmt::format("'{}' cannot be '{}'", key, shown(written));
}

Result<void> Unique::add(const std::string& value, Place place, std::string_view key) {
  const auto [first, fresh] = seen_.emplace(value, place);
  if (fresh) return {};
  return reader_.refuse(place,
                        fmt::format("'{}' names '{}' twice, first at line {}, column {}", key,
                                    shown(value), first->second.line, first->second.column),
                        "remove one of the two");
}

}  // namespace hermetic
