#include "hermetic/backends/linux/observing_backend.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hermetic/backends/linux/descriptor_message.h"
#include "hermetic/backends/linux/file_observer.h"
#include "hermetic/backends/linux/kernel.h"
#include "hermetic/backends/linux/network_call.h"
#include "hermetic/backends/linux/spy_image.h"
#include "hermetic/base/null_device.h"
#include "hermetic/plan/host_names.h"

namespace hermetic {
namespace {

using Clock = std::chrono::steady_clock;
using linux_backend::FileObserver;
using linux_backend::NetworkCall;

constexpr std::chrono::seconds kLastGrace{2};

// Our children, also those that became ours when their parents ended.
std::set<pid_t> children() {
  std::set<pid_t> found;
  DIR* const threads = ::opendir("/proc/self/task");
  if (threads == nullptr) return found;
  while (const dirent* entry = ::readdir(threads)) {
    std::ifstream list(fmt::format("/proc/self/task/{}/children", entry->d_name));
    for (pid_t child = 0; list >> child;) found.insert(child);
  }
  ::closedir(threads);
  return found;
}

// How a child that did not become the command says why.
struct StartFailure {
  int os_error = 0;
  bool executing = false;  // the command itself could not be executed
};

class ObservedRun final : public Run {
 public:
  ObservedRun(pid_t process, UniqueFd pidfd, UniqueFd socket, UniqueFd spy, UniqueFd listener,
              EventSink& events, std::set<pid_t> others, bool was_subreaper,
              Clock::time_point started)
      : process_(process),
        spy_(std::move(spy)),
        pidfd_(std::move(pidfd)),
        socket_(std::move(socket)),
        listener_(std::move(listener)),
        events_(events),
        others_(std::move(others)),
        was_subreaper_(was_subreaper),
        started_(started) {}
  ObservedRun(const ObservedRun&) = delete;
  ObservedRun& operator=(const ObservedRun&) = delete;
  ~ObservedRun() override {
    if (waited_) return;
    ObservedRun::kill();
    (void)ObservedRun::wait();
  }

  Result<Outcome> wait() override {
    while (!serve_until_ready(-1)) {
    }
    int status = 0;
    rusage used = {};
    while (::wait4(process_, &status, 0, &used) < 0)
      if (errno != EINTR) return system_error("cannot wait for the command", errno);
    waited_ = true;
    end_the_rest();
    Outcome outcome;
    outcome.ending = WIFSIGNALED(status) ? Ending(Signaled{WTERMSIG(status)})
                                         : Ending(Exited{WEXITSTATUS(status)});
    StartFailure failure;
    if (::recv(socket_.get(), &failure, sizeof failure, MSG_DONTWAIT) ==
            static_cast<ssize_t>(sizeof failure) &&
        failure.executing)
      outcome.ending = NotStarted{failure.os_error};
    outcome.usage.wall_time = elapsed();
    outcome.usage.user_time = std::chrono::seconds(used.ru_utime.tv_sec) +
                              std::chrono::microseconds(used.ru_utime.tv_usec);
    outcome.usage.system_time = std::chrono::seconds(used.ru_stime.tv_sec) +
                                std::chrono::microseconds(used.ru_stime.tv_usec);
    for (AskedPath& asked : observer_.asked()) {
      if (asked.path.starts_with(linux_backend::kVariablePrefix))
        outcome.asked_variables.push_back(asked.path.substr(linux_backend::kVariablePrefix.size()));
      else
        outcome.asked.push_back(std::move(asked));
    }
    events_.on_event({.kind = Event::Kind::Ended, .since_start = Clock::now() - started_});
    return outcome;
  }

  bool signal(int number) override {
    return ::syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0) == 0;
  }
  Usage snapshot() override { return {.wall_time = elapsed()}; }
  void kill() override { (void)signal(SIGKILL); }

 private:
  [[nodiscard]] std::chrono::microseconds elapsed() const {
    return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - started_);
  }

  // Answers whoever asks. Returns whether the command has ended, or nobody is left who could ask.
  bool serve_until_ready(int milliseconds) {
    std::array<pollfd, 2> watched = {
        pollfd{.fd = listener_.get(), .events = POLLIN, .revents = 0},
        pollfd{.fd = waited_ ? -1 : pidfd_.get(), .events = POLLIN, .revents = 0}};
    if (::poll(watched.data(), watched.size(), milliseconds) <= 0) return milliseconds >= 0;
    if ((watched[0].revents & POLLIN) != 0)
      answer();
    else if (watched[0].revents != 0)
      listener_.reset();
    return watched[1].revents != 0 && (watched[0].revents & POLLIN) == 0;
  }

