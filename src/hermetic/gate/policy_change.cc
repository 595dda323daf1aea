#include "hermetic/gate/policy_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "hermetic/base/text.h"
#include "hermetic/gate/exception_text.h"
#include "hermetic/gate/text_diff.h"
#include "hermetic/spec/yaml_document.h"

namespace hermetic::gate {
namespace {

// What is put into a text, by the place before which it goes.
class Insertions {
 public:
  explicit Insertions(std::string_view text) : text_(text) {
    lines_.push_back(0);
    for (std::size_t at = 0; at < text.size(); ++at)
      if (text[at] == '\n') lines_.push_back(at + 1);
  }

  [[nodiscard]] std::string_view text() const { return text_; }
  // Columns count characters, not bytes.
  [[nodiscard]] std::size_t offset_of(Place place) const {
    std::size_t at = line_begin(place.line);
    for (int column = 1; column < place.column && at < text_.size(); ++column) do {
        ++at;
      } while (at < text_.size() && (static_cast<unsigned char>(text_[at]) & 0xC0U) == 0x80U);
    return at;
  }
  [[nodiscard]] std::size_t line_begin(int line) const {
    const auto number = static_cast<std::size_t>(std::max(line, 1) - 1);
    return number < lines_.size() ? lines_[number] : text_.size();
  }
  [[nodiscard]] char at(std::size_t offset) const {
    return offset < text_.size() ? text_[offset] : '\0';
  }

  void put(std::size_t offset, const std::string& what) { inserted_[offset] += what; }
  // Whole lines, before a line that may be the one behind the last.
  void put_lines(std::size_t offset, const std::string& lines) {
    const bool unfinished = offset == text_.size() && !text_.empty() && text_.back() != '\n';
    put(offset, unfinished ? "\n" + lines.substr(0, lines.size() - 1) : lines);
  }

  [[nodiscard]] std::string finish() const {
    std::string result;
    std::size_t done = 0;
    for (const auto& [offset, what] : inserted_) {
      result += text_.substr(done, offset - done);
      result += what;
      done = offset;
    }
    result += text_.substr(done);
    return result;
  }

 private:
  std::string_view text_;
  std::vector<std::size_t> lines_;  // where each begins
  std::map<std::size_t, std::string> inserted_;
};

// The bracket that closes the one at `open`; nothing if it is not found. Quotes and comments are
// what the parser took them for, since it has accepted the text.
std::optional<std::size_t> closing(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t at = open; at < text.size(); ++at) {
    const char c = text[at];
    const char before = at == 0 ? '\n' : text[at - 1];
    const bool starts = before == ' ' || before == '\n' || before == '\t' || before == ',' ||
                        before == '[' || before == '{' || before == ':';
    if (c == '\'' && starts) {
      for (++at; at < text.size(); ++at)
        if (text[at] == '\'' && (at + 1 >= text.size() || text[at + 1] != '\''))
          break;
        else if (text[at] == '\'')
          ++at;
    } else if (c == '"' && starts) {
      for (++at; at < text.size() && text[at] != '"'; ++at)
        if (text[at] == '\\') ++at;
    } else if (c == '#' && (before == ' ' || before == '\n' || before == '\t')) {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if ((c == ']' || c == '}') && --depth == 0) {
      return at;
    }
  }
  return std::nullopt;
}

class Editor {
 public:
  Editor(const Policy& policy, Insertions& text) : policy_(policy), text_(text) {}

  // False if there is no place for it.
  bool add(const YamlNode& step, const Proposal& proposal) {
    Lists lists = lists_of(proposal);
    if (lists.empty()) return true;
    const YamlEntry* allow = entry_of(step, "allow");
    if (text_.at(text_.offset_of(step.place)) == '{') {
      if (allow == nullptr)
        return add_to_flow(step, "allow: " + as_flow(lists), comment_line(step), lists);
      return add_to_allow(*allow, lists, step);
    }
    if (allow != nullptr) return add_to_allow(*allow, lists, step);
    const YamlEntry* id = entry_of(step, "id");
    const int indent = id->place.column - 1;
    std::string lines = fmt::format("{:{}}allow:\n", "", indent);
    for (const List& list : lists) lines += as_block(list, indent + 2);
    text_.put_lines(text_.line_begin(id->value.place.line + 1), lines);
    return true;
  }

 private:
  struct Item {
    std::string text;
    std::vector<std::string> comments;
  };
  struct List {
    std::string key;
    std::vector<Item> items;  // empty: the key has a value of its own
    std::string value = {};
  };
  using Lists = std::vector<List>;

  [[nodiscard]] Lists lists_of(const Proposal& proposal) const {
    const bool first = policy_.version == 1;
    Lists lists;
    if (proposal.loopback && !first)
      lists.push_back({.key = "loopback", .items = {}, .value = "true"});
    const auto list_called = [&](const std::string& key) -> List& {
      if (lists.empty() || lists.back().key != key) lists.push_back({.key = key, .items = {}});
      return lists.back();
    };
    for (const ProposedException& exception : proposal.exceptions) {
      const char* key = !first             ? "exceptions"
                        : exception.listen ? "listen_ports"
                                           : "outbound_hosts";
      Item item{.text = exception_item(policy_.version, exception.host, exception.listen),
                .comments = {}};
      const std::string times =
          exception.count == 1 ? "once" : fmt::format("{} times", exception.count);
      std::string programs;
      for (const std::string& program : exception.programs)
        item.comments.push_back(fmt::format("by {}", printable(program)));
      item.comments.push_back(times);
      if (!exception.warning.empty())
        item.comments.push_back("warning: " + printable(exception.warning));
      list_called(key).items.push_back(std::move(item));
    }
    return lists;
  }

