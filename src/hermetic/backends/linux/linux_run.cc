#include "hermetic/backends/linux/linux_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>
#include <vector>

#include "hermetic/backends/linux/capture.h"
#include "hermetic/backends/linux/event_order.h"
#include "hermetic/backends/linux/facts.h"
#include "hermetic/backends/linux/init_protocol.h"
#include "hermetic/backends/linux/init_report.h"
#include "hermetic/backends/linux/launch.h"
#include "hermetic/backends/linux/limit_steps.h"
#include "hermetic/backends/linux/limited_monitor.h"
#include "hermetic/backends/linux/proof.h"
#include "hermetic/backends/linux/seccomp_filter.h"
#include "hermetic/backends/linux/socket_path.h"
#include "hermetic/backends/linux/standard_streams.h"
#include "hermetic/backends/linux/watch.h"
#include "hermetic/guard/network_guard.h"
#include "hermetic/monitor/monitor.h"
#include "hermetic/outputs/inspect.h"
#include "hermetic/outputs/publish.h"
#include "hermetic/outputs/staging.h"

namespace hermetic::linux_backend {
namespace {

using Clock = std::chrono::steady_clock;

// How long init gets to end everybody and count them, before it is ended itself.
constexpr std::chrono::milliseconds kLastGrace{1000};

class LinuxRun final : public Run {
 public:
  LinuxRun(Plan plan, RunOptions options, EventSink& events, Staging staging, Launched launched,
           std::array<Capture, 2> captures, StandardStreams streams,
           std::unique_ptr<Monitor> monitor, Clock::time_point started, std::uint64_t key,
           Proof proof, std::optional<NetworkGuard::Sockets> sockets)
      : plan_(std::move(plan)),
        options_(std::move(options)),
        events_(events),
        staging_(std::move(staging)),
        launched_(std::move(launched)),
        captures_(std::move(captures)),
        streams_(std::move(streams)),
        monitor_(std::move(monitor)),
        started_(started),
        order_(events_, started_),
        key_(key),
        proof_(std::move(proof)),
        sockets_(std::move(sockets)) {}

  LinuxRun(const LinuxRun&) = delete;
  LinuxRun& operator=(const LinuxRun&) = delete;
  ~LinuxRun() override {
    if (reaped_) return;
    LinuxRun::kill();
    reap();
  }

  // Waits for the first word from init or from the child that should have become it.
  Result<void> hear_first(const LoweredScript& script) {
    for (const Event& event : coverage_of(plan_, options_)) tell(event);
    if (sockets_ && !sockets_->tcp.empty())  // none are there if the script has failed
      TRY(guard(*std::exchange(sockets_, std::nullopt)));
    while (!running_ && !finished_ && !gone_) TRY(poll_once());
    if (!running_) order_.release();
    if (gone_) {
      reap();
      return system_error(
          "init ended without a word", ECONNRESET,
          plan_.limits.memory_bytes
              ? "something outside killed it, or limits.memory leaves no room for it"
              : "something outside killed it");
    }
    proof_.forget();
    if (finished_ && finished_->kind == InitReport::Kind::StepFailed) {
      reap();
      if (finished_->probes_succeeded != 0)
        return unsupported("the sandbox does not hold: what must fail inside succeeds there: " +
                               names_of(finished_->probes_succeeded),
                           "nothing was run; hermetic doctor shows what holds on this host");
      return step_failed(script, *finished_);
    }
    if (!running_) return {};
    TRY(streams_.start());
    tell({.kind = Event::Kind::Started});
    return {};
  }

