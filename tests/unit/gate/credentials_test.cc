#include "hermetic/gate/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string_view>

#include "hermetic/gate/step_spec.h"

namespace hermetic::gate {
namespace {

// Clouds, CI systems, registries, databases, vaults, brokers, services, and what leads to any.
constexpr auto kCredentials = std::to_array<std::string_view>(
    {// those that lists of names and patterns usually miss
     "AWS_PROFILE", "CLOUDSDK_CONFIG", "AZURE_CLIENT_CERTIFICATE_PATH",
     "AZURE_STORAGE_CONNECTION_STRING", "IDENTITY_HEADER", "GITHUB_PAT", "ACTIONS_RESULTS_URL",
     "ACTIONS_CACHE_URL", "TWINE_USERNAME", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL",
     "BUNDLE_GITHUB__COM", "GOPRIVATE_NETRC", "NETRC", "DOCKER_CONFIG", "DATABASE_URL",
     "PGPASSFILE", "MYSQL_PWD", "REDIS_URL", "MONGODB_URI", "AMQP_URL", "GPG_PASSPHRASE",
     "GNUPGHOME", "VAULT_ADDR", "KUBECONFIG", "SLACK_WEBHOOK_URL", "SENTRY_DSN", "HTTP_PROXY",
     "HTTPS_PROXY", "http_proxy", "GIT_ASKPASS", "SSH_ASKPASS", "SUDO_ASKPASS",
     "GIT_CONFIG_VALUE_0", "DBUS_SESSION_BUS_ADDRESS", "SIGNING_CERT", "PASSPHRASE",
     // clouds
     "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
     "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE",
     "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_ROLE_ARN",
     "AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_TENANT_ID", "AZURE_CREDENTIALS",
     "ARM_CLIENT_SECRET", "ARM_ACCESS_KEY", "IDENTITY_ENDPOINT", "MSI_SECRET",
     "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CREDENTIALS", "GCP_SA_KEY", "GCLOUD_SERVICE_KEY",
     "DIGITALOCEAN_ACCESS_TOKEN", "LINODE_TOKEN", "HCLOUD_TOKEN", "HEROKU_API_KEY",
     "CLOUDFLARE_API_TOKEN", "FASTLY_API_KEY", "ALICLOUD_SECRET_KEY", "OCI_CLI_KEY_FILE",
     // CI systems and forges
     "GITHUB_TOKEN", "GH_TOKEN", "GH_ENTERPRISE_TOKEN", "ACTIONS_RUNTIME_TOKEN",
     "ACTIONS_ID_TOKEN_REQUEST_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_URL", "GITLAB_TOKEN",
     "CI_JOB_TOKEN", "CI_JOB_JWT", "CI_REGISTRY_PASSWORD", "CI_DEPLOY_PASSWORD",
     "CI_REPOSITORY_URL", "BITBUCKET_APP_PASSWORD", "CIRCLE_TOKEN", "BUILDKITE_AGENT_ACCESS_TOKEN",
     "TRAVIS_TOKEN", "JENKINS_API_TOKEN", "SYSTEM_ACCESSTOKEN", "CODECOV_TOKEN", "SONAR_TOKEN",
     // registries
     "NPM_TOKEN", "NODE_AUTH_TOKEN", "NPM_CONFIG__AUTH", "YARN_NPM_AUTH_TOKEN",
     "CARGO_REGISTRY_TOKEN", "TWINE_PASSWORD", "PYPI_TOKEN", "POETRY_PYPI_TOKEN_PYPI",
     "UV_PUBLISH_TOKEN", "UV_EXTRA_INDEX_URL", "GEM_HOST_API_KEY", "RUBYGEMS_API_KEY",
     "NUGET_API_KEY", "MAVEN_PASSWORD", "ARTIFACTORY_API_KEY", "ARTIFACTORY_PASSWORD",
     "DOCKER_PASSWORD", "DOCKER_AUTH_CONFIG", "DOCKER_HOST", "REGISTRY_AUTH_FILE",
     "HELM_REGISTRY_CONFIG", "HOMEBREW_GITHUB_API_TOKEN", "HF_TOKEN", "COMPOSER_AUTH",
     // databases and brokers
     "PGPASSWORD", "POSTGRES_PASSWORD", "MYSQL_PASSWORD", "MYSQL_ROOT_PASSWORD", "REDIS_PASSWORD",
     "MONGO_URL", "RABBITMQ_URL", "KAFKA_SASL_PASSWORD", "SNOWFLAKE_PASSWORD", "DB_PASSWORD",
     "ELASTIC_PASSWORD", "CONNECTION_STRING",
     // vaults, keys and agents
     "VAULT_TOKEN", "CONSUL_HTTP_TOKEN", "NOMAD_TOKEN", "TF_VAR_password", "TF_TOKEN_app_example",
     "PULUMI_ACCESS_TOKEN", "SOPS_AGE_KEY", "SOPS_AGE_KEY_FILE", "COSIGN_PASSWORD",
     "COSIGN_PRIVATE_KEY", "SIGNING_KEY", "GPG_PRIVATE_KEY", "GPG_AGENT_INFO", "SSH_AUTH_SOCK",
     "SSH_PRIVATE_KEY", "OP_SERVICE_ACCOUNT_TOKEN", "BW_SESSION", "KRB5CCNAME", "ALL_PROXY",
     "https_proxy", "ANSIBLE_VAULT_PASSWORD_FILE",
     // services
     "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "STRIPE_SECRET_KEY", "TWILIO_AUTH_TOKEN",
     "SENDGRID_API_KEY", "SLACK_BOT_TOKEN", "DISCORD_WEBHOOK_URL", "DATADOG_API_KEY", "DD_API_KEY",
     "NEW_RELIC_LICENSE_KEY", "SENTRY_AUTH_TOKEN", "JWT_SECRET", "SECRET_KEY_BASE",
     "DJANGO_SECRET_KEY", "SMTP_PASSWORD", "ACCESS_TOKEN", "CLIENT_SECRET", "API_TOKEN"});

constexpr auto kBenign = std::to_array<std::string_view>({"PATH",
                                                          "LANG",
                                                          "LC_ALL",
                                                          "TZ",
                                                          "TERM",
                                                          "CI",
                                                          "CC",
                                                          "CXX",
                                                          "CFLAGS",
                                                          "LDFLAGS",
                                                          "JAVA_HOME",
                                                          "GOPATH",
                                                          "GOFLAGS",
                                                          "NODE_ENV",
                                                          "PYTHONPATH",
                                                          "PYTHONHASHSEED",
                                                          "MAKEFLAGS",
                                                          "EDITOR",
                                                          "PAGER",
                                                          "COLUMNS",
                                                          "DEBIAN_FRONTEND",
                                                          "RUSTFLAGS",
                                                          "CARGO_HOME",
                                                          "VIRTUAL_ENV",
                                                          "SOURCE_DATE_EPOCH",
                                                          "GITHUB_SHA",
                                                          "GITHUB_REF",
                                                          "CI_COMMIT_SHA",
                                                          "MONKEY",
                                                          "KEYBOARD",
                                                          "AUTHOR",
                                                          "COMPASS"});

TEST(Credentials, AreManyAndDistinct) {
  EXPECT_GE(kCredentials.size(), 124U);
  EXPECT_EQ(std::set(kCredentials.begin(), kCredentials.end()).size(), kCredentials.size());
}

TEST(Credentials, AreKnownByName) {
  for (const std::string_view name : kCredentials) EXPECT_TRUE(is_credential_name(name)) << name;
}

TEST(Credentials, WhatIsNoneStays) {
  for (const std::string_view name : kBenign) EXPECT_FALSE(is_credential_name(name)) << name;
}

TEST(Credentials, SanitizingStripsThemAllAndNothingElse) {
  std::map<std::string, std::string> caller;
  for (const std::string_view name : kCredentials) caller[std::string(name)] = "x";
  for (const std::string_view name : kBenign) caller[std::string(name)] = "x";
  Step step;
  step.environment.mode = EnvironmentPolicy::Mode::Sanitize;
  const StepEnvironment environment = environment_of(step, caller);
  for (const std::string_view name : kCredentials)
    EXPECT_FALSE(environment.variables.contains(std::string(name))) << name;
  for (const std::string_view name : kBenign)
    EXPECT_TRUE(environment.variables.contains(std::string(name))) << name;
  EXPECT_EQ(environment.stripped.size(), kCredentials.size());
}

TEST(Credentials, ByDefaultOnlyTheBaseIsPassedAndWhatIsNamed) {
  Step step;
  step.environment.pass = {"GITHUB_TOKEN", "OTHER"};
  step.environment.deny = {"OTHER"};
  step.variables = {{"OWN", "1"}};
  const StepEnvironment environment =
      environment_of(step, {{"PATH", "/bin"}, {"CC", "cc"}, {"GITHUB_TOKEN", "t"}, {"OTHER", "o"}});
  EXPECT_EQ(environment.variables, (std::map<std::string, std::string>{
                                       {"GITHUB_TOKEN", "t"}, {"OWN", "1"}, {"PATH", "/bin"}}));
  EXPECT_THAT(environment.stripped, testing::ElementsAre("CC", "OTHER"));
}

TEST(Credentials, AreKnownByValueUnderAnyName) {
  for (const std::string_view value :
       {"https://user:hunter2hunter2@example.org/", "-----BEGIN RSA PRIVATE KEY-----\nabc",
        "postgres://u:hunter2hunter2@h/db"})
    EXPECT_TRUE(is_credential_value(value)) << value;
  for (const std::string_view value : {"", "yes", "/usr/bin:/bin", "https://example.org/", "-O2"})
    EXPECT_FALSE(is_credential_value(value)) << value;
}

}  // namespace
}  // namespace hermetic::gate