  static std::string items_as_flow(const List& list) {
    std::string text;
    for (const Item& item : list.items) text += (text.empty() ? "" : ", ") + item.text;
    return text;
  }
  static std::string entry_as_flow(const List& list) {
    return list.items.empty() ? fmt::format("{}: {}", list.key, list.value)
                              : fmt::format("{}: [{}]", list.key, items_as_flow(list));
  }
  static std::string as_flow(const Lists& lists) {
    std::string text;
    for (const List& list : lists) text += (text.empty() ? "" : ", ") + entry_as_flow(list);
    return "{" + text + "}";
  }
  static std::string items_as_block(const List& list, int indent) {
    std::string text;
    for (const Item& item : list.items) {
      for (const std::string& comment : item.comments)
        text += fmt::format("{:{}}# {}\n", "", indent, comment);
      text += fmt::format("{:{}}- {}\n", "", indent, item.text);
    }
    return text;
  }
  static std::string as_block(const List& list, int indent) {
    if (list.items.empty()) return fmt::format("{:{}}{}: {}\n", "", indent, list.key, list.value);
    return fmt::format("{:{}}{}:\n", "", indent, list.key) + items_as_block(list, indent + 2);
  }

  // Where comments about what is put into one line go: before that line.
  [[nodiscard]] std::size_t comment_line(const YamlNode& node) const {
    return text_.line_begin(node.place.line);
  }
  void comment(std::size_t line, const Lists& lists) {
    std::size_t indent = 0;
    while (text_.at(line + indent) == ' ') ++indent;
    std::string lines;
    for (const List& list : lists)
      for (const Item& item : list.items) {
        lines += fmt::format("{:{}}# {}:", "", indent, item.text);
        for (const std::string& comment : item.comments) lines += fmt::format(" {};", comment);
        lines.back() = '\n';
      }
    if (!lines.empty()) text_.put(line, lines);
  }

  bool add_to_flow(const YamlNode& node, const std::string& what, std::size_t line,
                   const Lists& lists) {
    const std::size_t open = text_.offset_of(node.place);
    const std::optional<std::size_t> close = closing(text_.text(), open);
    if (!close) return false;
    std::size_t last = *close;
    while (last > open + 1 &&
           std::string_view(" \t\r\n").find(text_.at(last - 1)) != std::string_view::npos)
      --last;
    const char before = text_.at(last - 1);
    const bool separate = last > open + 1 && before != ',';
    text_.put(last, (separate ? ", " : before == ',' ? " " : "") + what);
    comment(line, lists);
    return true;
  }

  bool add_to_allow(const YamlEntry& allow, const Lists& lists, const YamlNode& step) {
    if (allow.value.kind != YamlNode::Kind::Mapping) return false;
    const bool flow = text_.at(text_.offset_of(allow.value.place)) == '{';
    Lists missing;  // of a mapping in one line
    for (const List& list : lists) {
      const YamlEntry* there = entry_of(allow.value, list.key);
      if (there != nullptr && list.items.empty()) return false;  // it has another value
      if (there == nullptr && flow) {
        missing.push_back(list);
      } else if (there == nullptr) {
        const YamlEntry& first = allow.value.entries.front();
        text_.put_lines(text_.line_begin(first.place.line), as_block(list, first.place.column - 1));
      } else if (there->value.kind != YamlNode::Kind::Sequence) {
        return false;
      } else if (text_.at(text_.offset_of(there->value.place)) == '[') {
        if (!add_to_flow(there->value, items_as_flow(list),
                         comment_line(flow ? step : there->value), {list}))
          return false;
      } else {
        const YamlNode& sequence = there->value;
        text_.put_lines(text_.line_begin(sequence.place.line),
                        items_as_block(list, sequence.place.column - 1));
      }
    }
    if (missing.empty()) return true;
    std::string entries;
    for (const List& list : missing) entries += (entries.empty() ? "" : ", ") + entry_as_flow(list);
    return add_to_flow(allow.value, entries, comment_line(step), missing);
  }

  const Policy& policy_;
  Insertions& text_;
};

}  // namespace

Result<std::string> with_proposals(const Policy& policy, std::vector<Proposal>& proposals) {
  const YamlNode root = TRY(parse_yaml(policy.text, policy.file));
  const YamlEntry* steps = entry_of(root, "hermetic_steps");
  if (steps == nullptr) return invalid(fmt::format("'{}' has no steps", printable(policy.file)));
  Insertions text(policy.text);
  Editor editor(policy, text);
  for (Proposal& proposal : proposals) {
    if (policy.version == 1 && proposal.loopback)
      proposal.remarks.emplace_back(
          "it needs the step's own loopback, for which version 1 has no word: with "
          "schema_version \"2\", allow: {loopback: true}");
    for (const YamlNode& node : steps->value.items) {
      const YamlEntry* id = entry_of(node, "id");
      if (id == nullptr || id->value.text != proposal.step) continue;
      if (!editor.add(node, proposal))
        for (const ProposedException& exception : proposal.exceptions)
          proposal.remarks.push_back(fmt::format(
              "add by hand: {}", exception_item(policy.version, exception.host, exception.listen)));
    }
  }
  return text.finish();
}

Result<std::string> as_change(const Policy& policy, const std::string& name,
                              std::vector<Proposal> proposals) {
  const std::string after = TRY(with_proposals(policy, proposals));
  std::string text;
  for (const Proposal& proposal : proposals)
    for (const std::string& remark : proposal.remarks)
      text += fmt::format("# step {} ({}): {}\n", proposal.step,
                          printable(to_string(proposal.origin)), printable(remark));
  return text + unified_diff(name, policy.text, after);
}

}  // namespace hermetic::gate
