// What a command reaches. Everything stays on this machine's loopback.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>

#include "tests/sandbox/world.h"

namespace hermetic {
namespace {

using Mode = NetworkPolicy::Mode;

// Sockets of the host that somebody inside could want to reach.
class Network : public ::testing::Test {
 protected:
  void SetUp() override {
    sockaddr_in loopback = {};
    loopback.sin_family = AF_INET;
    loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof loopback;
    auto* const address = reinterpret_cast<sockaddr*>(&loopback);
    tcp_ = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::bind(tcp_.get(), address, size), 0);
    ASSERT_EQ(::listen(tcp_.get(), 64), 0);
    ASSERT_EQ(::getsockname(tcp_.get(), address, &size), 0);
    port = {misbehave("reach"), "port", "127.0.0.1", std::to_string(ntohs(loopback.sin_port))};

    const std::string name = "hermetic-test-" + std::to_string(::getpid());
    abstract_ = listen_on(std::string(1, '\0') + name);
    abstract = {misbehave("reach"), "abstract", name};
    path_ = listen_on(dir.directory("in") + "/socket");
    path = {misbehave("reach"), "path", dir / "in/socket"};
  }

  static UniqueFd listen_on(const std::string& name) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(fd.get(), 64), 0);
    return fd;
  }

  static SpecBuilder with(Mode mode) { return sandboxed({}).network({.mode = mode}); }

  const TempDir dir;
  Words port;
  Words abstract;
  Words path;

 private:
  UniqueFd tcp_;
  UniqueFd abstract_;
  UniqueFd path_;
};

TEST_F(Network, NoneReachesNothing) {
  expect_denied(with(Mode::None), port, {ENETUNREACH}, Control::Succeeds);
  expect_denied(with(Mode::None), abstract, {ECONNREFUSED, EPERM}, Control::Succeeds);
  expect_denied(with(Mode::None), {misbehave("serve_itself")}, {ENETUNREACH, EADDRNOTAVAIL},
                Control::Succeeds);
  SpecBuilder interfaces = with(Mode::None);
  interfaces.command({"sh", "-c",
                      "cut -d: -f1 -s /proc/net/dev | tr -d ' '; cat /proc/net/route "
                      "/proc/net/ipv6_route | wc -l"});
  EXPECT_THAT(output_of(interfaces), ::testing::StartsWith("lo\n"));
}

TEST_F(Network, LoopbackReachesItselfAndNotTheHost) {
  expect_allowed(with(Mode::Loopback), {misbehave("serve_itself")});
  expect_denied(with(Mode::Loopback), port, {ECONNREFUSED}, Control::Succeeds);
  expect_denied(with(Mode::Loopback), abstract, {ECONNREFUSED, EPERM}, Control::Succeeds);
}

// An address beyond loopback is tried in a world of the test's own only: nothing leaves it even if
// the sandbox under test does not hold.
TEST(NetworkBeyond, IsUnreachableFromNoneAndLoopback) {
  SKIP_UNLESS_ANSWERED(ask_with_own_mounts([] { return std::string("yes"); }));
  EXPECT_EQ(in_world([]() -> std::string {
              const Words beyond = {misbehave("reach"), "port", "192.0.2.1", "80"};
              for (const Mode mode : {Mode::None, Mode::Loopback})
                expect_denied(sandboxed({}).network({.mode = mode}), beyond, {ENETUNREACH},
                              Control::Succeeds);
              // What fails in there is printed there, and known here by this.
              return ::testing::Test::HasFailure() ? "not as expected" : "unreachable";
            }),
            "unreachable");
}

TEST_F(Network, HostReachesTheHostAndIsNotHermetic) {
  expect_allowed(with(Mode::Host), port);
  SpecBuilder builder = with(Mode::Host);
  builder.command({"true"});
  const Result<Finished> finished = try_run(builder);
  ASSERT_TRUE(finished);
  EXPECT_FALSE(finished->hermetic());
}

TEST_F(Network, TwoRunsDoNotReachEachOther) {
  LinuxBackend backend = LinuxBackend::make().value();
  Audience events;
  SpecBuilder server = with(Mode::Loopback);
  server.command(
      {"python3", "-c",
       "import "
       "socket,time\ns=socket.create_server(('127.0.0.1',47123))\nu=socket.socket(socket.AF_UNIX)\n"
       "u.bind('\\0hermetic-server')\nu.listen()\nprint('up',flush=True)\ntime.sleep(1000)"});
  const Plan plan = make_plan(server.build().value(), backend.probe()).value();
  const auto started = backend.start(plan, captured(), events);
  ASSERT_TRUE(started);
  ::usleep(500'000);
  expect_denied(with(Mode::Loopback), {misbehave("reach"), "port", "127.0.0.1", "47123"},
                {ECONNREFUSED}, Control::None);
  expect_denied(with(Mode::Loopback), {misbehave("reach"), "abstract", "hermetic-server"},
                {ECONNREFUSED, EPERM}, Control::None);
  (*started)->kill();
  (void)(*started)->wait();
}

TEST_F(Network, ASocketThatIsNotDeclaredIsNotThere) {
  expect_denied(with(Mode::None), path, {ENOENT}, Control::Succeeds);
}

// A declared tree can hold a service of the host: read only mounts do not keep anyone from talking
// to it. SECURITY.md says what does.
TEST_F(Network, ASocketInAnInputIsAServiceThatIsReachedByNameOnly) {
  SpecBuilder builder = with(Mode::None);
  builder.input(dir / "in").command(path);
  expect_denied(builder, path, {EACCES}, Control::Succeeds);
  builder.unix_socket(path.back());
  const Outcome outcome = run(builder);
  EXPECT_EQ(outcome.ending, Ending(Exited{0})) << outcome.standard_output.text;
}

}  // namespace
}  // namespace hermetic
