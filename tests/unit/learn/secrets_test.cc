#include "hermetic/learn/secrets.h"

#include <gtest/gtest.h>

namespace hermetic {
namespace {

TEST(Secrets, AreKnownByName) {
  for (const char* path :
       {"/home/u/.ssh", "/home/u/.ssh/known_hosts", "/root/.aws/config", "/p/.env", "/p/.env.local",
        "/p/server.key", "/p/tls/private.pem", "/home/u/.netrc", "/home/u/.config/gh/hosts.yml",
        "/etc/shadow", "/etc/ssl/private/x", "/p/id_ed25519", "/home/u/.kube/config"})
    EXPECT_TRUE(is_secret_path(path)) << path;
  for (const char* path :
       {"/p/.env.example", "/p/environment", "/p/ca-cert.pem", "/etc/ssl/certs/any.pem",
        "/p/id_rsa.pub", "/p/keyboard.c", "/usr/share/gh/x", "/etc/passwd", "/"})
    EXPECT_FALSE(is_secret_path(path)) << path;
}

TEST(Secrets, OfToolchainsAreFewer) {
  EXPECT_FALSE(is_secret_in_toolchain("/opt/python/lib/test/key.pem"));
  EXPECT_TRUE(is_secret_in_toolchain("/opt/tool/.npmrc"));
}

}  // namespace
}  // namespace hermetic
