#include "hermetic/learn/secrets.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "hermetic/base/path.h"

namespace hermetic {
namespace {

constexpr std::array<std::string_view, 42> kNames = {".ssh",
                                                     ".gnupg",
                                                     ".aws",
                                                     ".azure",
                                                     ".kube",
                                                     ".docker",
                                                     ".netrc",
                                                     "_netrc",
                                                     ".authinfo",
                                                     ".pgpass",
                                                     ".my.cnf",
                                                     ".npmrc",
                                                     ".pypirc",
                                                     ".git-credentials",
                                                     ".htpasswd",
                                                     ".env",
                                                     ".envrc",
                                                     "id_rsa",
                                                     "id_dsa",
                                                     "id_ecdsa",
                                                     "id_ed25519",
                                                     "id_ecdsa_sk",
                                                     "keyrings",
                                                     ".password-store",
                                                     ".mozilla",
                                                     ".thunderbird",
                                                     ".vault-token",
                                                     ".terraformrc",
                                                     ".bash_history",
                                                     "credentials",
                                                     "credentials.toml",
                                                     "settings-security.xml",
                                                     "secrets.yaml",
                                                     "secrets.json",
                                                     "secrets.yml",
                                                     "secrets.toml",
                                                     "credentials.json",
                                                     "token.txt",
                                                     "service-account.json",
                                                     "kubeconfig",
                                                     ".s3cfg",
                                                     ".dockercfg"};
constexpr std::array<std::string_view, 7> kEndings = {".pem", ".key",      ".p12", ".pfx",
                                                      ".jks", ".keystore", ".kdbx"};
// A certificate is shown to everybody.
constexpr std::array<std::string_view, 5> kPublic = {"cert", "ca-", "bundle", "chain", "pub"};
constexpr std::array<std::string_view, 5> kPaths = {"/etc/shadow", "/etc/gshadow", "/etc/sudoers",
                                                    "/etc/ssl/private", "/etc/ssh"};

bool is_one_of(std::string_view name, const auto& list) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool is_sample(std::string_view name) {
  for (const std::string_view ending : {".example", ".sample", ".template", ".dist"})
    if (name.ends_with(ending)) return true;
  return false;
}

bool has_secret_ending(std::string_view name) {
  const bool ending = std::any_of(kEndings.begin(), kEndings.end(),
                                  [&](std::string_view text) { return name.ends_with(text); });
  const bool shown = std::any_of(kPublic.begin(), kPublic.end(), [&](std::string_view text) {
    return name.find(text) != std::string_view::npos;
  });
  return ending && !shown;
}

template <class IsSecret>
bool any_component(std::string_view path, IsSecret is_secret) {
  for (Components component(path); component.next();)
    if (is_secret(component.name())) return true;
  return false;
}

}  // namespace

bool is_secret_in_toolchain(std::string_view path) {
  if (is_within(path, "/etc/ssl/certs")) return false;
  for (const std::string_view secret : kPaths)
    if (is_within(path, secret)) return true;
  std::string_view before;
  return any_component(path, [&](std::string_view name) {
    const std::string_view parent = std::exchange(before, name);
    if (parent == ".config" && (name == "gcloud" || name == "gh")) return true;
    return is_one_of(name, kNames) || (name.starts_with(".env.") && !is_sample(name));
  });
}

bool is_secret_path(std::string_view path) {
  if (is_within(path, "/etc/ssl/certs")) return false;
  return is_secret_in_toolchain(path) || any_component(path, has_secret_ending);
}

}  // namespace hermetic
