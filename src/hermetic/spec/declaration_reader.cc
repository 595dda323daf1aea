#include "hermetic/spec/declaration_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>

#include "hermetic/base/path.h"
#include "hermetic/spec/place.h"
#include "hermetic/spec/placed_path.h"

namespace hermetic {
namespace {

constexpr std::array<std::string_view, 3> kInputKeys = {"path", "at", "except"};
constexpr std::array<std::string_view, 6> kOutputKeys = {"path", "at",      "except",
                                                         "type", "publish", "made_by"};
constexpr std::array<std::string_view, 7> kTempKeys = {"path", "at",      "except", "type",
                                                       "over", "changes", "made_by"};
constexpr std::array<NodeReader::Choice<FileType>, 2> kTypes = {
    {{"directory", FileType::Directory}, {"file", FileType::File}}};
constexpr std::array<NodeReader::Choice<Publish>, 3> kPublish = {
    {{"replace", Publish::Replace}, {"merge", Publish::Merge}, {"in_place", Publish::InPlace}}};

constexpr std::array<NodeReader::Choice<bool>, 2> kMakers = {
    {{"hermetic", false}, {"command", true}}};

// An input has a type already, only outputs are published, and only temps begin as something else.
std::span<const std::string_view> keys_of(TreeKind kind) {
  switch (kind) {
    case TreeKind::Input: return kInputKeys;
    case TreeKind::Temp: return kTempKeys;
    case TreeKind::Output: return kOutputKeys;
  }
  return {};
}

const YamlNode* value_of(const YamlNode& mapping, std::string_view key) {
  const auto entry = std::ranges::find(mapping.entries, key, &YamlEntry::key);
  return entry == mapping.entries.end() ? nullptr : &entry->value;
}

Result<std::vector<std::string>> read_exceptions(const YamlNode& node, const std::string& tree,
                                                 const NodeReader& reader) {
  TRY(reader.check_list(node, "except"));
  std::vector<std::string> exceptions;
  Unique unique(reader);
  for (const YamlNode& item : node.items) {
    TRY(reader.item(item, "except"));
    std::string path = TRY(reader.path(item, "except"));
    TRY(unique.add(path, item.place, "except"));
    if (!is_strictly_within(path, tree))
      return reader.refuse(
          item.place, fmt::format("exception '{}' is not below '{}'", shown(path), shown(tree)),
          "name a path inside the tree, or remove the exception");
    exceptions.push_back(std::move(path));
  }
  return exceptions;
}

// One directory, or a list of them.
Result<std::vector<std::string>> read_layers(const YamlNode& node, const NodeReader& reader) {
  if (node.kind == YamlNode::Kind::Scalar) return std::vector {
      TRY(reader.path(node, "over"))
    };
  TRY(reader.check_list(node, "over"));
  std::vector<std::string> layers;
  Unique unique(reader);
  for (const YamlNode& item : node.items) {
    TRY(reader.item(item, "over"));
    std::string path = TRY(reader.path(item, "over"));
    TRY(unique.add(path, item.place, "over"));
    layers.push_back(std::move(path));
  }
  return layers;
}

Result<Declaration> read_mapping(const YamlNode& node, TreeKind kind, std::string_view key,
                                 const NodeReader& reader) {
  TRY(reader.check_keys(node, key, keys_of(kind)));
  const YamlNode* path = value_of(node, "path");
  const YamlNode* at = value_of(node, "at");
  const YamlNode* named = path == nullptr && kind == TreeKind::Temp ? at : path;
  if (named == nullptr)
    return reader.refuse(node.place, fmt::format("an entry of '{}' has no 'path'", key),
                         "write {path: ..., except: [...]}");
  Declaration result;
  result.kind = kind;
  result.origin = reader.origin(named->place);
  result.path = TRY(reader.path(*named, named == at ? "at" : "path"));
  if (at != nullptr) result.at = TRY(reader.path(*at, "at"));
  if (const YamlNode* except = value_of(node, "except"))
    result.exceptions = TRY(read_exceptions(*except, declared_place(result), reader));
  if (const YamlNode* type = value_of(node, "type"))
    result.type = TRY(reader.choice<FileType>(*type, "type", kTypes));
  if (const YamlNode* publish = value_of(node, "publish"))
    result.publish = TRY(reader.choice<Publish>(*publish, "publish", kPublish));
  if (const YamlNode* maker = value_of(node, "made_by"))
    result.made_by_command = TRY(reader.choice<bool>(*maker, "made_by", kMakers));
  if (const YamlNode* over = value_of(node, "over")) result.over = TRY(read_layers(*over, reader));
  if (const YamlNode* changes = value_of(node, "changes"))
    result.changes = TRY(reader.path(*changes, "changes"));
  return result;
}

Result<Declaration> read_declaration(const YamlNode& node, TreeKind kind, std::string_view key,
                                     const NodeReader& reader) {
  if (node.kind == YamlNode::Kind::Mapping) return read_mapping(node, kind, key, reader);
  if (node.kind == YamlNode::Kind::Sequence)
    return reader.refuse(node.place, fmt::format("'{}' takes paths, not a list in its list", key),
                         "write a path, or {path: ..., except: [...]}");
  TRY(reader.item(node, key));
  Declaration result;
  result.kind = kind;
  result.origin = reader.origin(node.place);
  result.path = TRY(reader.path(node, key));
  return result;
}

constexpr std::array<std::string_view, 3> kRootKeys = {"path", "except", "writable"};

}  // namespace

Result<Declaration> read_root(const YamlNode& node, const NodeReader& reader) {
  Declaration root;
  if (node.kind != YamlNode::Kind::Mapping) {
    root.origin = reader.origin(node.place);
    root.path = TRY(reader.path(node, "root"));
    return as_root(std::move(root));
  }
  TRY(reader.check_keys(node, "root", kRootKeys));
  const YamlNode* path = value_of(node, "path");
  if (path == nullptr)
    return reader.refuse(node.place, "'root' has no 'path'", "write root: {path: ...}");
  root.origin = reader.origin(path->place);
  root.path = TRY(reader.path(*path, "path"));
  if (const YamlNode* value = value_of(node, "writable")) {
    const bool writable = TRY(reader.boolean(*value, "writable"));
    if (writable) root.kind = TreeKind::Temp;
  }
  if (const YamlNode* except = value_of(node, "except"))
    root.exceptions = TRY(read_exceptions(*except, "/", reader));
  return as_root(std::move(root));
}

Result<std::vector<Declaration>> read_declarations(const YamlNode& node, TreeKind kind,
                                                   std::string_view key, const NodeReader& reader) {
  TRY(reader.check_list(node, key));
  std::vector<Declaration> declarations;
  Unique unique(reader);
  for (const YamlNode& item : node.items) {
    Declaration declaration = TRY(read_declaration(item, kind, key, reader));
    TRY(unique.add(declared_place(declaration), item.place, key));
    declarations.push_back(std::move(declaration));
  }
  return declarations;
}

}  // namespace hermetic
