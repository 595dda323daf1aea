// Sockets that have a path: those of the view are reached, and all are told.
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/sandbox/sandbox.h"

namespace hermetic {
namespace {

class UnixSockets final : public EventSink {
 public:
  void on_event(const Event& event) override {
    if (event.kind != Event::Kind::Network || !event.endpoint || event.endpoint->family != "unix")
      return;
    text += fmt::format("{} {} {} {}, {}\n", event.act, event.subject, to_string(event.verdict),
                        event.rule, event.processes.size());
  }
  std::string text;
};

UniqueFd listener_at(const std::string& path) {
  UniqueFd server(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  if (::bind(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(server.get(), 8) != 0)
    server.reset();
  return server;
}

// "0| connect /w/outside.sock (its other end is outside the sandbox)".
std::string judged(const SpecBuilder& builder) {
  LinuxBackend backend = LinuxBackend::make().value();
  UnixSockets sockets;
  const Result<Finished> finished = execute(builder.build().value(), backend, captured(), sockets);
  if (!finished) return to_string(finished.error());
  const Outcome& outcome = finished->outcome;
  std::string text = outcome.success() ? "0" : outcome.standard_error.text;
  if (std::holds_alternative<EndedByViolation>(outcome.ending)) text = "ended";
  text += " " + outcome.standard_output.text;
  for (const Violation& violation : outcome.violations)
    text += fmt::format("| {} {}{}", violation.act, violation.subject,
                        violation.detail.find("python") == std::string::npos ? " by nobody" : "");
  return text;
}

SpecBuilder in_place(const TempDir& dir, const std::string& script) {
  return sandboxed({"python3", "-c",
                    "import os, socket\n"
                    "def connect(path):\n"
                    "    try: socket.socket(socket.AF_UNIX).connect(path); print('reached')\n"
                    "    except OSError as e: print(e.strerror)\n" +
                        script})
      .output(dir.path(), Publish::InPlace);
}

TEST(UnixSocket, ThatLeadsOutIsAViolation) {
  const TempDir dir;
  const UniqueFd outside = listener_at(dir / "outside.sock");
  ASSERT_TRUE(outside.is_open());
  std::filesystem::permissions(dir / "outside.sock", std::filesystem::perms(0777));
  const std::string path = dir / "outside.sock";
  const std::string reach = "connect('" + path + "')";
  EXPECT_EQ(judged(in_place(dir, reach)), "0 Permission denied\n| connect " + path);
  EXPECT_EQ(judged(in_place(dir, reach).on_violation(OnViolation::Kill)),
            "ended | connect " + path);
  EXPECT_EQ(judged(in_place(dir, reach).unix_socket(path)), "0 reached\n");
  // Nor does a network of any other kind let it through, but for the caller's own.
  EXPECT_EQ(
      judged(in_place(dir, reach).network(NetworkPolicy::allow_hosts({"example.org"}).value())),
      "0 Permission denied\n| connect " + path);
}

TEST(UnixSocket, ThatTheCommandServesOutsideIsAViolation) {
  const TempDir dir;
  const std::string path = dir / "own.sock";
  const std::string serve = "s = socket.socket(socket.AF_UNIX); s.bind('" + path +
                            "'); s.listen(); connect('" + path + "'); os.remove('" + path + "')";
  EXPECT_EQ(judged(in_place(dir, serve)), "0 reached\n| bind " + path);
  EXPECT_EQ(judged(in_place(dir, serve).unix_socket(path)), "0 reached\n");
}

// Its memory is closed to the supervisor of a plain user: what cannot be judged does not happen.
TEST(UnixSocket, IsNotReachedByAProgramThatCannotBeRead) {
  const TempDir dir;
  std::filesystem::create_directory(dir / "in");
  const UniqueFd outside = listener_at(dir / "in/outside.sock");
  ASSERT_TRUE(outside.is_open());
  std::filesystem::permissions(dir / "in/outside.sock", std::filesystem::perms(0777));
  std::filesystem::copy_file(misbehave("reach"), dir / "in/reach");
  std::filesystem::permissions(dir / "in/reach", std::filesystem::perms(0111));
  LinuxBackend backend = LinuxBackend::make().value();
  Silence silence;
  const Result<Finished> finished =
      execute(sandboxed({dir / "in/reach", "path", dir / "in/outside.sock"})
                  .input(dir / "in")
                  .build()
                  .value(),
              backend, captured(), silence);
  ASSERT_TRUE(finished) << to_string(finished.error());
  EXPECT_NE(finished->outcome.ending, Ending(Exited{0}));
  EXPECT_EQ(finished->outcome.violations.size(), 1U);
}

TEST(UnixSocket, IsToldWithWhetherTheViewHasIt) {
  const TempDir dir;
  std::filesystem::create_directory(dir / "seen");
  const UniqueFd seen = listener_at(dir / "seen/socket");
  const UniqueFd unseen = listener_at(dir / "unseen");
  ASSERT_TRUE(seen.is_open() && unseen.is_open());
  std::filesystem::permissions(dir / "seen/socket", std::filesystem::perms(0777));
  const std::string script =
      "import os, socket, sys\n"
      "def connect(path):\n"
      "    try: socket.socket(socket.AF_UNIX).connect(path); print('reached')\n"
      "    except OSError as e: print(e.strerror)\n"
      "connect(sys.argv[1]); connect(sys.argv[2])\n"
      "os.chdir('/tmp'); s = socket.socket(socket.AF_UNIX); s.bind('own'); s.listen(); "
      "connect('./own')\n"
      "connect('\\0abstract')\n"
      "d = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); d.bind('datagrams')\n"
      "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'x', '/tmp/datagrams')\n"
      "s = socket.socket(socket.AF_UNIX); s.bind('/dev/shm/own'); s.listen(); "
      "connect('/dev/shm/own')\n";
  const SpecBuilder builder =
      sandboxed({"python3", "-c", script, dir / "seen/socket", dir / "unseen"})
          .input(dir / "seen")
          .unix_socket(dir / "seen/socket");
  LinuxBackend backend = LinuxBackend::make().value();
  UnixSockets sockets;
  const Result<Finished> finished = execute(builder.build().value(), backend, captured(), sockets);
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->outcome.standard_output.text,
            "reached\nNo such file or directory\nreached\nConnection refused\nreached\n");
  EXPECT_TRUE(finished->outcome.violations.empty());
  EXPECT_EQ(sockets.text, "connect " + (dir / "seen/socket") + " allow unix_sockets, 1\nconnect " +
                              (dir / "unseen") +
                              " deny undeclared-hidden, 1\n"
                              "connect /tmp/own allow temp /tmp, 1\n"
                              "sendto /tmp/datagrams allow temp /tmp, 1\n"
                              "connect /dev/shm/own allow its own /dev/shm, 1\n");
}

}  // namespace
}  // namespace hermetic
