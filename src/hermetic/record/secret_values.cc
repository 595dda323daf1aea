#include "hermetic/record/secret_values.h"

namespace hermetic {

std::uint32_t SecretValues::child(std::uint32_t node, char byte) const {
  std::uint32_t found = nodes_[node].first_child;
  while (found != 0 && nodes_[found].byte != byte) found = nodes_[found].next_sibling;
  return found;
}

std::uint32_t SecretValues::step(std::uint32_t node, char byte) const {
  for (;;) {
    if (const std::uint32_t next = child(node, byte); next != 0) return next;
    if (node == 0) return 0;
    node = nodes_[node].fallback;
  }
}

void SecretValues::add(std::string_view value, int owner) {
  std::uint32_t node = 0;
  for (const char byte : value) {
    std::uint32_t next = child(node, byte);
    if (next == 0) {
      next = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back({.next_sibling = nodes_[node].first_child,
                        .depth = nodes_[node].depth + 1,
                        .owner = owner,
                        .byte = byte});
      nodes_[node].first_child = next;
    }
    node = next;
  }
  if (node == 0 || nodes_[node].longest != 0) return;
  nodes_[node].longest = nodes_[node].depth;
  nodes_[node].owner = owner;
}

void SecretValues::complete() {
  // Shorter ones first: a fallback is always shorter than what falls back.
  std::vector<std::uint32_t> waiting = {0};
  for (std::size_t i = 0; i < waiting.size(); ++i) {
    const std::uint32_t node = waiting[i];
    for (std::uint32_t next = nodes_[node].first_child; next != 0;
         next = nodes_[next].next_sibling) {
      waiting.push_back(next);
      Node& made = nodes_[next];
      made.fallback = node == 0 ? 0 : step(nodes_[node].fallback, made.byte);
      if (made.longest != 0) continue;
      made.longest = nodes_[made.fallback].longest;
      if (made.longest != 0) made.owner = nodes_[made.fallback].owner;
    }
  }
}

std::vector<SecretSpan> SecretValues::find(std::string_view text) const {
  std::vector<SecretSpan> found;
  std::uint32_t node = 0;
  const auto cut_at = [&](std::size_t end) {
    if (nodes_[node].depth >= kShortestCut)
      found.push_back({.begin = end - nodes_[node].depth, .end = end, .owner = nodes_[node].owner});
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    // Whoever cuts a text, perhaps in the middle of one, says so; and others go on after it.
    constexpr std::string_view kCutMark = "…";
    if (text[i] == kCutMark.front() && text.substr(i).starts_with(kCutMark)) cut_at(i);
    node = step(node, text[i]);
    if (const std::size_t length = nodes_[node].longest; length != 0)
      found.push_back({.begin = i + 1 - length, .end = i + 1, .owner = nodes_[node].owner});
  }
  cut_at(text.size());
  return found;
}

}  // namespace hermetic
