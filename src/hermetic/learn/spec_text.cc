#include "hermetic/learn/spec_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "hermetic/base/path.h"
#include "hermetic/base/text.h"

namespace hermetic {
namespace {

bool is_plain(const std::string& text) {
  if (text.empty() || text == "null" || text == "~") return false;
  const auto first = static_cast<unsigned char>(text.front());
  if (std::isalnum(first) == 0 && std::string_view("/._").find(text.front()) == std::string::npos &&
      !text.starts_with("$here"))
    return false;
  return std::all_of(text.begin(), text.end(), [](unsigned char letter) {
    return std::isalnum(letter) != 0 ||
           std::string_view("/._-+$=@").find(static_cast<char>(letter)) != std::string_view::npos;
  });
}

// What YAML takes for the end of a line, or of the text before it.
struct Mark {
  std::string_view bytes;
  std::string_view escape;
};
constexpr std::array<Mark, 3> kMarks = {
    {{"\u2028", "\\u2028"}, {"\u2029", "\\u2029"}, {"\ufeff", "\\ufeff"}}};

const Mark* find_mark(std::string_view text) {
  const auto* const found = std::find_if(
      kMarks.begin(), kMarks.end(), [&](const Mark& mark) { return text.starts_with(mark.bytes); });
  return found == kMarks.end() ? nullptr : found;
}

class Writer {
 public:
  Writer(const Learned& learned, const std::string& here) : learned_(learned), here_(here) {}

  std::string write() {
    header();
    text_ += "version: 1\n";
    list("command", learned_.command);
    text_ += fmt::format("directory: {}\n", path(learned_.directory));
    trees("inputs", TreeKind::Input);
    withheld();
    trees("outputs", TreeKind::Output);
    trees("temps", TreeKind::Temp);
    variables();
    network();
    return std::move(text_);
  }

 private:
  void header() {
    text_ += fmt::format(
        "# Learned by 'hermetic learn' from {}. What another run may need besides is not in "
        "here.\n",
        learned_.several_runs ? "several runs" : "one run");
    for (const std::string& note : learned_.notes)
      text_ += fmt::format("# Left out: {}.\n", printable(note));
  }

  [[nodiscard]] std::string path(const std::string& absolute) const {
    if (here_ != "/" && is_within(absolute, here_))
      return yaml_scalar(absolute == here_ ? "$here"
                                           : fmt::format("$here/{}", relative_to(absolute, here_)));
    return yaml_scalar(absolute);
  }

  void list(const char* key, const std::vector<std::string>& words) {
    std::string joined;
    for (const std::string& word : words)
      joined += (joined.empty() ? "" : ", ") + yaml_scalar(word);
    text_ += fmt::format("{}: [{}]\n", key, joined);
  }

  void trees(const char* key, TreeKind kind) {
    std::string reason;
    for (const LearnedTree& tree : learned_.trees) {
      if (tree.declaration.kind != kind) continue;
      if (reason.empty()) text_ += fmt::format("{}:\n", key);
      if (tree.reason != reason) text_ += fmt::format("  # {}\n", tree.reason);
      reason = tree.reason;
      declaration(tree.declaration);
    }
  }

  // Below the inputs, where one of them belongs once its '#' is gone.
  void withheld() {
    if (learned_.withheld.empty()) return;
    const bool has_inputs = std::any_of(
        learned_.trees.begin(), learned_.trees.end(),
        [](const LearnedTree& tree) { return tree.declaration.kind == TreeKind::Input; });
    text_ += "  # read, but it looks like a secret: remove the '#' before '-' if it is meant\n";
    if (!has_inputs) text_ += "# inputs:\n";
    for (const std::string& secret : learned_.withheld)
      text_ += fmt::format("  # - {}\n", path(secret));
  }

  void declaration(const Declaration& declaration) {
    const bool output = declaration.kind == TreeKind::Output;
    const bool publish = output && declaration.publish != Publish::Replace;
    const bool type = declaration.kind != TreeKind::Input && declaration.type == FileType::File;
    const bool made = declaration.made_by_command;
    if (declaration.exceptions.empty() && declaration.over.empty() && !publish && !type && !made) {
      text_ += fmt::format("  - {}\n", path(declaration.path));
      return;
    }
    text_ += fmt::format("  - path: {}\n", path(declaration.path));
    if (type) text_ += fmt::format("    type: {}\n", to_string(declaration.type));
    if (made) text_ += "    made_by: command\n";
    for (const std::string& layer : declaration.over)
      text_ += fmt::format("    over: {}\n", path(layer));  // there is one at most
    if (publish) text_ += fmt::format("    publish: {}\n", to_string(declaration.publish));
    if (declaration.exceptions.empty()) return;
    text_ += "    except:\n";
    for (const std::string& exception : declaration.exceptions)
      text_ += fmt::format("      - {}\n", path(exception));
  }

  void variables() {
    if (learned_.variables.empty()) return;
    text_ += "environment:\n  set:\n";
    for (const auto& [name, variable] : learned_.variables) {
      text_ += fmt::format("    # {}\n", variable.reason);
      text_ += fmt::format("    {}: {}\n", name, yaml_scalar(variable.value));
    }
  }

  void network() {
    if (learned_.network.empty()) {
      text_ += "# Nobody was reached: there is no network.\n";
    } else if (learned_.network == "loopback") {
      text_ +=
          "# Only servers that the command itself has started were reached.\nnetwork: loopback\n";
    } else {
      text_ += "network:\n";
      for (const std::string& host : learned_.hosts)
        text_ += fmt::format("  - {}\n", yaml_scalar(host));
    }
  }

  const Learned& learned_;
  const std::string& here_;
  std::string text_;
};

}  // namespace

std::string yaml_scalar(const std::string& text) {
  if (is_plain(text)) return text;
  std::string quoted = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    const auto byte = static_cast<unsigned char>(letter);
    const std::string_view rest = std::string_view(text).substr(i);
    if (byte == 0xc2 && rest.size() > 1 && static_cast<unsigned char>(rest[1]) < 0xa0) {
      quoted +=
          fmt::format("\\u{:04x}", static_cast<unsigned char>(rest[1]));  // control characters
      i += 1;
    } else if (const auto* mark = find_mark(rest); mark != nullptr) {
      quoted += mark->escape;
      i += mark->bytes.size() - 1;
    } else if (letter == '"' || letter == '\\') {
      quoted += fmt::format("\\{}", letter);
    } else if (byte < 0x20 || byte == 0x7f) {
      quoted += fmt::format("\\x{:02x}", byte);
    } else {
      quoted += letter;
    }
  }
  return quoted + '"';
}

std::string spec_text(const Learned& learned, const std::string& here) {
  return Writer(learned, here).write();
}

}  // namespace hermetic
