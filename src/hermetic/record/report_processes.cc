#include "hermetic/record/report_processes.h"

#include <fmt/format.h>

#include "hermetic/record/markup.h"
#include "hermetic/record/report_words.h"

namespace hermetic {
namespace {

constexpr std::size_t kMostProcesses = 1'000;
// Browsers give up nesting at a few hundred elements, and a level is three of them.
constexpr std::size_t kDeepestProcess = 50;
constexpr std::size_t kUnfolded = 4;
constexpr std::size_t kLongestCommand = 300;

class ProcessPage {
 public:
  explicit ProcessPage(const Redaction& redaction) : redaction_(redaction) {}

  void list(const std::vector<ProcessNode>& nodes, std::size_t depth) {
    text_ += "<ul>\n";
    for (const ProcessNode& node : nodes) {
      if (left_ == 0) {
        text_ += "<li class=\"soft\">and more: process_tree.json lists them</li>\n";
        break;
      }
      --left_;
      item(node, depth);
    }
    text_ += "</ul>\n";
  }

  [[nodiscard]] std::string finish() && { return std::move(text_); }

 private:
  void item(const ProcessNode& node, std::size_t depth) {
    const std::string name = node.executed.empty() ? std::string() : node.executed.back();
    const std::string line =
        shortened(command_line(name, node.arguments, redaction_), kLongestCommand);
    std::string label = fmt::format(
        "<code>{}</code>", markup_text(line == "''" ? "a process that executed nothing" : line));
    for (std::size_t i = 0; i + 1 < node.executed.size(); ++i)
      label += fmt::format(
          " <span class=\"became\">was <code>{}</code></span>",
          markup_text(shortened(visible(redaction_.clean(node.executed[i])), kLongestCommand)));
    if (node.children.empty()) {
      text_ += fmt::format("<li><span class=\"lone\">{}</span></li>\n", label);
      return;
    }
    if (depth >= kDeepestProcess) {
      text_ += fmt::format("<li>{} <span class=\"soft\">and what it started</span></li>\n", label);
      return;
    }
    text_ += fmt::format("<li><details{}><summary>{}</summary>\n", depth < kUnfolded ? " open" : "",
                         label);
    list(node.children, depth + 1);
    text_ += "</details></li>\n";
  }

  const Redaction& redaction_;
  std::string text_;
  std::size_t left_ = kMostProcesses;
};

}  // namespace

std::string processes_as_html(const std::vector<ProcessNode>& roots, const Redaction& redaction) {
  if (roots.empty()) return "";
  ProcessPage page(redaction);
  page.list(roots, 0);
  return "<div class=\"tree\">\n" + std::move(page).finish() + "</div>\n";
}

}  // namespace hermetic