  Result<Outcome> wait() override {
    while (!finished_ && !gone_) TRY(poll_once());
    hear_the_rest();
    const Clock::time_point end = Clock::now();
    TRY(deliver());
    const Usage usage = reap_and_count(end);
    for (Capture& capture : captures_) capture.drain_rest(options_.capture_bytes.value_or(0));
    Outcome outcome{.ending = ending(), .usage = usage};
    if (options_.prove) outcome.probes = results_of(proof_.wanted());
    if (watch_) watch_->finish(outcome);
    outcome.standard_output = std::move(captures_[0].kept);
    outcome.standard_error = std::move(captures_[1].kept);
    if (const auto* over = std::get_if<OverLimit>(&outcome.ending))
      tell({.kind = Event::Kind::Limit,
            .act = over->which,
            .subject = std::to_string(over->limit),
            .verdict = Verdict::Deny,
            .amount = over->actual});
    if (guard_) guard_->finish();
    if (finished_ && finished_->survivors != 0 && !stopping_)
      tell({.kind = Event::Kind::Process,
            .act = "outlive",
            .subject = {finished_->survivor,
                        ::strnlen(finished_->survivor, sizeof finished_->survivor)},
            .amount = finished_->survivors});
    tell({.kind = Event::Kind::Ended});
    const bool failed = plan_.on_violation == OnViolation::Fail && !outcome.violations.empty();
    if (outcome.success() && !failed) {
      const Digests digests = options_.digest_outputs ? Digests::Make : Digests::Skip;
      TRY(staging_.take_what_was_made());
      for (const StagedOutput& staged : staging_.outputs())
        outcome.outputs.push_back(TRY(inspect_output(staged, digests)));
      TRY(publish(staging_));
    } else if (options_.keep_failed) {
      TRY(keep_outputs(staging_, *options_.keep_failed));
    }
    return outcome;
  }

  bool signal(int number) override {
    streams_.note_signal();
    return send_signal(number, 0);
  }

  Usage snapshot() override { return monitor_->snapshot(); }

  void kill() override {
    monitor_->lift_rates();
    streams_.hurry();
    (void)::syscall(SYS_pidfd_send_signal, launched_.pidfd.get(), SIGKILL, nullptr, 0);
  }

 private:
  [[nodiscard]] bool send_signal(int number, std::uint32_t to_all) const {
    const InitSignal message{.number = number, .to_all = to_all};
    return ::send(launched_.socket.get(), &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT) >=
           0;
  }

  void tell(Event event) { order_.tell(std::move(event)); }

  // Guard and watch belong together: what the one lets out, the other knows by whom it was tried.
  Result<void> guard(NetworkGuard::Sockets sockets) {
    guard_ = TRY(NetworkGuard::make(
        {.policy = plan_.network,
         .tell =
             [this](Event event, const guard::Who& who) {
               if (watch_) watch_->hear_guard(std::move(event), who);
             },
         .find_who =
             [this](const guard::Arrival& arrival) {
               return watch_ ? watch_->who_came(arrival) : guard::Who{};
             },
         .shows_host_file =
             find_in_view(plan_, "/etc/hosts").rule.starts_with(to_string(ViewEntry::Kind::Input)),
         .most_bytes = plan_.limits.network_bytes.value_or(guard::ByteBudget::kUnlimited)},
        std::move(sockets)));
    return {};
  }

  void watch(UniqueFd listener) {
    watch_.emplace(
        std::move(listener),
        NetworkObserver(plan_, seccomp_filter(plan_, key_), key_, guard_ ? &*guard_ : nullptr),
        Watch::Options{.watched = watched_in(plan_, options_),
                       .init = launched_.init,
                       .is_heard = events_.is_listening(),
                       .why_denied = options_.why_denied,
                       .tell = [this](Event event) { order_.tell_of_inside(std::move(event)); },
                       .on_violation =
                           [this](const Violation& violation) {
                             const bool ends = plan_.on_violation == OnViolation::Kill;
                             if (ends && !stopping_) stop(EndedByViolation{violation});
                             return ends;
                           },
                       .before =
                           [this] {
                             if (guard_) guard_->serve();
                           }});
  }

  // What the command did last: it may be over before anybody has looked.
  void hear_the_rest() {
    if (guard_) guard_->hear_out(Clock::now() + std::chrono::seconds(1));
    if (watch_) watch_->on_time(Clock::time_point::max());
  }

  // What the command wrote last. A reader may take its time, as at the end of any pipeline, but not
  // more than the run has, and hardly any once the run was ended.
  Result<void> deliver() {
    if (stopping_ || gone_) streams_.hurry();
    const auto& limit = plan_.limits.wall_time;
    const auto until = limit ? std::optional(started_ + *limit) : std::nullopt;
    const StandardStreams::Delivery delivery = TRY(streams_.finish(until));
    if (because_ || gone_) return {};
    if (delivery == StandardStreams::Delivery::TooLarge)
      because_ = file_size_exceeded(*plan_.limits.file_size_bytes);
    else if (delivery == StandardStreams::Delivery::Unread && limit)
      because_ = TimedOut{*limit};
    return {};
  }

