// SecretValues: finds any of many texts in another one, in one pass (Aho and Corasick, 1975).
//
// Every occurrence is found, also those that overlap: of two secrets that share a part nothing
// stays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace hermetic {

// [begin, end) of a text; `owner` says whose value it is, or that nobody's name is known.
struct SecretSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
  int owner = kNobody;

  static constexpr int kNobody = -1;
};

class SecretValues {
 public:
  // A beginning of that length counts at the end of a text, and before a "…": it may have been cut
  // there.
  static constexpr std::size_t kShortestCut = 12;

  void add(std::string_view value, int owner);
  // After the last add(), before the first find().
  void complete();
  [[nodiscard]] bool empty() const { return nodes_.size() == 1; }
  // For each place where a value ends, the longest one.
  [[nodiscard]] std::vector<SecretSpan> find(std::string_view text) const;

 private:
  // Children are a list: nearly every node has one, and there are as many nodes as bytes.
  struct Node {
    std::uint32_t first_child = 0;
    std::uint32_t next_sibling = 0;
    std::uint32_t fallback = 0;  // the longest proper suffix that begins a value
    std::uint32_t depth = 0;
    std::uint32_t longest = 0;  // of the values that end here
    int owner = SecretSpan::kNobody;
    char byte = '\0';
  };

  [[nodiscard]] std::uint32_t child(std::uint32_t node, char byte) const;
  [[nodiscard]] std::uint32_t step(std::uint32_t node, char byte) const;

  std::vector<Node> nodes_ = {Node{}};
};

}  // namespace hermetic
