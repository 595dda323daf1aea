#include "hermetic/gate/credentials.h"

#include <algorithm>
#include <array>
#include <string>

#include "hermetic/record/secret_names.h"
#include "hermetic/record/secret_shapes.h"

namespace hermetic::gate {
namespace {

// Clouds, registries, brokers, databases and vaults: nearly all that they name is a credential or
// says where one is, and a hermetic step can reach none of them.
constexpr std::array<std::string_view, 58> kPrefixes = {"AWS_",
                                                        "AMAZON_",
                                                        "AZURE_",
                                                        "ARM_",
                                                        "GOOGLE_",
                                                        "GCP_",
                                                        "GCLOUD_",
                                                        "CLOUDSDK_",
                                                        "ALICLOUD_",
                                                        "OCI_",
                                                        "DIGITALOCEAN_",
                                                        "HEROKU_",
                                                        "VAULT_",
                                                        "CONSUL_",
                                                        "NOMAD_",
                                                        "KUBE",
                                                        "HELM_",
                                                        "TF_VAR_",
                                                        "TF_TOKEN_",
                                                        "PULUMI_",
                                                        "DOCKER_",
                                                        "REGISTRY_",
                                                        "CONTAINERS_",
                                                        "COSIGN_",
                                                        "SIGSTORE_",
                                                        "GPG_",
                                                        "GNUPG",
                                                        "SSH_",
                                                        "SUDO_",
                                                        "ACTIONS_",
                                                        "RUNNER_TRACKING",
                                                        "CI_JOB_",
                                                        "CI_REGISTRY",
                                                        "CI_DEPLOY",
                                                        "CI_REPOSITORY",
                                                        "CI_DEPENDENCY_PROXY",
                                                        "GIT_CONFIG_",
                                                        "TWINE_",
                                                        "PGPASS",
                                                        "MYSQL_",
                                                        "REDIS",
                                                        "MONGO",
                                                        "AMQP",
                                                        "RABBITMQ_",
                                                        "KAFKA_",
                                                        "SNOWFLAKE_",
                                                        "SENTRY_",
                                                        "SLACK_",
                                                        "TELEGRAM_",
                                                        "DISCORD_",
                                                        "TWILIO_",
                                                        "STRIPE_",
                                                        "DATADOG_",
                                                        "NEW_RELIC_",
                                                        "ARTIFACTORY_",
                                                        "JFROG_",
                                                        "IDENTITY_",
                                                        "MSI_"};
constexpr std::array<std::string_view, 27> kSuffixes = {
    "_URL",      "_URI",        "_DSN",     "_PAT",     "_CERT",     "_CERTIFICATE",
    "_PEM",      "_JWT",        "_PWD",     "_PASS",    "_USERNAME", "_USER",
    "_LOGIN",    "_ASKPASS",    "_PROXY",   "_NETRC",   "_WEBHOOK",  "_CONNECTION_STRING",
    "_CONNSTR",  "_KUBECONFIG", "_AUTH",    "_KEYRING", "_KEYSTORE", "_SIGNATURE",
    "_KEY_FILE", "_KEYFILE",    "_KEY_PATH"};
constexpr std::array<std::string_view, 20> kWhole = {"NETRC",
                                                     "PASSPHRASE",
                                                     "HTTP_PROXY",
                                                     "HTTPS_PROXY",
                                                     "ALL_PROXY",
                                                     "FTP_PROXY",
                                                     "NO_PROXY",
                                                     "SIGNING_CERT",
                                                     "CONNECTION_STRING",
                                                     "DBUS_SESSION_BUS_ADDRESS",
                                                     "DBUS_SYSTEM_BUS_ADDRESS",
                                                     "XAUTHORITY",
                                                     "ICEAUTHORITY",
                                                     "KRB5CCNAME",
                                                     "KRB5_KTNAME",
                                                     "NPM_CONFIG_USERCONFIG",
                                                     "PIP_CONFIG_FILE",
                                                     "BOTO_CONFIG",
                                                     "CURL_HOME",
                                                     "WGETRC"};
// In the middle: PIP_EXTRA_INDEX_URL, AZURE_CLIENT_CERTIFICATE_PATH, BUNDLE_GITHUB__COM.
constexpr std::array<std::string_view, 10> kParts = {
    "INDEX_URL", "CERTIFICATE", "PRIVATE", "CREDENTIAL", "SECRET",
    "TOKEN",     "PASSWORD",    "PASSWD",  "APIKEY",     "__COM"};

}  // namespace

bool is_credential_name(std::string_view name) {
  std::string upper(name);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  const std::string_view text = upper;
  const auto any = [](const auto& list, auto matches) {
    return std::any_of(list.begin(), list.end(), matches);
  };
  return is_secret_variable(name) ||
         any(kPrefixes, [&](std::string_view part) { return text.starts_with(part); }) ||
         any(kSuffixes, [&](std::string_view part) { return text.ends_with(part); }) ||
         any(kWhole, [&](std::string_view whole) { return text == whole; }) ||
         any(kParts, [&](std::string_view part) { return text.find(part) != text.npos; });
}

bool is_credential_value(std::string_view value) { return !find_secret_shapes(value).empty(); }

}  // namespace hermetic::gate
