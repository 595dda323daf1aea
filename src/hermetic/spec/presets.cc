#include "hermetic/spec/presets.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <optional>

#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/spec/place.h"

namespace hermetic {
namespace {

constexpr std::array<const char*, 10> kToolchain = {
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc/alternatives",  // Debian's cc, c++, awk, java… are links through it
    "/etc/ld.so.cache",
    "/etc/ld.so.conf.d"};

bool exists(const char* path) {
  struct stat status = {};
  return ::stat(path, &status) == 0;
}

// The parts of `carved` that lie inside `tree`.
std::vector<std::string> inside(const std::vector<std::string>& carved, const std::string& tree) {
  std::vector<std::string> found;
  for (const std::string& path : carved)
    if (is_strictly_within(path, tree)) found.push_back(path);
  return found;
}

void add_toolchain(SpecBuilder& builder, const std::vector<std::string>& carved) {
  for (const std::string& directory : toolchain_directories())
    builder.input(directory, inside(carved, directory));
}

struct Workspace {
  std::string root;
  WorkspacePlace place = WorkspacePlace::AsOnTheHost;

  // The name inside of a path of the host; "" as `at` where that is the same.
  [[nodiscard]] std::string inside(const std::string& path) const {
    const bool moved = place == WorkspacePlace::Fixed && is_within(path, root);
    return moved ? join(kWorkspace, relative_to(path, root)) : path;
  }
  [[nodiscard]] Declaration placed(Declaration declaration) const {
    for (std::string& exception : declaration.exceptions) exception = inside(exception);
    std::string at = inside(declaration.path);
    if (at != declaration.path) declaration.at = std::move(at);
    if (declaration.kind == TreeKind::Temp && !declaration.at.empty())
      declaration.path = declaration.at;
    return declaration;
  }
};

Result<void> add_input(SpecBuilder& builder, const std::string& path,
                       const std::vector<std::string>& carved, const Workspace& workspace = {}) {
  for (const std::string& other : carved)
    if (is_within(path, other))
      return invalid(fmt::format("source '{}' lies inside '{}', which is written", printable(path),
                                 printable(other)),
                     "keep sources and results apart");
  // A source inside the toolchain (say, /usr/src) is an input already.
  for (const std::string& directory : toolchain_directories())
    if (is_within(path, directory) && workspace.inside(path) == path) return {};
  builder.declare(workspace.placed({.path = path, .exceptions = inside(carved, path)}));
  return {};
}

// Where the caller's directory stands inside, if it was declared with a place.
std::optional<std::string> placed_directory(const Draft& declared, const std::string& directory) {
  for (const Declaration& declaration : declared.declarations) {
    const bool host = declaration.kind != TreeKind::Temp || declaration.over.size() == 1;
    if (declaration.at.empty() || !host) continue;
    const std::string& source =
        declaration.over.empty() ? declaration.path : declaration.over.front();
    if (is_within(directory, source)) return join(declaration.at, relative_to(directory, source));
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::string> toolchain_directories() {
  std::vector<std::string> found;
  for (const char* path : kToolchain)
    if (exists(path)) found.emplace_back(path);
  return found;
}

Draft default_draft(const Draft& declared, const std::string& directory) {
  Draft draft;
  draft.directory = directory;
  const auto is_root = [](const Declaration& declaration) { return declaration.at == "/"; };
  const bool root = std::ranges::any_of(declared.declarations, is_root);
  const std::optional<std::string> placed = placed_directory(declared, directory);
  if (placed)
    draft.directory = placed;
  else if (root)
    draft.directory = "/";
  std::vector<std::string> readable;
  if (!root) readable = toolchain_directories();
  // All of the host is never the default, wherever one happens to stand.
  if (directory != "/" && !placed && !root) readable.push_back(directory);
  for (const std::string& path : readable) {
    Declaration input{.kind = TreeKind::Input, .path = path, .origin = {.source = "default"}};
    bool covered = false;
    for (const Declaration& other : declared.declarations) {
      if (other.kind == TreeKind::Input) continue;
      // What the command writes is no input, neither where it stands inside nor on the host.
      for (const std::string* written : {&declared_place(other), &other.path}) {
        covered = covered || is_within(path, *written);
        if (is_strictly_within(*written, path)) input.exceptions.push_back(*written);
      }
    }
    if (!covered) draft.declarations.push_back(std::move(input));
  }
  return draft;
}

Result<SpecBuilder> for_build(const std::string& workspace, const std::vector<std::string>& sources,
                              const std::string& output_dir, const std::string& temp_dir,
                              WorkspacePlace place) {
  const std::string root = TRY(normal_path(workspace));
  const std::string output = TRY(normal_path(output_dir));
  const std::string temp = TRY(normal_path(temp_dir));
  const std::vector<std::string> carved = {output, temp};
  const Workspace placed{.root = root, .place = place};
  SpecBuilder builder;
  add_toolchain(builder, carved);
  for (const std::string& source : sources) {
    const std::string path = TRY(normal_path(source));
    if (!is_within(path, root))
      return invalid(fmt::format("source '{}' is not inside the workspace '{}'", printable(path),
                                 printable(root)),
                     "add it with input() if it is meant");
    TRY(add_input(builder, path, carved, placed));
  }
  const bool in_workspace = !sources.empty() || is_strictly_within(output, root);
  builder
      .declare(placed.placed(
          {.kind = TreeKind::Output, .path = output, .exceptions = inside({temp}, output)}))
      .declare(placed.placed(
          {.kind = TreeKind::Temp, .path = temp, .exceptions = inside({output}, temp)}))
      .env("TMPDIR", placed.inside(temp))
      .limits(ResourceLimits::hermetic())
      .directory(placed.inside(in_workspace ? root : output));
  return builder;
}

Result<SpecBuilder> for_test(const std::string& workspace, const std::string& test_dir,
                             const std::string& temp_dir) {
  const std::string root = TRY(normal_path(workspace));
  const std::string tests = TRY(normal_path(test_dir));
  const std::string temp = TRY(normal_path(temp_dir));
  const std::vector<std::string> carved = {temp};
  SpecBuilder builder;
  add_toolchain(builder, carved);
  TRY(add_input(builder, root, carved));
  if (!is_within(tests, root)) TRY(add_input(builder, tests, carved));
  builder.temp(temp).directory(tests).env("TMPDIR", temp).limits(ResourceLimits::hermetic());
  return builder;
}

}  // namespace hermetic
