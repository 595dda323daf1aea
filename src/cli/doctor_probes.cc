#include "cli/doctor_probes.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <vector>

#include "hermetic/base/path.h"
#include "hermetic/base/unique_fd.h"

namespace hermetic::cli {
namespace {

constexpr int kLeakedDescriptor = 40;

// One act: 0 or more if it succeeded, -1 with errno if it was refused.
struct Act {
  std::string_view clause;
  std::string_view name;
  long result;
  int error;
};

class Probes {
 public:
  explicit Probes(std::string directory) : directory_(std::move(directory)) {}

  std::string run(std::string_view what) {
    if (what == "usual") try_usual();
    if (what == "outputs-write-only") try_strict_outputs();
    if (what == "layers-unchanged") try_layers();
    if (what == "loopback-only" || what == "allowed-hosts-only") try_loopback(what);
    if (what == "own-uptime") try_uptime();
    if (what == "max-children") try_children();
    if (what == "no-fork") refused(what, {act("fork", fork_and_end())});
    if (what == "no-exec") try_programs();
    if (what == "wait") wait();
    if (what == "take-memory") take_memory();
    if (what == "compute") compute();
    if (what == "talk") talk();
    if (what == "start-processes") start_processes();
    if (what == "open-files-limit") try_open_files();
    if (what == "file-size-limit") try_file_size();
    if (what == "cpu-count") try_cpus();
    return text_;
  }

 private:
  // Several acts may speak for one clause: it holds if all of them are refused.
  void refused(std::string_view clause, std::initializer_list<Act> acts) {
    bool held = true;
    std::string detail;
    for (const Act& act : acts) {
      held = held && act.result < 0;
      detail += fmt::format("{}{}: {}", detail.empty() ? "" : ", ", act.name,
                            act.result < 0 ? ::strerrorname_np(act.error) : "succeeded");
    }
    say(clause, held, detail);
  }
  void say(std::string_view clause, bool held, std::string_view detail) {
    text_ += fmt::format("{}\t{}\t{}\n", clause, held ? "held" : "broken", detail);
  }
  static Act act(std::string_view name, long result) { return {"", name, result, errno}; }

  [[nodiscard]] std::string in(std::string_view name) const {
    return directory_ + "/" + std::string(name);
  }

  // A directory that most hosts have and that does not lead to this program, wherever it lies: what
  // leads to it is there.
  [[nodiscard]] static const char* undeclared_directory() {
    std::array<char, PATH_MAX + 1> program = {};
    if (::readlink("/proc/self/exe", program.data(), PATH_MAX) < 0) return "/root";
    for (const char* path : {"/root", "/home"})
      if (!is_within(program.data(), path)) return path;
    return "/boot";
  }

  void try_files() {
    const std::string input = in("input");
    refused("inputs-read-only", {act("write", ::open(input.c_str(), O_WRONLY | O_CLOEXEC)),
                                 act("unlink", ::unlink(input.c_str())),
                                 act("remount", ::mount(nullptr, directory_.c_str(), nullptr,
                                                        MS_BIND | MS_REMOUNT, nullptr)),
                                 act("unmount", ::umount2(directory_.c_str(), MNT_DETACH))});
    const char* const undeclared = undeclared_directory();
    refused("undeclared-hidden",
            {act(undeclared, ::open(undeclared, O_PATH | O_CLOEXEC)),
             act("/etc/shadow", ::access("/etc/shadow", F_OK)),
             act("exception", ::open(in("hidden").c_str(), O_RDONLY | O_CLOEXEC))});
    const std::string output = in("out/x");
    refused("outputs-private",
            {act("link across mounts", ::link(input.c_str(), output.c_str())),
             act("rename across mounts", ::rename(input.c_str(), output.c_str())),
             act("old content", ::access(in("out/old").c_str(), F_OK))});
    // Landlock says EACCES, before anybody asks for the capability: that would be EPERM. Not the
    // character device 0:0, which some kernels do not take for one and let everybody make.
    const Act device = act("device in /dev/shm", ::mknod("/dev/shm/x", S_IFBLK | 0600, 0));
    say("second-line", device.result < 0 && device.error == EACCES,
        fmt::format("{}: {}", device.name,
                    device.result < 0 ? ::strerrorname_np(device.error) : "succeeded"));
  }