  // Fails if init cannot be heard: it may be alive, and nobody would learn of its end.
  Result<void> on_report() {
    std::optional<ReceivedReport> received = TRY(receive_report(launched_.socket.get()));
    if (!received) return {};
    gone_ = received->size == 0;
    if (gone_) return {};
    const InitReport& report = received->report;
    UniqueFd& passed = received->passed;
    if (!is_whole_report(report, received->size, passed.is_open()) || !is_expected(report) ||
        (report.kind == InitReport::Kind::Observer && !is_listener(passed.get()))) {
      // Not the init that we started: whatever it is, it goes, and nothing is published.
      kill();
      gone_ = true;
      return {};
    }
    switch (report.kind) {
      case InitReport::Kind::Terminal: streams_.take_terminal(std::move(passed)); break;
      case InitReport::Kind::Observer: watch(std::move(passed)); break;
      case InitReport::Kind::Processes:
        has_processes_ = true;
        monitor_->watch(ProcessTable(std::move(passed)));
        break;
      case InitReport::Kind::Started: running_ = true; break;
      case InitReport::Kind::StepFailed:
      case InitReport::Kind::NotStarted:
      case InitReport::Kind::Ended: finished_ = report; break;
    }
    return {};
  }

  // A terminal or a listener that nobody asked for is not taken: it would be given what the caller
  // types.
  [[nodiscard]] bool is_expected(const InitReport& report) const {
    switch (report.kind) {
      case InitReport::Kind::Terminal: return !running_ && !streams_.has_terminals();
      case InitReport::Kind::Observer: return watched_in(plan_, options_).any() && !watch_;
      case InitReport::Kind::Processes: return !running_ && !has_processes_;
      case InitReport::Kind::Started:
        return !running_ && watched_in(plan_, options_).any() == watch_.has_value() &&
               report.probes_tried == proof_.wanted() && streams_.has_terminals() &&
               (plan_.network.mode == NetworkPolicy::Mode::Hosts) == guard_.has_value();
      case InitReport::Kind::StepFailed:
      case InitReport::Kind::NotStarted: return !running_;
      case InitReport::Kind::Ended: return running_;
    }
    return false;
  }

  [[nodiscard]] int timeout() const {
    std::optional<Clock::time_point> next = deadline();
    if (const auto due = monitor_->due(); due && !killing_)
      next = std::min(next.value_or(*due), *due);
    for (const auto& due :
         {guard_ ? guard_->due() : std::nullopt, watch_ ? watch_->due() : std::nullopt})
      if (due) next = std::min(next.value_or(*due), *due);
    if (!next) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - Clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 3'600'000));
  }

  [[nodiscard]] std::optional<Clock::time_point> deadline() const {
    if (killing_) return *killing_ + kLastGrace;
    if (stopping_) return *stopping_ + options_.grace;
    if (plan_.limits.wall_time) return started_ + *plan_.limits.wall_time;
    return std::nullopt;
  }

  Result<void> poll_once() {
    std::array<pollfd, 5> watched = {
        {{.fd = launched_.socket.get(), .events = POLLIN, .revents = 0},
         {.fd = captures_[0].pipe.get(), .events = POLLIN, .revents = 0},
         {.fd = captures_[1].pipe.get(), .events = POLLIN, .revents = 0},
         {.fd = watch_ ? watch_->descriptor() : -1, .events = POLLIN, .revents = 0},
         {.fd = guard_ ? guard_->descriptor() : -1, .events = POLLIN, .revents = 0}}};
    const int ready = ::poll(watched.data(), watched.size(), timeout());
    if (ready < 0 && errno != EINTR) return system_error("cannot wait for the run", errno);
    if (guard_) guard_->serve();
    if (watch_) watch_->on_time(Clock::now());
    if (guard_ && plan_.limits.network_bytes) monitor_->count_network(guard_->bytes());
    on_time();  // whatever is ready: a command that never stops writing has a limit, too
    if (ready <= 0) return {};
    for (std::size_t i = 0; i < captures_.size(); ++i)
      if (watched[i + 1].revents != 0) captures_[i].drain(options_.capture_bytes.value_or(0));
    if ((watched[3].revents & POLLIN) != 0) watch_->serve();
    // Nobody is left who could ask.
    if ((watched[3].revents & (POLLHUP | POLLERR)) != 0) watch_->close();
    if (watched[0].revents != 0) TRY(on_report());
    return {};
  }

