// NodeReader: from nodes of a spec file to values, typed by what each key takes.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "hermetic/base/result.h"
#include "hermetic/spec/yaml_document.h"

namespace hermetic {

// Every method fails with InvalidSpec at the node's place; `key` names what is read in messages.
class NodeReader {
 public:
  NodeReader(std::string file_name, std::string here)
      : file_name_(std::move(file_name)), here_(std::move(here)) {}

  [[nodiscard]] Origin origin(Place place) const { return {file_name_, place.line, place.column}; }
  [[nodiscard]] Error refuse(Place place, std::string message, std::string hint) const {
    return invalid(std::move(message), std::move(hint), origin(place));
  }
  // The same error, at this place and about this key.
  [[nodiscard]] Error refuse(Place place, std::string_view key, Error error) const;
  [[nodiscard]] Error unknown_key(const YamlEntry& entry, std::string_view where,
                                  std::span<const std::string_view> known) const;

  // Any scalar as it is written (no, 0777, null: all text), but for a value that is not there.
  [[nodiscard]] Result<std::string> text(const YamlNode& node, std::string_view key) const;
  // The same in a list, where an unquoted null or ~ is more likely a mistake than a text.
  [[nodiscard]] Result<std::string> item(const YamlNode& node, std::string_view key) const;
  [[nodiscard]] Result<bool> boolean(const YamlNode& node, std::string_view key) const;
  [[nodiscard]] Result<std::uint64_t> count(const YamlNode& node, std::string_view key,
                                            std::uint64_t least, std::uint64_t most) const;
  [[nodiscard]] Result<std::uint64_t> size(const YamlNode& node, std::string_view key) const;
  [[nodiscard]] Result<std::chrono::milliseconds> duration(const YamlNode& node,
                                                           std::string_view key) const;
  // A normal path; "$here" at its start stands for the folder of the file.
  [[nodiscard]] Result<std::string> path(const YamlNode& node, std::string_view key) const;
  [[nodiscard]] std::string with_here(std::string_view text) const;

  [[nodiscard]] Result<void> check_list(const YamlNode& node, std::string_view key) const;
  [[nodiscard]] Result<void> check_mapping(const YamlNode& node, std::string_view key) const;
  // A mapping that has no other keys than these.
  [[nodiscard]] Result<void> check_keys(const YamlNode& node, std::string_view key,
                                        std::span<const std::string_view> known) const;

  template <class T>
  using Choice = std::pair<std::string_view, T>;
  template <class T>
  [[nodiscard]] Result<T> choice(const YamlNode& node, std::string_view key,
                                 std::span<const Choice<T>> choices) const {
    const std::string written = TRY(text(node, key));
    std::string names;
    for (const auto& [name, value] : choices) {
      if (written == name) return value;
      names += names.empty() ? "" : ", ";
      names += name;
    }
    return refuse(node.place, not_a_choice(key, written), "write one of: " + names);
  }

 private:
  [[nodiscard]] static std::string not_a_choice(std::string_view key, std::string_view written);

  std::string file_name_;
  std::string here_;
};

// Refuses what stands twice in a list, naming both places.
class Unique {
 public:
  explicit Unique(const NodeReader& reader) : reader_(reader) {}

  [[nodiscard]] Result<void> add(const std::string& value, Place place, std::string_view key);

 private:
  const NodeReader& reader_;
  std::map<std::string, Place> seen_;
};

// What a message shows of a value: printable, and cut if it is long.
[[nodiscard]] std::string shown(std::string_view text);
// "a list", "a mapping", "an empty value" or "'the text'".
[[nodiscard]] std::string describe(const YamlNode& node);
// "a, b, c"
[[nodiscard]] std::string list_of(std::span<const std::string_view> names);

}  // namespace hermetic