  void try_kernel() {
    refused("system-calls-filtered",
            {act("keyctl", ::syscall(SYS_keyctl, 0, 0)), act("bpf", ::syscall(SYS_bpf, 0, 0, 0)),
             act("io_uring", ::syscall(SYS_io_uring_setup, 0, 0)),
             act("clone3", ::syscall(SYS_clone3, 0, 0))});
    refused("no-nested-namespaces", {act("unshare", ::unshare(CLONE_NEWUSER))});
    const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(9);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    refused("no-network",
            {act("connect", ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                                      sizeof address)),
             act("vsock", ::socket(AF_VSOCK, SOCK_STREAM, 0)),
             act("packet", ::socket(AF_PACKET, SOCK_RAW, 0))});
    const std::string status = read_file("/proc/self/status");
    const bool none = status.find("CapEff:\t0000000000000000") != std::string::npos &&
                      status.find("CapPrm:\t0000000000000000") != std::string::npos &&
                      status.find("NoNewPrivs:\t1") != std::string::npos;
    say("no-new-privileges", none, "capabilities empty, no_new_privs set");
  }

  void try_surroundings() {
    refused("no-inherited-descriptors",
            {act("descriptor 40", ::fcntl(kLeakedDescriptor, F_GETFD))});
    say("own-session", ::getsid(0) == ::getpid(), "leads its own session");
    say("own-process-tree", processes() <= 3 && ::getpid() == 2,
        fmt::format("{} processes, own pid {}", processes(), ::getpid()));
    std::array<char, 128> name = {};
    ::gethostname(name.data(), name.size() - 1);
    say("fixed-hostname", std::string_view(name.data()) == "hermetic", name.data());
    say("fixed-identity", ::getuid() == 1000 && ::getgid() == 1000,
        fmt::format("uid {}, gid {}", ::getuid(), ::getgid()));
    int variables = 0;
    for (char** entry = environ; *entry != nullptr; ++entry) ++variables;
    say("exact-environment", variables == 5, fmt::format("{} variables", variables));
    const std::string segments = read_file("/proc/sysvipc/shm");
    say("own-ipc", segments.find('\n') == segments.size() - 1 || segments.empty(),
        "no shared memory of others");
  }

  void try_usual() {
    try_files();
    try_kernel();
    try_surroundings();
  }