  void on_time() {
    const Clock::time_point now = Clock::now();
    if (killing_ && now >= *deadline()) {
      kill();
      monitor_->end_members();
    } else if (stopping_ && !killing_ && now >= *deadline()) {
      end_everybody();
    } else if (!stopping_ && deadline() && now >= *deadline()) {
      stop(TimedOut{*plan_.limits.wall_time});
    } else if (const auto due = monitor_->due(); !killing_ && due && now >= *due) {
      look(now);
    }
  }

  void look(Clock::time_point now) {
    if (guard_) monitor_->count_network(guard_->bytes());  // for samples
    monitor_->count_written(streams_.written_to_files());
    const std::optional<Ending> over = monitor_->look(now);
    if (options_.sample_every && now >= sampled_ + *options_.sample_every) {
      events_.on_sample(monitor_->last());
      sampled_ = now;
    }
    if (!over) return;
    if (!stopping_)
      stop(*over);
    else if (std::holds_alternative<OverLimit>(*over))
      end_everybody();  // it was given time to end, and nothing else
  }

  // At a limit of time the command is asked to end; for anything else it is killed.
  void stop(const Ending& because) {
    stopping_ = Clock::now();
    because_ = because;
    const auto stopping = [&](std::string why) {
      tell({.kind = Event::Kind::Stopping, .detail = std::move(why)});
    };
    if (const auto* out_of_time = std::get_if<TimedOut>(&because)) {
      stopping(out_of_time->which == TimedOut::Which::IdleTime ? "idle_time" : "wall_time");
    } else {
      const auto* over = std::get_if<OverLimit>(&because);
      stopping(over != nullptr ? over->which : "violation");
      end_everybody();
      return;
    }
    (void)send_signal(SIGTERM, 1);
    (void)send_signal(SIGCONT, 1);  // one that has stopped itself hears nothing
  }

  // Through init, which then counts what they have used.
  void end_everybody() {
    killing_ = Clock::now();
    monitor_->lift_rates();
    if (!send_signal(SIGKILL, 1)) kill();
  }

  // The kernel's own numbers of init and of all that it has waited for, or that ended with it.
  rusage reap() {
    siginfo_t information = {};
    rusage used = {};
    while (::syscall(SYS_waitid, P_PIDFD, launched_.pidfd.get(), &information, WEXITED | __WALL,
                     &used) != 0 &&
           errno == EINTR) {
    }
    reaped_ = true;
    return used;
  }

  // What init has counted, or, if it could not, what the kernel says of init and everybody who was
  // waited for.
  Usage reap_and_count(Clock::time_point end) {
    const rusage used = reap();
    Usage exact = finished_ ? usage_of(*finished_) : usage_of(used);
    exact.wall_time = std::chrono::duration_cast<std::chrono::microseconds>(end - started_);
    if (plan_.network.mode == NetworkPolicy::Mode::Loopback && finished_)
      exact.network_bytes = finished_->network_bytes;
    if (guard_) exact.network_bytes = guard_->bytes();
    monitor_->count_written(streams_.written_to_files());
    return monitor_->stop(exact);
  }

  [[nodiscard]] Ending ending() const {
    if (because_) return *because_;
    // By the kernel, or at the last moment.
    if (const std::vector<OverLimit> over = monitor_->violations(); !over.empty())
      return over.front();
    if (!finished_) return Signaled{SIGKILL};  // init was killed, and with it everything
    Ending ended = ending_of(*finished_);
    if (const auto& most = plan_.limits.file_size_bytes; most && ended == Ending(Signaled{SIGXFSZ}))
      ended = file_size_exceeded(*most);
    return ended;
  }