  void answer() {
    seccomp_notif question = {};
    if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, &question) != 0) {
      if (errno != ENOENT && errno != EINTR) listener_.reset();
      return;
    }
    if (!hear_address(question))
      for (const AskedPath& asked : observer_.hear(question, nullptr))
        if (asked.operation == Operation::Execute) tell_program(asked.path);
    seccomp_notif_resp response = {};
    response.id = question.id;
    response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    (void)::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &response);
  }

  // Each program once, when it is first asked for.
  void tell_program(const std::string& path) {
    events_.on_event({.kind = Event::Kind::Process,
                      .since_start = Clock::now() - started_,
                      .act = "execute",
                      .subject = path});
  }

  // Addresses, and the names that a name server is asked for. True if it was a call of the network.
  bool hear_address(const seccomp_notif& question) {
    const std::vector<NetworkCall> calls = linux_backend::read_network_calls(question);
    for (const NetworkCall& call : calls) {
      Event event{.kind = Event::Kind::Network, .since_start = Clock::now() - started_};
      event.act = call.kind == NetworkCall::Kind::Bind ? "listen" : "connect";
      event.endpoint = Endpoint{};
      if (call.kind == NetworkCall::Kind::Send)
        event.endpoint->name = linux_backend::name_asked_for(call.payload);
      if (!event.endpoint->name.empty()) event.act = "resolve";
      if (call.address && call.address->is_internet()) {
        event.endpoint->family = linux_backend::family_name(call.address->family);
        event.endpoint->address = guard::address_text(call.address->address);
        event.endpoint->port = call.address->port;
      } else if (event.act != "resolve") {
        continue;
      }
      event.subject = event.act == "resolve"
                          ? event.endpoint->name
                          : guard::endpoint_text(call.address->address, call.address->port);
      events_.on_event(event);
    }
    return !calls.empty();
  }

  // Nobody would answer those who are left. They are children of ours, or will be once their
  // parents have ended.
  void end_the_rest() {
    const Clock::time_point until = Clock::now() + kLastGrace;
    for (bool left = true; left && Clock::now() < until;) {
      left = listener_.get() >= 0;
      for (const pid_t child : children()) {
        if (others_.count(child) != 0) continue;
        (void)::kill(child, SIGKILL);
        left = ::waitpid(child, nullptr, WNOHANG) != child || left;
      }
      if (left) (void)serve_until_ready(2);
    }
    listener_.reset();
    (void)::prctl(PR_SET_CHILD_SUBREAPER, was_subreaper_ ? 1 : 0, 0, 0, 0);
  }

  pid_t process_;
  UniqueFd spy_;  // programs load it from here
  UniqueFd pidfd_;
  UniqueFd socket_;
  UniqueFd listener_;
  FileObserver observer_{FileObserver::Look::OnHost};
  EventSink& events_;
  std::set<pid_t> others_;  // children from before
  bool was_subreaper_;
  Clock::time_point started_;
  std::atomic<bool> waited_ = false;
};

// Before all else: a sendmsg() with this in its sixth argument, which the kernel ignores, is not
// asked about. By it the listener itself is passed on, before anybody could answer. It says nothing
// new to whoever finds it out: the command is only observed, and is not kept from anything.
constexpr std::uint32_t kOwnMessage = 0x6865726D;

std::vector<sock_filter> with_own_message(std::vector<sock_filter> filter) {
  const std::array<sock_filter, 5> own = {
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sendmsg, 0, 3),
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[5])),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kOwnMessage, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  filter.insert(filter.begin(), own.begin(), own.end());
  return filter;
}

// What the child needs, made before it is forked.
struct Instructions {
  std::vector<std::string> words;
  std::vector<std::string> variables;
  std::vector<char*> arguments;
  std::vector<char*> environment;
  std::string directory;
  std::vector<sock_filter> filter;
  UniqueFd nothing = open_null_device(O_RDWR);
  std::array<int, 3> standard = {};

  Instructions(const Plan& plan, const RunOptions& options, const UniqueFd& spy)
      : words(plan.command),
        directory(plan.directory),
        filter(with_own_message(linux_backend::file_observer_filter(address_calls()))),
        standard({options.standard_input, options.standard_output, options.standard_error}) {
    for (int& wanted : standard)
      if (wanted < 0) wanted = nothing.get();
    const std::string preload = fmt::format("/proc/{}/fd/{}", ::getpid(), spy.get());
    bool preloads = false;
    for (const auto& [name, value] : plan.environment) {
      const bool ours = spy.is_open() && name == "LD_PRELOAD";
      preloads = preloads || ours;
      variables.push_back(
          fmt::format("{}={}{}{}", name, ours ? preload : "", ours ? ":" : "", value));
    }
    if (spy.is_open() && !preloads) variables.push_back("LD_PRELOAD=" + preload);
    for (std::string& word : words) arguments.push_back(word.data());
    for (std::string& variable : variables) environment.push_back(variable.data());
    arguments.push_back(nullptr);
    environment.push_back(nullptr);
  }

