// What the guard's relay costs: bytes per second through it and past it, in turns.
//
//   guard_throughput [ROUNDS [MEBIBYTES]]
//
// "direct" is a client and a server in one network namespace. "relayed" is the same client in a
// sandbox and the same server outside. Everything is in namespaces of its own; nothing reaches the
// host's network.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "tests/unit/guard/network_namespaces.h"

namespace hermetic::guard::testing {
namespace {

constexpr const char* kServer = "192.0.2.10";
constexpr std::uint16_t kUpload = 7000;
constexpr std::uint16_t kDownload = 7001;
constexpr std::uint16_t kPingPong = 7002;
constexpr std::size_t kBlock = std::size_t{256} << 10U;
constexpr int kTurns = 2000;

UniqueFd listener(std::uint16_t port) {
  const SocketAddress form = socket_address(*parse_address(kServer), port);
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  CHECK(::bind(socket.get(), form.get(), form.size) == 0 && ::listen(socket.get(), 16) == 0);
  return socket;
}

bool send_whole(int fd, const char* data, std::size_t size) {
  for (std::size_t sent = 0; sent < size;) {
    const ssize_t count = ::send(fd, data + sent, size - sent, MSG_NOSIGNAL);
    if (count <= 0) return false;
    sent += static_cast<std::size_t>(count);
  }
  return true;
}

void send_much(int fd, std::size_t size) {
  const std::vector<char> block(kBlock, 'x');
  for (std::size_t sent = 0; sent < size; sent += kBlock)
    if (!send_whole(fd, block.data(), kBlock)) return;
}

std::size_t read_all(int fd) {
  std::vector<char> block(kBlock);
  std::size_t sum = 0;
  for (ssize_t count = 0; (count = ::recv(fd, block.data(), block.size(), 0)) > 0;)
    sum += static_cast<std::size_t>(count);
  return sum;
}

void answer(int fd, std::uint16_t port, std::size_t size) {
  char byte = 0;
  if (port == kUpload) {
    read_all(fd);
    send_whole(fd, "y", 1);
  } else if (port == kDownload) {
    if (::recv(fd, &byte, 1, 0) == 1) send_much(fd, size);
  } else {
    while (::recv(fd, &byte, 1, 0) == 1) send_whole(fd, &byte, 1);
  }
}

pid_t start_server(std::uint16_t port, std::size_t size) {
  const UniqueFd socket = listener(port);
  const pid_t process = ::fork();
  if (process != 0) return process;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (;;) {
    const UniqueFd client(::accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client.is_open()) answer(client.get(), port, size);
  }
}

// The seconds it took, as text: what a client in another process can say.
std::string measure(std::uint16_t port, std::size_t size) {
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const SocketAddress form = socket_address(*parse_address(kServer), port);
  if (::connect(fd.get(), form.get(), form.size) != 0) return "0";
  const auto begin = NetworkGuard::Clock::now();
  char byte = 0;
  if (port == kUpload) {
    send_much(fd.get(), size);
    ::shutdown(fd.get(), SHUT_WR);
    if (::recv(fd.get(), &byte, 1, 0) != 1) return "0";
  } else if (port == kDownload) {
    if (!send_whole(fd.get(), "y", 1) || read_all(fd.get()) != size) return "0";
  } else {
    for (int i = 0; i < kTurns; ++i)
      if (!send_whole(fd.get(), "y", 1) || ::recv(fd.get(), &byte, 1, 0) != 1) return "0";
  }
  return std::to_string(std::chrono::duration<double>(NetworkGuard::Clock::now() - begin).count());
}

// Seconds of CPU time that this process has used: the guard's, as long as nobody else does anything
// here.
double cpu_time() {
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

int run(int rounds, std::size_t size) {
  const std::string problem = enter_world();
  if (!problem.empty()) {
    fmt::print(stderr, "cannot measure: {}\n", problem);
    return 1;
  }
  std::vector<pid_t> servers;
  for (const std::uint16_t port : {kUpload, kDownload, kPingPong})
    servers.push_back(start_server(port, size));
  Sandbox sandbox = make_sandbox(8, 8);
  const auto descriptor = [](const char* path) {
    return UniqueFd(::open(path, O_RDONLY | O_CLOEXEC));
  };
  Sandbox world{.user = descriptor("/proc/self/ns/user"),
                .network = descriptor("/proc/self/ns/net"),
                .sockets = {}};
  Result<NetworkGuard> guard = NetworkGuard::make(
      {.policy = *NetworkPolicy::allow_hosts({"192.0.2.0/24"})}, std::move(sandbox.sockets));
  CHECK(guard.has_value());
  const std::map<std::uint16_t, const char*> names = {
      {kUpload, "upload"}, {kDownload, "download"}, {kPingPong, "round trips"}};
  for (const auto& [port, name] : names) {
    CHECK(guard->prepare(*parse_address(kServer), port, Protocol::Tcp).allowed);
    std::vector<double> direct;
    std::vector<double> relayed;
    std::vector<double> ratios;
    double used = 0;
    for (int i = 0; i < rounds; ++i) {
      const auto body = [port = port, size](Observer&) { return measure(port, size); };
      direct.push_back(std::atof(run_inside(*guard, world, body).c_str()));
      used -= cpu_time();
      relayed.push_back(std::atof(run_inside(*guard, sandbox, body).c_str()));
      used += cpu_time();
      ratios.push_back(direct.back() / relayed.back());
    }
    const double unit = port == kPingPong ? 1e-6 * kTurns : static_cast<double>(size) / 1e9;
    if (port == kPingPong)
      fmt::print("{}: direct {:.1f} us, relayed {:.1f} us, ratio {:.2f}\n", name,
                 median(direct) / unit, median(relayed) / unit, median(ratios));
    else
      fmt::print(
          "{}: direct {:.2f} GB/s, relayed {:.2f} GB/s, ratio {:.2f} (best {:.2f} / {:.2f}), "
          "{:.0f} ms of CPU per GB\n",
          name, unit / median(direct), unit / median(relayed), median(ratios),
          unit / *std::min_element(direct.begin(), direct.end()),
          unit / *std::min_element(relayed.begin(), relayed.end()), 1e3 * used / (rounds * unit));
  }
  for (const pid_t server : servers) {
    ::kill(server, SIGKILL);
    ::waitpid(server, nullptr, 0);
  }
  return 0;
}

}  // namespace
}  // namespace hermetic::guard::testing

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 9;
  const int mebibytes = count > 2 ? std::atoi(arguments[2]) : 1024;
  return hermetic::guard::testing::run(std::max(1, rounds),
                                       static_cast<std::size_t>(std::max(1, mebibytes)) << 20U);
}
