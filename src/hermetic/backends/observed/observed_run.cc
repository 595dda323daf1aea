#include "hermetic/backends/observed/observed_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>

#include "hermetic/base/null_device.h"
#include "hermetic/plan/host_names.h"
#include "hermetic/run/not_started_run.h"

namespace hermetic::observed {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kInterval{50};

struct Stream {
  UniqueFd pipe;
  Captured kept;

  Result<UniqueFd> open() {
    std::array<int, 2> ends = {-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("cannot make a pipe", errno);
    pipe = UniqueFd(ends[0]);
    (void)::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return UniqueFd(ends[1]);
  }

  // All that is there, and no more than is asked for.
  void drain(std::size_t cap) {
    std::array<char, 65536> block;
    while (pipe.is_open()) {
      const ssize_t size = ::read(pipe.get(), block.data(), block.size());
      if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
      if (size <= 0) return pipe.reset();
      const std::size_t taken =
          std::min(cap - std::min(cap, kept.text.size()), static_cast<std::size_t>(size));
      kept.text.append(block.data(), taken);
      kept.truncated = kept.truncated || taken < static_cast<std::size_t>(size);
    }
  }
};

class ObservedRun final : public Run {
 public:
  ObservedRun(std::unique_ptr<Watcher> watcher, const Plan& plan, const RunOptions& options,
              EventSink& events)
      : watcher_(std::move(watcher)), plan_(plan), options_(options), events_(events) {}
  ObservedRun(const ObservedRun&) = delete;
  ObservedRun& operator=(const ObservedRun&) = delete;
  ~ObservedRun() override {
    if (process_ <= 0 || reaped_) return;
    end_all();
    (void)reap(0);
  }

  Result<void> start(const std::string& program);
  Result<Outcome> wait() override;
  bool signal(int number) override {
    const pid_t command = command_;
    return command > 0 && ::kill(command, number) == 0;
  }
  Usage snapshot() override { return {.wall_time = elapsed()}; }
  void kill() override {
    stop_asked_ = true;
    const std::uint64_t one = 1;
    (void)!::write(wake_.get(), &one, sizeof one);
  }

 private:
  [[nodiscard]] std::chrono::microseconds elapsed() const {
    return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - started_);
  }
  bool reap(int flags) {
    if (reaped_) return true;
    pid_t found = 0;
    do found = ::waitpid(process_, &status_, flags);
    while (found < 0 && errno == EINTR);
    reaped_ = found == process_;
    return reaped_;
  }
  void listen_once();
  void enforce_time();
  void end_all();
  [[nodiscard]] Ending ending() const;

  std::unique_ptr<Watcher> watcher_;
  Plan plan_;
  RunOptions options_;
  EventSink& events_;
  Clock::time_point started_ = Clock::now();
  Clock::time_point next_look_ = Clock::now();
  std::optional<Clock::time_point> asked_to_end_;
  bool timed_out_ = false;
  UniqueFd wake_;
  UniqueFd process_handle_;
  Stream output_;
  Stream error_;
  pid_t process_ = 0;
  int status_ = 0;
  bool reaped_ = false;
  std::atomic<pid_t> command_ = 0;
  std::atomic<bool> stop_asked_ = false;
};

class SpawnSettings {
 public:
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_t actions = {};
  posix_spawnattr_t attributes = {};
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

Result<void> ObservedRun::start(const std::string& program) {
  std::vector<std::string> words = watcher_->wrapped(plan_, program);
  std::vector<std::string> variables;
  for (const auto& [name, value] : plan_.environment)
    variables.push_back(fmt::format("{}={}", name, value));
  wake_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_.is_open()) return system_error("cannot make an event descriptor", errno);
  SpawnSettings settings;
  ::posix_spawn_file_actions_addchdir_np(&settings.actions, plan_.directory.c_str());
  const UniqueFd nothing = open_null_device(O_RDONLY);
  if (options_.standard_input < 0)
    ::posix_spawn_file_actions_adddup2(&settings.actions, nothing.get(), 0);
  UniqueFd output;
  UniqueFd error;
  if (options_.capture_bytes) {
    output = TRY(output_.open());
    error = TRY(error_.open());
    ::posix_spawn_file_actions_adddup2(&settings.actions, output.get(), STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&settings.actions, error.get(), STDERR_FILENO);
  }
  // What hermetic itself blocks or ignores is not the command's affair.
  sigset_t none = {};
  sigset_t every = {};
  ::sigemptyset(&none);
  ::sigfillset(&every);
  ::sigdelset(&every, SIGKILL);
  ::sigdelset(&every, SIGSTOP);
  ::posix_spawnattr_setsigmask(&settings.attributes, &none);
  ::posix_spawnattr_setsigdefault(&settings.attributes, &every);
  ::posix_spawnattr_setflags(&settings.attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const std::string file = words.front() == plan_.command.front() ? program : words.front();
  if (const int problem =
          ::posix_spawn(&process_, file.c_str(), &settings.actions, &settings.attributes,
                        pointers(words).data(), pointers(variables).data());
      problem != 0) {
    process_ = 0;
    return system_error(fmt::format("cannot start '{}'", file), problem);
  }
  process_handle_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, process_, 0)));
  watcher_->started(process_);
  events_.on_event({.kind = Event::Kind::Started, .since_start = {}, .detail = ""});
  return {};
}

