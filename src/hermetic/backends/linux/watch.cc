#include "hermetic/backends/linux/watch.h"

#include <fmt/format.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "hermetic/backends/linux/kernel.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/run/event_size.h"
#include "hermetic/spec/builtin_view.h"

namespace hermetic::linux_backend {
namespace {

// Questions, before the loop looks at the rest; fewer if they take long, as one about a thousand
// messages does.
constexpr int kAtOnce = 64;
constexpr std::chrono::milliseconds kLongestTurn{20};
constexpr std::size_t kMostDeniedBytes = std::size_t{16} << 20U;
constexpr std::size_t kMostViolations = 10'000;  // of different kinds; nobody reads as many
constexpr std::size_t kMostViolationBytes = std::size_t{16} << 20U;
constexpr std::size_t kMostOwnBytes = std::size_t{4} << 20U;

bool is_watched(const Plan& plan) {
  return std::any_of(plan.clauses.begin(), plan.clauses.end(), [](const PlannedClause& planned) {
    return planned.clause == Clause::NetworkWatched && planned.strength == Strength::Enforced;
  });
}

std::string why_not_watched(const Plan& plan) {
  for (const PlannedClause& planned : plan.clauses)
    if (planned.clause == Clause::NetworkWatched) return planned.reason;
  return "";
}

// Of a name that leads where it must not.
std::string remedy_for(const Endpoint& endpoint) {
  const bool brackets = endpoint.port != 0 && endpoint.address.find(':') != std::string::npos;
  std::string rule = brackets ? "[" + endpoint.address + "]" : endpoint.address;
  if (endpoint.port != 0) rule += fmt::format(":{}", endpoint.port);
  return fmt::format("--allow-host {0} as well, or in a spec: network: [\"{0}\"]", rule);
}

// Asks about programs that are to be executed and processes that are to be made. A thread is
// neither; clone3(), which hides in memory what it makes, is refused in every sandbox.
std::vector<sock_filter> process_filter() {
  std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const unsigned call : {
           unsigned{SYS_execve},
           unsigned{SYS_execveat},
#ifdef SYS_fork  // the older calls exist on x86-64 only
           unsigned{SYS_fork},
           unsigned{SYS_vfork},
#endif
       }) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
  }
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, unsigned{SYS_clone}, 0, 4));
  program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)));
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, unsigned{CLONE_THREAD}, 1, 0));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  return program;
}

// Of those that the filter asks about.
bool makes_process(const seccomp_notif& question) {
#ifdef SYS_fork
  if (question.data.nr == SYS_fork || question.data.nr == SYS_vfork) return true;
#endif
  return question.data.nr == SYS_clone;
}

}  // namespace

Watched watched_in(const Plan& plan, const RunOptions& options) {
  return {.network = is_watched(plan),
          .questions = plan.network.mode == NetworkPolicy::Mode::None,
          .processes = is_watched(plan) && options.observe_processes,
          .files = is_watched(plan) && (options.observe_files || options.why_denied)};
}

std::vector<Event> coverage_of(const Plan& plan, const RunOptions& options) {
  const Watched watched = watched_in(plan, options);
  std::vector<Event> events;
  const auto add = [&](const char* detector, bool on, std::string why_not) {
    events.push_back({.kind = Event::Kind::Coverage,
                      .act = on ? "on" : "off",
                      .subject = detector,
                      .detail = on ? "" : std::move(why_not)});
  };
  const std::string reason = why_not_watched(plan);
  add("network", watched.network, reason);
  add("processes", watched.processes, reason.empty() ? "nobody asked for it" : reason);
  add("files", watched.files, reason.empty() ? "nobody asked for it" : reason);
  add("limits", true, "");
  return events;
}

std::vector<sock_filter> watch_filter(const Watched& watched, std::uint64_t key,
                                      const std::vector<unsigned>& refused) {
  std::vector<sock_filter> program;
  if (watched.network) program = refused_calls_filter(refused);
  bool has_answer = false;
  const auto go_on_with = [&](const std::vector<sock_filter>& part) {
    if (has_answer) program.pop_back();  // its last answer, which allows
    program.insert(program.end(), part.begin(), part.end());
    has_answer = true;
  };
  if (watched.network) go_on_with(network_observer_filter(key, watched.sockets, watched.questions));
  if (watched.processes) go_on_with(process_filter());
  if (watched.files) go_on_with(file_observer_filter());
  return program;
}

bool is_listener(int descriptor) {
  // An answer to a question that nobody asked: only a listener says that it does not know it.
  const std::uint64_t nobodys = 0;
  return ::ioctl(descriptor, SECCOMP_IOCTL_NOTIF_ID_VALID, &nobodys) != 0 && errno == ENOENT;
}

