#include "hermetic/gate/exception_text.h"

#include <gtest/gtest.h>

namespace hermetic::gate {
namespace {

std::string for_socket(int version, const std::string& path) {
  Policy policy;
  policy.version = version;
  return exception_for(policy, {.act = "connect", .subject = path, .unix_socket = true});
}

TEST(ExceptionText, NamesAUnixSocketByItsPath) {
  EXPECT_EQ(for_socket(1, "/w/run.sock"), "allow: {unix_sockets: [\"/w/run.sock\"]}");
  EXPECT_EQ(for_socket(2, "/w/run.sock"),
            "allow: {exceptions: [{unix_socket: \"/w/run.sock\", owner: TODO, reason: TODO, "
            "expires: TODO}]}");
}

TEST(ExceptionText, IsEmptyForWhatNoExceptionCanName) {
  EXPECT_EQ(for_socket(2, "@abstract"), "");
  EXPECT_EQ(for_socket(2, "/w/\"quoted\""), "");
  EXPECT_EQ(for_socket(2, "/w/line\nbreak"), "");
}

}  // namespace
}  // namespace hermetic::gate
