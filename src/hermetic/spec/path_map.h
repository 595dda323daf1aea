// PathMap: values attached to paths, found by the nearest path above. Lookup costs one hash probe
// per component, however many paths the map holds.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hermetic/base/path.h"

namespace hermetic {

template <class Value>
class PathMap {
 public:
  struct Hit {
    std::string_view path;  // the part of the asked path that carries the value
    const Value* value;
  };

  void set(std::string_view path, Value value) { slot(path) = std::move(value); }

  // The value at `path`, made if there is none yet. The reference holds until the next call.
  Value& slot(std::string_view path) {
    std::uint32_t node = kRoot;
    for (Components component(path); component.next();) {
      const auto [place, inserted] = children_.try_emplace(
          Key{node, std::string(component.name())}, static_cast<std::uint32_t>(values_.size()));
      if (inserted) {
        values_.emplace_back();
        ++child_counts_[node];
        child_counts_.push_back(0);
      }
      node = place->second;
    }
    std::optional<Value>& value = values_[node];
    if (!value) {
      ++size_;
      value.emplace();
    }
    return *value;
  }

  [[nodiscard]] const Value* find(std::string_view path) const {
    const std::optional<std::uint32_t> node = node_of(path);
    return node && values_[*node] ? &*values_[*node] : nullptr;
  }

  // The value at `path` or at its nearest ancestor that has one.
  [[nodiscard]] std::optional<Hit> nearest(std::string_view path) const {
    std::optional<Hit> hit;
    if (values_[kRoot]) hit = Hit{path.substr(0, 1), &*values_[kRoot]};
    std::uint32_t node = kRoot;
    for (Components component(path); component.next();) {
      const auto child = children_.find(KeyView{node, component.name()});
      if (child == children_.end()) break;
      node = child->second;
      if (values_[node]) hit = Hit{component.prefix(), &*values_[node]};
    }
    return hit;
  }

  // Calls visit(value) for `path` and each ancestor that has a value, from the root down.
  template <class Visit>
  void for_each_above(std::string_view path, Visit visit) const {
    if (values_[kRoot]) visit(*values_[kRoot]);
    std::uint32_t node = kRoot;
    for (Components component(path); component.next();) {
      const auto child = children_.find(KeyView{node, component.name()});
      if (child == children_.end()) return;
      node = child->second;
      if (values_[node]) visit(*values_[node]);
    }
  }

  // Is there an entry strictly below `path`? Holds because entries are never removed.
  [[nodiscard]] bool has_below(std::string_view path) const {
    const std::optional<std::uint32_t> node = node_of(path);
    return node && child_counts_[*node] > 0;
  }

  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  static constexpr std::uint32_t kRoot = 0;

  struct Key {
    std::uint32_t parent;
    std::string name;
  };
  struct KeyView {
    std::uint32_t parent;
    std::string_view name;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const KeyView& key) const {
      // The parent's number is spread over the word (Fibonacci hashing) before the name is mixed
      // in.
      return std::hash<std::string_view>{}(key.name) ^ (key.parent * 0x9E3779B97F4A7C15ULL);
    }
    std::size_t operator()(const Key& key) const { return (*this)(KeyView{key.parent, key.name}); }
  };
  struct Equal {
    using is_transparent = void;
    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return a.parent == b.parent && a.name == b.name;
    }
  };

  [[nodiscard]] std::optional<std::uint32_t> node_of(std::string_view path) const {
    std::uint32_t node = kRoot;
    for (Components component(path); component.next();) {
      const auto child = children_.find(KeyView{node, component.name()});
      if (child == children_.end()) return std::nullopt;
      node = child->second;
    }
    return node;
  }

  std::unordered_map<Key, std::uint32_t, Hash, Equal> children_;
  std::vector<std::optional<Value>> values_ = std::vector<std::optional<Value>>(1);  // by node
  std::vector<std::uint32_t> child_counts_ = {0};                                    // by node
  std::size_t size_ = 0;
};

}  // namespace hermetic