Watch::Watch(UniqueFd listener, NetworkObserver network, Options options)
    : listener_(std::move(listener)),
      network_(std::move(network)),
      options_(std::move(options)),
      processes_(options_.init) {
  if (options_.watched.network) refused_.emplace(network_.filter());
  (void)::ioctl(listener_.get(), kNotificationFlags, kTakeTurns);
}

void Watch::serve() {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kAtOnce && listener_.is_open(); ++i) {
    if (options_.before) options_.before();
    answer_one();
    if (std::chrono::steady_clock::now() - begin > kLongestTurn) return;
    pollfd more = {.fd = listener_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&more, 1, 0) <= 0 || (more.revents & POLLIN) == 0) return;
  }
}

void Watch::answer_one() {
  seccomp_notif question = {};
  if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, &question) != 0) {
    // ENOENT: the process was killed before it was heard. Anything else will not get better.
    if (errno != ENOENT && errno != EINTR) listener_.reset();
    return;
  }
  seccomp_notif_resp answer = {};
  answer.id = question.id;
  answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  hold_ = false;
  processes_.next_question();
  if (hear_refused(question, answer)) {
    (void)::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer);
    return;
  }
  if (options_.watched.network) hear_network(question, answer);
  if (options_.watched.processes) hear_process(question);
  if (options_.watched.files) hear_files(question);
  // A port that is given back can be taken again only when our copy is closed, too.
  if (question.data.nr == SYS_bind || question.data.nr == SYS_listen) processes_.settle();
  if (!hold_) (void)::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer);
  if (!processes_.is_held_up()) return;
  // An attack: whoever reaches for the network from now on is told that there is none.
  note({.act = "close", .subject = "sockets that keep hermetic waiting", .rule = "network-watched"},
       {});
  listener_.reset();
}

// True if that is all there is to the call: its number means another call elsewhere.
bool Watch::hear_refused(const seccomp_notif& question, seccomp_notif_resp& answer) {
  if (!refused_ || !refused_->is_asked(question.data)) return false;
  const int error = refused_->answer(question.data);
  if (error == 0) return false;
  answer.flags = 0;
  answer.error = error;
  if (std::optional<Event> event = refused_->hear(
          question.data, who(question, options_.is_heard ? Who::Chain : Who::Caller));
      event && options_.is_heard)
    options_.tell(*std::move(event));
  return true;
}

// Who it was is known only as long as the call waits: the number may be another's afterwards.
std::vector<ProcessFacts> Watch::who(const seccomp_notif& question, Who asked) {
  const auto thread = static_cast<pid_t>(question.pid);
  std::vector<ProcessFacts> found =
      asked == Who::Chain ? processes_.chain(thread) : processes_.caller(thread);
  if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &question.id) != 0) found.clear();
  return found;
}

void Watch::hear_files(const seccomp_notif& question) {
  const std::vector<AskedPath>& asked = files_.hear(question, &processes_);
  if (!options_.why_denied) return;
  if (files_.is_hidden() && !has_hidden_files_) {
    has_hidden_files_ = true;
    options_.tell(
        {.kind = Event::Kind::File,
         .act = "read",
         .subject = kHiddenPath,
         .detail = "what a program asks for that may be executed and not read is not told",
         .processes = who(question, Who::Chain)});
  }
  for (const AskedPath& fresh : asked) {
    const std::string rule = options_.why_denied(fresh);
    // The sandbox's own /tmp was there: who would make or change it has made nothing below it.
    if (rule.empty() && fresh.operation == Operation::Write && fresh.path != kTemporary &&
        own_.size() < kMostViolations && own_bytes_ < kMostOwnBytes &&
        own_.insert(fresh.path).second)
      own_bytes_ += memory_of(fresh.path);
    if (rule.empty() || (fresh.operation != Operation::Write && is_own(fresh.path))) continue;
    std::vector<ProcessFacts> processes = who(question, Who::Chain);
    const std::string by = processes.empty() ? "" : processes.front().executable;
    denied_bytes_ += memory_of(fresh.path) + memory_of(rule) + memory_of(by);
    if (denied_.size() < kMostViolations && denied_bytes_ < kMostDeniedBytes)
      denied_.push_back({fresh.path, fresh.operation, rule, by});
    else
      ++more_denied_;
    options_.tell({.kind = Event::Kind::File,
                   .act = std::string(to_string(fresh.operation)),
                   .subject = fresh.path,
                   .verdict = Verdict::Deny,
                   .rule = rule,
                   .processes = std::move(processes)});
  }
}