  void try_strict_outputs() {
    const std::string output = in("out/x");
    const UniqueFd written(::open(output.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    const Act read = act("read back", ::open(output.c_str(), O_RDONLY | O_CLOEXEC));
    if (written.is_open())
      refused("outputs-write-only", {read});
    else
      say("outputs-write-only", false, "cannot even be written");
  }

  // Our own loopback answers, and no other way leads out.
  void try_loopback(std::string_view clause) {
    const UniqueFd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const name = reinterpret_cast<sockaddr*>(&address);
    socklen_t size = sizeof address;
    const bool reached = ::bind(server.get(), name, size) == 0 && ::listen(server.get(), 1) == 0 &&
                         ::getsockname(server.get(), name, &size) == 0 &&
                         ::connect(client.get(), name, size) == 0;
    const std::string devices = read_file("/proc/net/dev");  // two lines of headings
    const auto lines = std::count(devices.begin(), devices.end(), '\n');
    const bool alone = lines == 3 && devices.find("lo:") != std::string::npos;
    say(clause, reached && alone,
        fmt::format("loopback {}, {} network devices", reached ? "answers" : "does not answer",
                    lines - 2));
  }

  void try_layers() {
    const bool removed = ::unlink(in("input").c_str()) == 0;
    const UniqueFd made(::open(in("new").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    say("layers-unchanged", removed && made.is_open(),
        removed && made.is_open() ? "a file removed, another one made inside"
                                  : "what it starts as cannot be changed inside");
  }

  void try_uptime() {
    timespec now = {};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    const std::string host = read_file(in("input").c_str());
    say("own-uptime", now.tv_sec < std::strtol(host.c_str(), nullptr, 10),
        fmt::format("up for {} s, the host for {} s", now.tv_sec, host));
  }

  static pid_t fork_and_end() {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    return child;
  }

  // None is waited for: all of them count.
  void try_children() {
    constexpr int kTries = 16;
    int children = 0;
    while (children < kTries && fork_and_end() > 0) ++children;
    say("max-children", children <= 2, fmt::format("{} of 2 allowed", children));
  }

  void try_programs() {
    std::array<char*, 1> nothing = {nullptr};
    refused("no-exec", {act("execve", ::execve("/proc/self/exe", nothing.data(), nothing.data())),
                        act("a shell", ::execve("/bin/sh", nothing.data(), nothing.data()))});
  }

  // More than any of the trials allows; a little at a time, so that no machine is hurt.
  static void take_memory() {
    constexpr std::size_t kBlock = std::size_t{1} << 20U;
    std::vector<std::unique_ptr<std::array<volatile char, kBlock>>> blocks;
    for (int i = 0; i < 128; ++i) {
      blocks.push_back(std::make_unique<std::array<volatile char, kBlock>>());
      for (std::size_t byte = 0; byte < kBlock; byte += 4096) (*blocks.back())[byte] = 1;
    }
  }

  // To itself, until it is ended.
  static void talk() {
    sockaddr_in place = {};
    place.sin_family = AF_INET;
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* const address = reinterpret_cast<sockaddr*>(&place);
    socklen_t size = sizeof place;
    const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (::bind(socket.get(), address, size) != 0) return;
    if (::getsockname(socket.get(), address, &size) != 0) return;
    const std::array<char, 1000> text = {};
    for (int i = 0; i < 2000; ++i) {
      (void)::sendto(socket.get(), text.data(), text.size(), MSG_DONTWAIT, address, size);
      ::usleep(1000);
    }
  }

  static void compute() {
    timespec used = {};
    while (used.tv_sec < 2) ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  }

  // None is waited for: all of them count. The monitor needs a moment to see it.
  static void start_processes() {
    for (int i = 0; i < 16; ++i) (void)fork_and_end();
    ::usleep(500'000);
  }

  void try_open_files() {
    std::vector<UniqueFd> files;
    do {
      files.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    } while (files.back().is_open() && files.size() < 64);
    const std::size_t opened = files.size();
    files.clear();  // whoever writes the answer may need one
    say("open-files-limit", opened < 64, fmt::format("{} of 16 opened", opened + 2));
  }

  void try_file_size() {
    ::signal(SIGXFSZ, SIG_IGN);
    const UniqueFd file(::open("/dev/shm/size", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    refused("file-size-limit", {act("growing a file", ::ftruncate(file.get(), 1 << 20))});
  }

  void try_cpus() {
    cpu_set_t all;
    CPU_ZERO(&all);
    for (std::size_t i = 0; i < 64; ++i) CPU_SET(i, &all);
    refused("cpu-count", {act("choosing others", ::sched_setaffinity(0, sizeof all, &all))});
  }

  static void wait() {
    if (::write(STDOUT_FILENO, "x", 1) != 1) return;
    for (;;) ::pause();
  }

  static std::string read_file(const char* path) {
    const UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC));
    std::string text(16384, '\0');
    const ssize_t size = file.is_open() ? ::read(file.get(), text.data(), text.size()) : 0;
    text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return text;
  }

  static int processes() {
    DIR* directory = ::opendir("/proc");
    if (directory == nullptr) return 0;
    int count = 0;
    while (const dirent* entry = ::readdir(directory))
      count += entry->d_name[0] >= '0' && entry->d_name[0] <= '9' ? 1 : 0;
    ::closedir(directory);
    return count;
  }

  std::string directory_;
  std::string text_;
};

}  // namespace

Result<void> prepare_probes(const std::string& directory) {
  for (const char* name : {"input", "hidden"}) {
    const UniqueFd file(
        ::open((directory + "/" + name).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    timespec now = {};  // what own-uptime compares with
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    if (!file.is_open() || ::dprintf(file.get(), "%ld", static_cast<long>(now.tv_sec)) < 0)
      return system_error("cannot prepare the trial", errno);
  }
  if (::mkdir((directory + "/out").c_str(), 0755) != 0)
    return system_error("cannot prepare the trial", errno);
  const UniqueFd old(
      ::open((directory + "/out/old").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!old.is_open()) return system_error("cannot prepare the trial", errno);
  // Without close-on-exec, as careless callers leave them.
  if (::dup2(old.get(), kLeakedDescriptor) < 0)
    return system_error("cannot prepare the trial", errno);
  return {};
}

std::string run_probes(const std::string& directory, const std::string& act) {
  return Probes(directory).run(act);
}

std::map<std::string, ProbeResult> parse_probe_results(std::string_view text) {
  std::map<std::string, ProbeResult> results;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t first = line.find('\t');
    const std::size_t second = line.find('\t', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    results[std::string(line.substr(0, first))] = {
        .held = line.substr(first + 1, second - first - 1) == "held",
        .detail = std::string(line.substr(second + 1))};
  }
  return results;
}

}  // namespace hermetic::cli
