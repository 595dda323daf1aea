#include "hermetic/backends/none/none_backend.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "hermetic/base/null_device.h"
#include "hermetic/plan/host_names.h"
#include "hermetic/run/not_started_run.h"

namespace hermetic {
namespace {

using Clock = std::chrono::steady_clock;

class NoneRun final : public Run {
 public:
  NoneRun(pid_t process, EventSink& events)
      : process_(process), events_(events), started_(Clock::now()) {}
  NoneRun(const NoneRun&) = delete;
  NoneRun& operator=(const NoneRun&) = delete;
  ~NoneRun() override {
    if (waited_) return;
    NoneRun::kill();
    (void)NoneRun::wait();
  }

  Result<Outcome> wait() override {
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0)
      if (errno != EINTR) return system_error("cannot wait for the command", errno);
    waited_ = true;
    Outcome outcome;
    if (WIFSIGNALED(status))
      outcome.ending = Signaled{WTERMSIG(status)};
    else
      outcome.ending = Exited{WEXITSTATUS(status)};
    outcome.usage.wall_time =
        std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - started_);
    events_.on_event(
        {.kind = Event::Kind::Ended, .since_start = Clock::now() - started_, .detail = ""});
    return outcome;
  }
  bool signal(int number) override { return !waited_ && ::kill(process_, number) == 0; }
  Usage snapshot() override {
    return {.wall_time =
                std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - started_)};
  }
  void kill() override { (void)::kill(process_, SIGKILL); }

 private:
  pid_t process_;
  EventSink& events_;
  Clock::time_point started_;
  bool waited_ = false;
};

class SpawnActions {
 public:
  SpawnActions() { ::posix_spawn_file_actions_init(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  ~SpawnActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_ = {};
};

}  // namespace

Capabilities NoneBackend::probe() const {
  Capabilities capabilities{.backend = "none"};
  for (const Clause clause : all_clauses())
    capabilities.clauses[clause] = {.strength = Strength::Absent,
                                    .mechanism = "",
                                    .reason = "HERMETIC=off",
                                    .remedy = "unset HERMETIC"};
  return capabilities;
}

Result<std::unique_ptr<Run>> NoneBackend::start(const Plan& plan, const RunOptions& options,
                                                EventSink& events) {
  TRY(check_names_are_of_host(plan));
  std::vector<std::string> texts;
  for (const auto& [name, value] : plan.environment)
    texts.push_back(fmt::format("{}={}", name, value));
  std::vector<char*> environment;
  for (std::string& text : texts) environment.push_back(text.data());
  environment.push_back(nullptr);
  std::vector<std::string> words = plan.command;
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  SpawnActions actions;
  ::posix_spawn_file_actions_addchdir_np(actions.get(), plan.directory.c_str());
  const UniqueFd nothing = open_null_device(O_RDONLY);
  if (options.standard_input < 0)
    ::posix_spawn_file_actions_adddup2(actions.get(), nothing.get(), 0);
  pid_t process = 0;
  const int error = ::posix_spawnp(&process, arguments.front(), actions.get(), nullptr,
                                   arguments.data(), environment.data());
  if (error != 0) return std::unique_ptr<Run>(std::make_unique<NotStartedRun>(error));
  events.on_event({.kind = Event::Kind::Started, .since_start = {}, .detail = ""});
  return std::unique_ptr<Run>(std::make_unique<NoneRun>(process, events));
}

}  // namespace hermetic