  Plan plan_;
  RunOptions options_;
  EventSink& events_;
  Staging staging_;
  Launched launched_;
  std::array<Capture, 2> captures_;
  StandardStreams streams_;
  std::optional<NetworkGuard> guard_;  // before the watch, which asks it
  std::optional<Watch> watch_;
  std::unique_ptr<Monitor> monitor_;
  Clock::time_point started_;
  EventOrder order_;
  std::uint64_t key_;  // see Facts::program_key
  Proof proof_;
  std::optional<NetworkGuard::Sockets> sockets_;  // until there is a guard
  Clock::time_point sampled_ = started_;
  std::optional<Clock::time_point> stopping_;
  std::optional<Clock::time_point> killing_;
  std::optional<Ending> because_;
  std::optional<InitReport> finished_;
  bool has_processes_ = false;
  bool running_ = false;
  bool gone_ = false;
  bool reaped_ = false;
};

}  // namespace

Result<std::unique_ptr<Run>> start_run(const Plan& plan, Facts facts,
                                       const Surroundings& surroundings, const RunOptions& options,
                                       EventSink& events, Lowering lowering) {
  const Clock::time_point started = Clock::now();
  Staging staging = TRY(Staging::make(plan, facts.layering));
  TRY(identify_copies(staging, facts));
  TRY(identify_outputs(staging, facts));
  count_shown_layers(plan, facts);

  std::array<Capture, 2> captures;
  std::array<UniqueFd, 2> write_ends;
  if (options.capture_bytes)
    for (std::size_t i = 0; i < captures.size(); ++i) write_ends[i] = TRY(captures[i].open());
  StandardStreams streams = TRY(StandardStreams::make(
      streams_of(options, write_ends), options.interactive,
      plan.limits.file_size_bytes.value_or(UINT64_MAX), options.capture_bytes.has_value()));
  Channel channel = TRY(make_channel());
  streams.describe(facts);
  facts.socket = channel.theirs.get();
  facts.watched = watched_in(plan, options);
  facts.watched.sockets = events.is_listening();
  static const ControlGroups nowhere;
  const ControlGroups& groups = surroundings.groups != nullptr ? *surroundings.groups : nowhere;
  std::unique_ptr<Monitor> monitor = TRY(make_monitor(plan, options, groups, staging));
  facts.group_keeps_processes = monitor->group().processes().has_value();
  std::vector<UniqueFd> doors;  // numbered above the descriptors that the child arranges
  for (const UniqueFd& door : monitor->group().doors()) {
    doors.push_back(TRY(raise(door.get())));
    facts.group_doors.push_back(doors.back().get());
  }

  Proof proof;
  if (options.prove) proof = TRY(Proof::make(plan));
  facts.probes = proof.wanted();
  facts.probed_secret = proof.secret();
  facts.probed_input = proof.input();

  const bool guarded = plan.network.mode == NetworkPolicy::Mode::Hosts;
  Channel guard_channel;
  if (guarded) guard_channel = TRY(make_channel());
  facts.guard_socket = guard_channel.theirs.get();

  const LoweredScript script = lowering(plan, facts);
  const NetworkNamespace network = plan.network.mode == NetworkPolicy::Mode::Host
                                       ? NetworkNamespace::Callers
                                       : NetworkNamespace::Own;
  Launched launched = TRY(launch(script, surroundings.init, std::move(channel), network));
  std::optional<NetworkGuard::Sockets> sockets;
  if (guarded) sockets = receive_guard_sockets(guard_channel.ours.get());
  guard_channel = {};
  doors.clear();
  monitor->close_doors();
  monitor->start(started);
  write_ends = {};
  streams.passed_on();
  auto run =
      std::make_unique<LinuxRun>(plan, options, events, std::move(staging), std::move(launched),
                                 std::move(captures), std::move(streams), std::move(monitor),
                                 started, facts.program_key, std::move(proof), std::move(sockets));
  TRY(run->hear_first(script));
  return std::unique_ptr<Run>(std::move(run));
}

}  // namespace hermetic::linux_backend