// Did the command make it itself, or something above it?
bool Watch::is_own(std::string_view path) const {
  for (; path != "/"; path = parent_of(path))
    if (own_.contains(path)) return true;
  return false;
}

void Watch::hear_network(const seccomp_notif& question, seccomp_notif_resp& answer) {
  NetworkObserver::Heard heard = network_.hear(question, processes_);
  if (heard.answer) {
    answer.flags = 0;
    answer.error = *heard.answer;
  }
  const bool is_told = options_.is_heard && !heard.events.empty();
  if (!is_told && heard.violations.empty() && !heard.caller && !heard.asker && !heard.peer) return;
  const bool is_chain_told = is_told || (options_.is_heard && heard.caller);
  const std::vector<ProcessFacts> processes =
      who(question, is_chain_told ? Who::Chain : Who::Caller);
  if (heard.peer) {
    if (!processes.empty()) heard.peer->who = command_line(processes.front());
    peers_.expect(*std::move(heard.peer), processes_);
  }
  if (heard.caller) callers_.add(*std::move(heard.caller), processes);
  if (heard.asker && !processes.empty())
    network_.credit(*heard.asker, command_line(processes.front()));
  for (Event& event : heard.events) {
    event.processes = processes;
    options_.tell(std::move(event));
  }
  for (Violation& violation : heard.violations) note(std::move(violation), processes);
}

void Watch::hear_process(const seccomp_notif& question) {
  if (makes_process(question)) {
    std::vector<ProcessFacts> processes = who(question, Who::Chain);
    const std::string program = processes.empty() ? "" : processes.front().executable;
    options_.tell({.kind = Event::Kind::Process,
                   .act = "fork",
                   .subject = program,
                   .processes = std::move(processes)});
    return;
  }
  const std::optional<std::string> program = program_asked_for(question, processes_);
  if (!program) return;
  std::vector<std::string> arguments = arguments_given(question);
  const bool is_cut = !arguments.empty() && arguments.back() == kCut;
  options_.tell({.kind = Event::Kind::Process,
                 .act = "execute",
                 .subject = *program,
                 .arguments = std::move(arguments),
                 .is_cut = is_cut,
                 .processes = who(question, Who::Chain)});
}

void Watch::note(Violation violation, const std::vector<ProcessFacts>& who) {
  if (!who.empty() && violation.detail.empty()) violation.detail = command_line(who.front());
  if (violation.detail.empty()) violation.detail = "a process that is gone";
  const auto [place, fresh] = places_.try_emplace(
      {violation.act + " " + violation.subject, violation.detail}, violations_.size());
  if (!fresh) {
    ++violations_[place->second].count;
    return;
  }
  violation_bytes_ += memory_of(violation);
  if (violations_.size() >= kMostViolations || violation_bytes_ > kMostViolationBytes) {
    places_.erase(place);
    ++violations_.back().count;
    violations_.back().act = "more";
    violations_.back().subject = "of other kinds";
    violations_.back().detail = "";
    return;
  }
  violations_.push_back(violation);
  hold_ = options_.on_violation(violation);
}

void Watch::finish(Outcome& outcome) {
  outcome.asked = files_.asked();
  outcome.denied = std::move(denied_);
  outcome.more_denied = more_denied_;
  if (refused_) outcome.refused_calls = refused_->take();
  outcome.violations = std::move(violations_);
}

void Watch::hear_guard(Event event, const guard::Who& who) {
  if (network_.is_probe(event.subject)) return;
  event.rule = network_.rule_called(event.rule);
  event.processes = who.processes;
  Violation violation{.act = event.act,
                      .subject = event.subject,
                      .detail = who.perhaps,
                      .rule = event.rule,
                      .reason = event.detail};
  // Where an allowed name leads.
  if (event.endpoint && !event.endpoint->address.empty())
    violation.remedy = remedy_for(*event.endpoint);
  if (!who.perhaps.empty()) event.detail += (event.detail.empty() ? "by " : "; by ") + who.perhaps;
  const bool denied = event.verdict == Verdict::Deny;
  options_.tell(std::move(event));
  if (denied) note(std::move(violation), who.processes);
}

void Watch::on_time(NetworkObserver::Clock::time_point now) {
  for (Violation& violation : network_.overdue(now)) note(std::move(violation), {});
  for (Violation& violation : peers_.look(now)) note(std::move(violation), {});
}

std::optional<NetworkObserver::Clock::time_point> Watch::due() const {
  std::optional<NetworkObserver::Clock::time_point> first = network_.due();
  if (const auto other = peers_.due(); other && (!first || *other < *first)) first = other;
  return first;
}

}  // namespace hermetic::linux_backend
