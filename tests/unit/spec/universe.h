// A small world of paths in which everything can be checked by trying all of them.
#pragma once

#include <algorithm>
#include <bitset>
#include <string>
#include <string_view>
#include <vector>

namespace hermetic {

// All paths of up to four components, each "a", "a!" or "b". '!' sorts before '/', so that an order
// by letters shows itself as a mistake.
class Universe {
 public:
  static constexpr std::size_t kSize = 1 + 3 + 9 + 27 + 81;
  using Members = std::bitset<kSize>;

  static const Universe& get() {
    static const Universe universe;
    return universe;
  }

  [[nodiscard]] const std::vector<std::string>& paths() const { return paths_; }
  [[nodiscard]] const std::string& path(std::size_t number) const { return paths_[number % kSize]; }

  // The definition, on lists of components and not on text: all paths at and below `root` that are
  // not at or below an exception.
  [[nodiscard]] Members tree(std::size_t root, const std::vector<std::size_t>& exceptions) const {
    Members members = below_[root % kSize];
    for (const std::size_t exception : exceptions) members &= ~below_[exception % kSize];
    return members;
  }

 private:
  using Names = std::vector<std::string>;

  Universe() {
    std::vector<Names> all = {{}};
    for (std::size_t next = 0; all.size() < kSize; ++next)
      for (const char* name : {"a", "a!", "b"}) {
        Names longer = all[next];
        longer.emplace_back(name);
        all.push_back(std::move(longer));
      }
    for (const Names& names : all) {
      std::string path;
      for (const std::string& name : names) path += "/" + name;
      paths_.push_back(path.empty() ? "/" : path);
      Members members;
      for (std::size_t i = 0; i < all.size(); ++i)
        members[i] =
            all[i].size() >= names.size() && std::equal(names.begin(), names.end(), all[i].begin());
      below_.push_back(members);
    }
  }

  std::vector<std::string> paths_;
  std::vector<Members> below_;  // by number: the paths at and below it
};

}  // namespace hermetic
