#include "hermetic/record/secret_names.h"

#include <gtest/gtest.h>

namespace hermetic {
namespace {

TEST(SecretNames, AreKnownByTheirWords) {
  for (const char* name : {"TOKEN",
                           "GITHUB_TOKEN",
                           "github-token",
                           "githubToken",
                           "TOKEN2",
                           "MY_SECRET_VALUE",
                           "AWS_SECRET_ACCESS_KEY",
                           "PGPASSWORD",
                           "MYSQL_PWD",
                           "DB_PASS",
                           "SSHPASS",
                           "API_KEY",
                           "apiKey",
                           "APIKEY",
                           "KEY",
                           "NPM_AUTH",
                           "GOOGLE_CREDENTIAL",
                           "HTTP_COOKIE",
                           "PRIVATE_KEY",
                           "SESSION",
                           "SESSION_ID",
                           "KEYS",
                           "PASSPHRASE",
                           "VAULT_TOKEN",
                           "npm_config__auth"})
    EXPECT_TRUE(is_secret_variable(name)) << name;
}

TEST(SecretNames, AreNotSeenInOtherWords) {
  for (const char* name : {"",
                           "_",
                           "PATH",
                           "HOME",
                           "KEYBOARD",
                           "AUTHOR",
                           "GIT_AUTHOR_NAME",
                           "MONKEY",
                           "PWD",
                           "OLDPWD",
                           "XDG_SESSION_TYPE",
                           "XDG_SESSION_CLASS",
                           "DESKTOP_SESSION",
                           "DBUS_SESSION_BUS_ADDRESS",
                           "SESSION_MANAGER",
                           "SSH_AUTH_SOCK",
                           "TOKEN_FILE",
                           "KEY_PATH",
                           "AUTH_TYPE",
                           "PUBLIC_KEY",
                           "XAUTHORITY",
                           "COMPASS",
                           "TOKENIZER",
                           "SECRETARY",
                           "LESSKEY",
                           "KEYMAP",
                           "NO_PASSWORD"})
    EXPECT_FALSE(is_secret_variable(name)) << name;
}

TEST(SecretNames, OfOptionsNeedMoreThanAVagueWord) {
  for (const char* name : {"--token", "--api-key", "db_pass", "--private-key", "access_token",
                           "--cookie", "--auth-token", "password"})
    EXPECT_TRUE(is_secret_option(name)) << name;
  for (const char* name : {"--key", "--auth", "--session", "--max-tokens", "--keyring",
                           "--password-stdin", "--no-password", "--token-file", "--author"})
    EXPECT_FALSE(is_secret_option(name)) << name;
}

TEST(SecretNames, OfHeadersNeedMoreThanAWordOfProse) {
  for (const char* name : {"X-Api-Key", "PRIVATE-TOKEN", "Cookie", "Set-Cookie", "password"})
    EXPECT_TRUE(is_secret_header(name)) << name;
  for (const char* name : {"token", "key", "auth", "session", "Content-Type", "X-Author"})
    EXPECT_FALSE(is_secret_header(name)) << name;
}

}  // namespace
}  // namespace hermetic
