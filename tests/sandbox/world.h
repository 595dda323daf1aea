// A world for tests of allowed hosts: a network namespace that the test makes. Its loopback has the
// addresses, its servers are the test's own.
#pragma once

#include <linux/capability.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <thread>

#include "tests/sandbox/sandbox.h"
#include "tests/unit/spec/must_work.h"

namespace hermetic {

// Servers of the world: web pages on 80, an echo on 7 for TCP and UDP. They end with it.
inline constexpr const char* kServers = R"(
import http.server, os, socket, socketserver, threading
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b'page for ' + self.headers['Host'].encode())
    def log_message(self, *words): pass
class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while data := self.request.recv(65536): self.request.sendall(data)
class EchoDatagram(socketserver.BaseRequestHandler):
    def handle(self): self.request[1].sendto(self.request[0], self.client_address)
class Web6(http.server.ThreadingHTTPServer): address_family = socket.AF_INET6
class Quick(socketserver.ThreadingTCPServer): daemon_threads = allow_reuse_address = True
for server in (http.server.ThreadingHTTPServer(('', 80), Page), Web6(('2001:db8::80', 80), Page), Quick(('', 7), Echo),
               socketserver.UDPServer(('192.0.2.80', 7), EchoDatagram)):
    threading.Thread(target=server.serve_forever).start()
print('up', flush=True)
)";

inline bool raise_loopback() {
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request = {};
  request.ifr_name[0] = 'l';
  request.ifr_name[1] = 'o';
  request.ifr_flags = IFF_UP;
  return ::ioctl(socket.get(), SIOCSIFFLAGS, &request) == 0;
}

// What is executed may set up the network and serve on any port, whoever we are outside.
inline bool pass_capabilities_on() {
  __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, 2> sets = {};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return false;
  for (__user_cap_data_struct& set : sets) set.inheritable = set.permitted;
  if (::syscall(SYS_capset, &header, sets.data()) != 0) return false;
  for (const int capability : {CAP_NET_ADMIN, CAP_NET_BIND_SERVICE})
    if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0) != 0) return false;
  return true;
}

// The text of `ask`, in a world of its own.
inline std::string in_world(const std::function<std::string()>& ask) {
  const TempDir dir;
  const std::string hosts = dir.file("hosts",
                                     "192.0.2.80 web.example.org\n192.0.2.81 www.sub.example.org\n"
                                     "2001:db8::80 six.example.org both.example.org\n"
                                     "192.0.2.80 both.example.org\n192.0.2.82 other.example.org\n"
                                     "10.0.0.1 inside.example.org\n"
                                     "169.254.169.254 meta.example.org\n"
                                     "169.254.1.1 near.example.org\n");
  const std::string none = dir.file("resolv.conf", "nameserver 192.0.2.53\n");
  const Answer answer = ask_with_own_mounts([&]() -> std::string {
    if (::unshare(CLONE_NEWNET) != 0 || !raise_loopback()) return "no network of its own";
    if (!pass_capabilities_on()) return "no capabilities to pass on";
    if (std::system("ip address add 192.0.2.0/24 dev lo && ip address add 10.0.0.1/32 dev lo && "
                    "ip address add 169.254.169.254/32 dev lo && "
                    "ip address add 169.254.1.1/32 dev lo && "
                    "ip -6 address add 2001:db8::80/128 dev lo nodad") != 0)
      return "no addresses";
    for (const auto& [ours, theirs] : {std::pair(hosts, "/etc/hosts"), {none, "/etc/resolv.conf"}})
      if (::mount(ours.c_str(), theirs, nullptr, MS_BIND, nullptr) != 0) return "no host files";
    std::array<int, 2> ends = {-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return "no pipe";
    const pid_t servers = ::fork();
    if (servers == 0) {
      (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test may end by an exception
      ::dup2(ends[1], 1);
      ::execlp("/usr/bin/python3", "python3", "-c", kServers, nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    char up = 0;
    const bool works = ::read(ends[0], &up, 1) == 1;
    (void)::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    std::string text = works ? ask() : "no servers";
    ::kill(servers, SIGKILL);
    ::waitpid(servers, nullptr, 0);
    return text;
  });
  return answer.text;
}

}  // namespace hermetic
