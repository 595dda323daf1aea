#include "hermetic/learn/earlier.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "hermetic/base/file_tree.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/learn/secrets.h"
#include "hermetic/spec/loader.h"

namespace hermetic {
namespace {

// What spec_text() does not write; "" if there is none of it.
std::string foreign_key(const Project& project, const Draft& draft) {
  if (!project.targets.empty()) return "targets";
  const std::array<std::pair<bool, const char*>, 7> keys = {
      {{draft.identity.has_value(), "identity"},
       {draft.hostname.has_value(), "hostname"},
       {draft.on_violation.has_value(), "on_violation"},
       {draft.strict_outputs || draft.allow_nested_namespaces || draft.own_uptime ||
            draft.allow_unsandboxed,
        "a switch"},
       {!draft.give_up.empty(), "give_up"},
       {!draft.environment.pass.empty(), "environment.pass"},
       {draft.network && draft.network->mode == NetworkPolicy::Mode::Host, "network: host"}}};
  for (const auto& [is_set, name] : keys)
    if (is_set) return name;
  for (const auto& [key, origin] : draft.origins)
    if (key.starts_with("limits") || key.starts_with("process")) return key;
  return "";
}

// What stands in comments: secrets that are offered, "  # - $here/server.key", and notes.
void read_comments(std::string_view text, const std::string& here, Earlier& earlier) {
  constexpr std::string_view kMark = "  # - ";
  constexpr std::string_view kNote = "# Left out: ";
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.starts_with(kNote) && line.ends_with('.'))
      earlier.notes.emplace(line.substr(kNote.size(), line.size() - kNote.size() - 1));
    if (!line.starts_with(kMark)) continue;
    line.remove_prefix(kMark.size());
    if (line.size() >= 2 && line.front() == '"' && line.back() == '"')
      line = line.substr(1, line.size() - 2);
    constexpr std::string_view kHere = "$here/";
    const std::string path =
        line.starts_with(kHere) ? join(here, line.substr(kHere.size())) : std::string(line);
    if (path.find('\\') == std::string::npos && normal_path(path)) earlier.withheld.insert(path);
  }
}

}  // namespace

Result<Earlier> read_earlier(std::string_view text, const std::string& file,
                             const std::string& here) {
  const Project project = TRY(parse_project(text, file, here));
  const Draft draft = TRY(draft_of(project, std::nullopt));
  if (const std::string key = foreign_key(project, draft); !key.empty())
    return invalid(fmt::format("'{}' sets {}, which learning does not write: it would be lost",
                               printable(file), key),
                   "learn into another file and join them by hand");
  Earlier earlier;
  earlier.command = draft.command;
  earlier.directory = draft.directory.value_or("/");
  for (const Declaration& tree : draft.declarations)
    if (tree.kind != TreeKind::Input || is_present(tree.path)) earlier.trees.push_back(tree);
  earlier.variables = draft.environment.set;
  if (draft.network) {
    earlier.loopback = draft.network->mode == NetworkPolicy::Mode::Loopback;
    for (const HostRule& rule : draft.network->hosts) earlier.hosts.insert(to_string(rule));
  }
  read_comments(text, here, earlier);
  for (const Declaration& tree : earlier.trees) earlier.withheld.erase(tree.path);
  return earlier;
}

}  // namespace hermetic
