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
      sandboxed({"python3", "-c", script, dir / "seen/socket", dir / "unseen"}).input(dir / "seen");
  LinuxBackend backend = LinuxBackend::make().value();
  UnixSockets sockets;
  const Result<Finished> finished = execute(builder.build().value(), backend, captured(), sockets);
  ASSERT_TRUE(finished);
  EXPECT_EQ(finished->outcome.standard_output.text,
            "reached\nNo such file or directory\nreached\nConnection refused\nreached\n");
  EXPECT_TRUE(finished->outcome.violations.empty());
  EXPECT_EQ(sockets.text, "connect " + (dir / "seen/socket") + " allow input " + (dir / "seen") +
                              ", 1\nconnect " + (dir / "unseen") +
                              " deny undeclared-hidden, 1\n"
                              "connect /tmp/own allow temp /tmp, 1\n"
                              "sendto /tmp/datagrams allow temp /tmp, 1\n"
                              "connect /dev/shm/own allow its own /dev/shm, 1\n");
}

}  // namespace
}  // namespace hermetic
