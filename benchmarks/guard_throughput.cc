// What the guard's relay costs: bytes per second through it and past it, in turns.
//
//   guard_throughput [ROUNDS [MEBIBYTES [CONGESTION]]]
//
// "direct" is a client and a server in one network namespace. "relayed" is the same client in a
// sandbox and the same server outside. Everything is in namespaces of its own; nothing reaches the
// host's network. CONGESTION is what direct connections and the server use instead of the host's
// congestion control: one that paces, such as bbr, is slower on loopback than one that does not.
//
// What others do meanwhile hits three processes harder than two. So a measurement during which they
// use more than an eighth of one processor is thrown away and made again, up to kMostAttempts
// times; the last line says how many were kept all the same.
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <numeric>
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
constexpr int kMostAttempts = 60;

std::string congestion_control;  // "": the host's

void set_congestion_control(int fd) {
  if (congestion_control.empty()) return;
  CHECK(::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion_control.data(),
                     static_cast<socklen_t>(congestion_control.size())) == 0);
}

UniqueFd listener(std::uint16_t port) {
  const SocketAddress form = socket_address(*parse_address(kServer), port);
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  set_congestion_control(socket.get());
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
std::string measure(std::uint16_t port, std::size_t size, bool is_direct) {
  const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (is_direct) set_congestion_control(fd.get());
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

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

// Seconds of CPU time that this process has used, which is the guard, or its children that are
// gone.
double cpu_time(__rusage_who whose) {
  rusage usage = {};
  ::getrusage(whose, &usage);
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double cpu_time_of(pid_t process) {
  clockid_t clock = 0;
  timespec time = {};
  if (::clock_getcpuclockid(process, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Of the whole machine.
double cpu_time_of_all() {
  std::ifstream file("/proc/stat");
  std::string word;
  file >> word;
  double ticks = 0;
  for (int field = 0; field < 8; ++field) {  // user nice system idle iowait irq softirq steal
    double value = 0;
    file >> value;
    if (field != 3 && field != 4) ticks += value;
  }
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

struct Measured {
  double took = 0;
  double used = 0;  // by the guard
  bool is_quiet = true;
};

template <typename Body>
Measured measure_quietly(const std::vector<pid_t>& servers, const Body& body) {
  const auto of_servers = [&servers] {
    return std::accumulate(servers.begin(), servers.end(), 0.0,
                           [](double sum, pid_t server) { return sum + cpu_time_of(server); });
  };
  Measured measured;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    const auto begin = NetworkGuard::Clock::now();
    const double guard = cpu_time(RUSAGE_SELF);
    const double others = cpu_time_of_all() - guard - cpu_time(RUSAGE_CHILDREN) - of_servers();
    measured.took = std::atof(body().c_str());
    measured.used = cpu_time(RUSAGE_SELF) - guard;
    const double others_now =
        cpu_time_of_all() - cpu_time(RUSAGE_SELF) - cpu_time(RUSAGE_CHILDREN) - of_servers();
    const std::chrono::duration<double> passed = NetworkGuard::Clock::now() - begin;
    measured.is_quiet = others_now - others < passed.count() / 8;
    if (measured.is_quiet) break;
    ::usleep(150'000);
  }
  return measured;
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
  int disturbed = 0;
  for (const auto& [port, name] : names) {
    CHECK(guard->prepare(*parse_address(kServer), port, Protocol::Tcp).allowed);
    std::vector<double> direct;
    std::vector<double> relayed;
    std::vector<double> ratios;
    double used = 0;
    for (int i = 0; i < rounds; ++i) {
      for (const bool is_direct : {true, false}) {
        const auto body = [port = port, size, is_direct](Observer&) {
          return measure(port, size, is_direct);
        };
        const Measured measured = measure_quietly(
            servers, [&] { return run_inside(*guard, is_direct ? world : sandbox, body); });
        (is_direct ? direct : relayed).push_back(measured.took);
        if (!is_direct) used += measured.used;
        if (!measured.is_quiet) ++disturbed;
      }
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
  fmt::print("{} of {} measurements disturbed by others\n", disturbed, 6 * rounds);
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
  if (count > 3) hermetic::guard::testing::congestion_control = arguments[3];
  return hermetic::guard::testing::run(std::max(1, rounds),
                                       static_cast<std::size_t>(std::max(1, mebibytes)) << 20U);
}