void ObservedRun::listen_once() {
  std::vector<pollfd> waiting;
  for (const int descriptor : {wake_.get(), output_.pipe.get(), error_.pipe.get(),
                               watcher_->descriptor(), process_handle_.get()})
    if (descriptor >= 0) waiting.push_back({.fd = descriptor, .events = POLLIN, .revents = 0});
  (void)::poll(waiting.data(), waiting.size(), static_cast<int>(kInterval.count()) / 2);
  std::uint64_t woken = 0;
  (void)!::read(wake_.get(), &woken, sizeof woken);
  const std::size_t cap = options_.capture_bytes.value_or(0);
  output_.drain(cap);
  error_.drain(cap);
  watcher_->read(elapsed());
  command_ = watcher_->command();
  if (Clock::now() < next_look_) return;
  next_look_ = Clock::now() + kInterval;
  watcher_->look(events_, elapsed());
}

void ObservedRun::enforce_time() {
  if (!plan_.limits.wall_time || elapsed() < *plan_.limits.wall_time) return;
  if (!asked_to_end_) {
    timed_out_ = true;
    asked_to_end_ = Clock::now();
    (void)signal(SIGTERM);
  } else if (Clock::now() - *asked_to_end_ > options_.grace) {
    stop_asked_ = true;
  }
}

// As long as somebody has children faster than we look, but not for ever.
void ObservedRun::end_all() {
  constexpr int kMostTries = 200;
  for (int i = 0; i < kMostTries; ++i) {
    const std::vector<ProcessStatus> left = watcher_->processes();
    if (left.empty()) break;
    for (const ProcessStatus& process : left) (void)::kill(process.pid, SIGKILL);
    watcher_->read(elapsed());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  // Who waits for others to end has nobody left to wait for; it may still write down that they did.
  for (int i = 0; i < kMostTries && !reap(WNOHANG); ++i) {
    watcher_->read(elapsed());
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (!reaped_) (void)::kill(process_, SIGKILL);
}

Ending ObservedRun::ending() const {
  if (timed_out_) return TimedOut{.limit = *plan_.limits.wall_time};
  if (stop_asked_) return Signaled{SIGKILL};
  if (WIFSIGNALED(status_)) return Signaled{WTERMSIG(status_)};
  return Exited{WEXITSTATUS(status_)};
}

Result<Outcome> ObservedRun::wait() {
  while (!stop_asked_ && !reap(WNOHANG) && !watcher_->command_ended()) {
    listen_once();
    enforce_time();
  }
  if (!stop_asked_) {
    watcher_->look(events_, elapsed());
    std::vector<ProcessStatus> left = watcher_->processes();
    std::erase_if(left, [&](const ProcessStatus& process) { return process.pid == command_; });
    if (!left.empty() && !timed_out_)
      events_.on_event({.kind = Event::Kind::Process,
                        .since_start = elapsed(),
                        .act = "outlive",
                        .subject = left.front().name,
                        .amount = left.size()});
  }
  end_all();
  (void)reap(0);
  const std::size_t cap = options_.capture_bytes.value_or(0);
  output_.drain(cap);
  error_.drain(cap);
  watcher_->read(elapsed());
  Outcome outcome{.ending = ending()};
  outcome.usage.wall_time = elapsed();
  outcome.standard_output = std::move(output_.kept);
  outcome.standard_error = std::move(error_.kept);
  const Result<void> seen = watcher_->finish(events_);
  if (!seen && !stop_asked_) {
    Error error = seen.error();
    const std::string& said = outcome.standard_error.text;
    if (error.hint.empty() && said.starts_with("strace: ")) error.hint = said.substr(0, 200);
    return error;
  }
  events_.on_event({.kind = Event::Kind::Ended, .since_start = elapsed(), .detail = ""});
  return outcome;
}

}  // namespace

std::string find_program(const std::string& word, const std::string& search,
                         const std::string& directory) {
  const auto usable = [](const std::string& path) {
    struct stat status = {};
    if (::stat(path.c_str(), &status) != 0) return false;
    errno = EACCES;
    return S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
  };
  const auto absolute = [&](const std::string& path) {
    return path.starts_with('/') ? path : directory + "/" + path;
  };
  if (word.find('/') != std::string::npos) return usable(absolute(word)) ? absolute(word) : "";
  for (std::size_t begin = 0; begin <= search.size();) {
    const std::size_t end = std::min(search.find(':', begin), search.size());
    const std::string folder = search.substr(begin, end - begin);
    begin = end + 1;
    if (const std::string path = absolute(folder + "/" + word); !folder.empty() && usable(path))
      return path;
  }
  errno = ENOENT;
  return "";
}

Result<std::unique_ptr<Run>> start_observed(std::unique_ptr<Watcher> watcher, const Plan& plan,
                                            const RunOptions& options, EventSink& events) {
  TRY(check_names_are_of_host(plan));
  const auto path = plan.environment.find("PATH");
  const std::string program =
      find_program(plan.command.front(),
                   path == plan.environment.end() ? "/usr/bin:/bin" : path->second, plan.directory);
  if (program.empty()) return std::unique_ptr<Run>(std::make_unique<NotStartedRun>(errno));
  auto run = std::make_unique<ObservedRun>(std::move(watcher), plan, options, events);
  TRY(run->start(program));
  return std::unique_ptr<Run>(std::move(run));
}

}  // namespace hermetic::observed
