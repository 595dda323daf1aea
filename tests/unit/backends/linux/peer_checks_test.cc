#include "hermetic/backends/linux/peer_checks.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>

#include "hermetic/base/unique_fd.h"
#include "tests/unit/spec/temp_dir.h"

namespace hermetic::linux_backend {
namespace {

using Clock = PeerChecks::Clock;

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

class PeerCheck : public ::testing::Test {
 protected:
  PeerCheck()
      : path_(dir_ / "server.sock"),
        server_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)),
        client_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_un address = address_of(path_);
    EXPECT_EQ(::bind(server_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
    EXPECT_EQ(::listen(server_.get(), 8), 0);
  }
  void connect() {
    const sockaddr_un address = address_of(path_);
    EXPECT_EQ(::connect(client_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
              0);
  }
  // What is found out about a connection that is meant to lead to `path`.
  std::vector<Violation> found(const std::string& path, bool is_allowed, bool is_inside) {
    PeerChecks checks([&](pid_t process) {
      EXPECT_EQ(process, ::getpid());
      return is_inside;
    });
    checks.expect({.thread = ::gettid(),
                   .descriptor = client_.get(),
                   .path = path,
                   .is_allowed = is_allowed,
                   .who = "python3"},
                  processes_);
    EXPECT_TRUE(checks.due());
    return checks.look(Clock::time_point::max());
  }

  TempDir dir_;
  std::string path_;
  UniqueFd server_;
  UniqueFd client_;
  ProcessReader processes_{1};
};

TEST_F(PeerCheck, TellsOfAListenerOutside) {
  connect();
  const std::vector<Violation> violations = found("/tmp/own.sock", false, false);
  ASSERT_EQ(violations.size(), 1U);
  EXPECT_EQ(violations.front().act, "connect");
  EXPECT_EQ(violations.front().subject, path_);
  EXPECT_EQ(violations.front().detail, "python3");
  EXPECT_TRUE(found("/tmp/own.sock", false, true).empty());
}

TEST_F(PeerCheck, AnAllowedNameIsNoOther) {
  connect();
  EXPECT_TRUE(found(path_, true, false).empty());
  EXPECT_EQ(found("/run/other.sock", true, false).size(), 1U);
}

TEST_F(PeerCheck, WhatIsNotConnectedIsForgottenWhenTheCallIsOver) {
  EXPECT_TRUE(found(path_, false, false).empty());
}

TEST_F(PeerCheck, ManyAtOnceAreAViolation) {
  PeerChecks checks([](pid_t) { return true; });
  for (int i = 0; i < 300; ++i)
    checks.expect({.thread = ::gettid(), .descriptor = client_.get(), .path = path_}, processes_);
  EXPECT_EQ(checks.look(Clock::time_point::max()).size(), 44U);
}

}  // namespace
}  // namespace hermetic::linux_backend