 private:
  static std::span<const int> address_calls() {
    static constexpr std::array<int, 5> kNumbers = {SYS_connect, SYS_bind, SYS_sendto, SYS_sendmsg,
                                                    SYS_sendmmsg};
    return kNumbers;
  }
};

long install(const Instructions& instructions, unsigned flags) {
  const sock_fprog program = {.len = static_cast<unsigned short>(instructions.filter.size()),
                              .filter = const_cast<sock_filter*>(instructions.filter.data())};
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

// Whoever may not without gives up set-user-id programs, as everybody in a sandbox does.
long install_somehow(const Instructions& instructions) {
  constexpr unsigned kNewListener = SECCOMP_FILTER_FLAG_NEW_LISTENER;
  for (const unsigned flags : {kNewListener | linux_backend::kWaitKillable, kNewListener}) {
    long listener = install(instructions, flags);
    if (listener < 0 && errno == EACCES && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
      listener = install(instructions, flags);
    if (listener >= 0 || errno != EINVAL) return listener;
  }
  return -1;
}

bool send_descriptor(int socket, int descriptor) {
  char nothing = 0;
  linux_backend::DescriptorMessage message(&nothing, sizeof nothing);
  message.attach(descriptor);
  return ::syscall(SYS_sendmsg, socket, message.get(), MSG_NOSIGNAL, 0, 0, kOwnMessage) == 1;
}

// A listener, or why there is none.
Result<UniqueFd> receive_listener(int socket) {
  StartFailure failure;
  linux_backend::DescriptorMessage message(&failure, sizeof failure);
  ssize_t size = -1;
  while ((size = ::recvmsg(socket, message.get(), MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
  }
  if (UniqueFd listener = message.take(); size == 1 && listener.is_open()) return listener;
  const bool said = size == static_cast<ssize_t>(sizeof failure);
  return system_error("cannot observe the command", said ? failure.os_error : ECONNRESET,
                      "inside another observer or sandbox this may not be allowed");
}

[[noreturn]] void become_command(const Instructions& instructions, int socket) {
  StartFailure failure;
  const auto fail = [&] {
    failure.os_error = errno;
    (void)::send(socket, &failure, sizeof failure, MSG_NOSIGNAL);
    ::_exit(127);
  };
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  for (int number = 0; number < 3; ++number) {
    const int source = instructions.standard[static_cast<std::size_t>(number)];
    if (source < 0 || (source != number && ::dup2(source, number) < 0)) fail();
  }
  if (::chdir(instructions.directory.c_str()) != 0) fail();
  const long listener = install_somehow(instructions);
  if (listener < 0) fail();
  if (!send_descriptor(socket, static_cast<int>(listener))) fail();
  ::close(static_cast<int>(listener));
  failure.executing = true;
  ::execvpe(instructions.arguments.front(), instructions.arguments.data(),
            instructions.environment.data());
  fail();
  __builtin_unreachable();
}

}  // namespace

Capabilities ObservingBackend::probe() const {
  Capabilities capabilities{.backend = "observe"};
  for (const Clause clause : all_clauses())
    capabilities.clauses[clause] = {.strength = Strength::Absent,
                                    .mechanism = "",
                                    .reason = "the command is only observed",
                                    .remedy = "use the linux backend"};
  return capabilities;
}

Result<std::unique_ptr<Run>> ObservingBackend::start(const Plan& plan, const RunOptions& options,
                                                     EventSink& events) {
  TRY(check_names_are_of_host(plan));
  const Clock::time_point started = Clock::now();
  UniqueFd spy;
  if (options.observe_variables) spy = TRY(linux_backend::make_spy_image());
  const Instructions instructions(plan, options, spy);
  std::array<int, 2> ends = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return system_error("cannot make a socket", errno);
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  // Orphans of the command stay below us: the kernel lets us read the names they ask for, and we
  // can end them.
  int was_subreaper = 0;
  (void)::prctl(PR_GET_CHILD_SUBREAPER, &was_subreaper, 0, 0, 0);
  (void)::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  std::set<pid_t> others = children();
  const pid_t process = ::fork();
  if (process < 0) return system_error("cannot start a process", errno);
  if (process == 0) become_command(instructions, theirs.get());
  theirs.reset();
  UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  Result<UniqueFd> listener = receive_listener(ours.get());
  if (!pidfd.is_open() || !listener) {
    const int os_error = errno;
    (void)::kill(process, SIGKILL);
    (void)::waitpid(process, nullptr, 0);
    if (!listener) return std::move(listener).error();
    return system_error("cannot watch the command", os_error);
  }
  (void)::ioctl(listener->get(), linux_backend::kNotificationFlags, linux_backend::kTakeTurns);
  events.on_event({.kind = Event::Kind::Started});
  return std::unique_ptr<Run>(std::make_unique<ObservedRun>(
      process, std::move(pidfd), std::move(ours), std::move(spy), std::move(*listener), events,
      std::move(others), was_subreaper != 0, started));
}

}  // namespace hermetic
