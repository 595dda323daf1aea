#include "hermetic/gate/step_spec.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <set>

#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/gate/credentials.h"
#include "hermetic/record/evidence_folder.h"
#include "hermetic/spec/environment.h"
#include "hermetic/spec/place.h"
#include "hermetic/spec/presets.h"
#include "hermetic/spec/spec_builder.h"

namespace hermetic::gate {
namespace {

// What a program needs to find others and to speak a language; nobody's secret.
constexpr std::array<std::string_view, 8> kBase = {"PATH", "LANG", "LC_ALL", "LC_CTYPE",
                                                   "TZ",   "TERM", "CI",     "SOURCE_DATE_EPOCH"};
// Meant for another process, or for hermetic itself.
constexpr std::array<std::string_view, 9> kNever = {"HOME",   "USER",   "LOGNAME",  "SHELL", "PWD",
                                                    "OLDPWD", "TMPDIR", "HOSTNAME", "_"};

// Of /etc, what a step may not see even where the caller is root.
constexpr std::array<std::string_view, 32> kSecretsInEtc = {
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/security/opasswd",
    "/etc/ssl/private", "/etc/pki/tls/private", "/etc/letsencrypt", "/etc/ssh", "/etc/sudoers",
    "/etc/sudoers.d", "/etc/krb5.keytab", "/etc/credstore", "/etc/credstore.encrypted",
    "/etc/NetworkManager/system-connections", "/etc/netplan", "/etc/wireguard", "/etc/openvpn",
    "/etc/ipsec.secrets", "/etc/ppp", "/etc/docker", "/etc/containers/auth.json", "/etc/kubernetes",
    "/etc/rancher", "/etc/vault.d", "/etc/consul.d", "/etc/nomad.d",
    // Those who start the gate.
    "/etc/gitlab-runner", "/etc/buildkite-agent", "/etc/github-runner", "/etc/woodpecker",
    "/etc/mysql/debian.cnf"};

template <std::size_t N>
bool holds(const std::array<std::string_view, N>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

bool exists(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0;
}

bool is_directory(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::string real_path(const std::string& path) {
  std::array<char, PATH_MAX> real;
  return ::realpath(path.c_str(), real.data()) == nullptr ? "" : real.data();
}

// What an earlier step may have put there leads wherever it liked: "node_modules/.bin" as a link to
// somebody's home. What is in the workspace is seen with it anyway.
bool passes_through(const std::string& path, const std::string& workspace) {
  for (Components part(path); part.next();)
    if (is_within(real_path(std::string(part.prefix())), workspace)) return true;
  return false;
}

// Where a tool that is not the system's is installed: "…/bin" and the libraries beside it.
void add_from_path(const std::string& search, const Surroundings& surroundings,
                   std::set<std::string>& trees) {
  const std::string home = surroundings.search().home;
  std::size_t begin = 0;
  while (begin <= search.size()) {
    const std::size_t end = std::min(search.find(':', begin), search.size());
    const Result<std::string> named = normal_path(search.substr(begin, end - begin));
    begin = end + 1;
    if (!named || passes_through(*named, surroundings.workspace)) continue;
    const std::string entry = real_path(*named);
    if (!entry.starts_with('/') || entry == "/" || !is_directory(entry)) continue;
    // All of somebody's home is no tool.
    if (!home.empty() && is_within(home, entry)) continue;
    trees.insert(entry);
    if (last_component(entry) != "bin" && last_component(entry) != "sbin") continue;
    // ~/.local/share has keyrings and the data of all programs; ~/lib has whatever it has.
    const bool of_home =
        !home.empty() && (parent_of(entry) == home || parent_of(entry) == join(home, ".local"));
    for (const char* beside : {"lib", "lib64", "libexec", "include", "share"})
      if (const std::string tree = join(parent_of(entry), beside);
          is_directory(tree) && !(of_home && std::string_view(beside) == "share"))
        trees.insert(tree);
  }
}

std::string line_of(const std::string& file) {
  const Result<std::string> text = read_whole_file(file);
  return text ? text->substr(0, text->find('\n')) : "";
}

std::string from(const std::string& folder, const std::string& name) {
  return real_path(name.starts_with('/') ? name : folder + "/" + name);
}

// The value of "worktree = …" in the settings of a submodule's folder.
std::string worktree_of(const std::string& folder) {
  const Result<std::string> text = read_whole_file(folder + "/config");
  constexpr std::string_view kKey = "\tworktree = ";
  const std::size_t place = text ? text->find(kKey) : std::string::npos;
  if (place == std::string::npos) return "";
  const std::size_t begin = place + kKey.size();
  return from(folder, text->substr(begin, text->find('\n', begin) - begin));
}

// A worktree or a submodule has a file there that says where its folder is. The file may be one
// that a step has made, to be shown any folder: the folder must say that it belongs to the
// workspace.
void add_git_folders(const std::string& git, std::set<std::string>& trees) {
  const std::string line = line_of(git);
  constexpr std::string_view kFolder = "gitdir: ";
  if (!line.starts_with(kFolder)) return;
  const std::string workspace(parent_of(git));
  const std::string folder = from(workspace, line.substr(kFolder.size()));
  if (folder.empty() || is_within(folder, workspace)) return;
  const std::string common = line_of(folder + "/commondir");
  if (common.empty()) {
    if (worktree_of(folder) == workspace) trees.insert(folder);
    return;
  }
  const std::string shared = from(folder, common);
  if (from(folder, line_of(folder + "/gitdir")) != git || shared.empty() ||
      parent_of(folder) != join(shared, "worktrees"))
    return;
  trees.insert(folder);
  trees.insert(shared);
}

// Drops what lies in another tree already, and what must not be an input of its own.
std::vector<std::string> outermost(const std::set<std::string>& trees,
                                   const std::string& workspace) {
  std::vector<std::string> kept;
  for (const std::string& tree : trees) {
    const bool inside = std::any_of(trees.begin(), trees.end(), [&](const std::string& other) {
      return is_strictly_within(tree, other);
    });
    const bool of_workspace = is_within(tree, workspace) || is_within(workspace, tree);
    const bool built_in = is_within(tree, "/proc") || is_within(tree, "/dev") ||
                          is_within(tree, "/sys") || is_within(tree, "/run") ||
                          is_within(tree, "/tmp");
    if (!inside && !of_workspace && !built_in) kept.push_back(tree);
  }
  return kept;
}

Draft usual_view(const StepEnvironment& environment, const Surroundings& surroundings) {
  std::set<std::string> trees = {"/etc"};
  for (const std::string& directory : toolchain_directories())
    if (!is_within(directory, "/etc")) trees.insert(directory);
  for (const char* more : {"/opt", "/nix/store", "/var/lib/dpkg"})
    if (is_directory(more)) trees.insert(more);
  if (const auto path = environment.variables.find("PATH"); path != environment.variables.end())
    add_from_path(path->second, surroundings, trees);
  const std::string& workspace = surroundings.workspace;
  const std::string git = join(workspace, ".git");
  if (exists(git) && !is_directory(git)) add_git_folders(git, trees);

  Draft draft;
  for (const std::string& tree : outermost(trees, workspace)) {
    Declaration input{.kind = TreeKind::Input, .path = tree, .exceptions = {}};
    if (tree == "/etc")
      for (const std::string_view secret : kSecretsInEtc)
        if (exists(std::string(secret))) input.exceptions.emplace_back(secret);
    draft.declarations.push_back(std::move(input));
  }
  Declaration output{.kind = TreeKind::Output,
                     .path = workspace,
                     .exceptions = {},
                     .publish = Publish::InPlace,
                     .type = FileType::Directory};
  // A hook or a setting there would run outside, later: it can be read, not written.
  if (exists(git)) {
    output.exceptions.push_back(git);
    draft.declarations.push_back({.kind = TreeKind::Input, .path = git, .exceptions = {}});
  }
  draft.declarations.push_back(std::move(output));
  draft.directory = workspace;
  return draft;
}

// Also from the trees that the policy or a spec declares, by the names that they have there.
void hide(const std::vector<std::string>& hidden, Draft& draft) {
  for (Declaration& declaration : draft.declarations)
    for (const std::string& path : hidden) {
      if (declaration.kind == TreeKind::Temp || !declaration.path.starts_with('/') ||
          !is_within(path, declaration.path))
        continue;
      std::string inside = join(declared_place(declaration), relative_to(path, declaration.path));
      if (std::ranges::find(declaration.exceptions, inside) == declaration.exceptions.end())
        declaration.exceptions.push_back(std::move(inside));
    }
}

}  // namespace

CallerSearch Surroundings::search() const {
  const auto value = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  return {.path = value("PATH"), .home = real_path(value("HOME"))};
}

StepEnvironment environment_of(const Step& step, const std::map<std::string, std::string>& caller) {
  const EnvironmentPolicy& policy = step.environment;
  StepEnvironment result;
  for (const auto& [name, value] : caller) {
    const bool named = policy.pass.contains(name);
    const bool base = holds(kBase, name) && !is_credential_value(value);
    const bool harmless = policy.mode == EnvironmentPolicy::Mode::Sanitize &&
                          !holds(kNever, name) && !name.starts_with("HERMETIC") &&
                          !is_credential_name(name) && !is_credential_value(value);
    // A shell's functions travel under names that are none.
    if ((named || base || harmless) && !policy.deny.contains(name) && is_variable_name(name))
      result.variables[name] = value;
    else
      result.stripped.push_back(name);
  }
  for (const auto& [name, value] : step.variables) result.variables[name] = value;
  return result;
}

Result<Spec> spec_of(const Step& step, const NetworkPolicy& network,
                     const StepEnvironment& environment, const Surroundings& surroundings) {
  Draft draft = step.spec ? *step.spec : usual_view(environment, surroundings);
  draft = overlay(std::move(draft), step.draft);
  if (surroundings.caller_toolchain)
    add_caller_toolchain(draft, surroundings.search(), surroundings.workspace);
  hide(surroundings.hidden, draft);
  if (!step.command.empty()) draft.command = step.command;
  draft.network = network;
  draft.origins["network"] = step.network_origin();
  for (const GovernedException& exception : step.exceptions)
    if (exception.host) draft.origins["network." + to_string(*exception.host)] = exception.origin;
  draft.unix_sockets.clear();  // as of the network: the policy decides
  for (const std::string& path : unix_sockets_of(step))
    draft.unix_sockets.insert(path.starts_with('/') ? path : join(surroundings.workspace, path));
  draft.environment.pass.clear();
  for (const auto& [name, value] : environment.variables) draft.environment.set[name] = value;
  return SpecBuilder(std::move(draft)).caller_environment({}).build();
}

}  // namespace hermetic::gate
