#include "hermetic/backends/linux/linux_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "hermetic/backends/linux/facts.h"
#include "hermetic/backends/linux/file_observer.h"
#include "hermetic/backends/linux/init_protocol.h"
#include "hermetic/backends/linux/init_report.h"
#include "hermetic/backends/linux/launch.h"
#include "hermetic/backends/linux/terminal_relay.h"
#include "hermetic/outputs/inspect.h"
#include "hermetic/outputs/publish.h"
#include "hermetic/outputs/staging.h"

namespace hermetic::linux_backend {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kGrace{2000};  // between SIGTERM and SIGKILL

// What is read from a captured stream.
struct Capture {
  UniqueFd pipe;
  Captured kept;

  // Reads what is there and closes the pipe at its end. Returns false if nothing was read.
  bool drain(std::size_t cap) {
    std::array<char, 65536> block;
    const ssize_t size = ::read(pipe.get(), block.data(), block.size());
    if (size < 0 && (errno == EINTR || errno == EAGAIN)) return false;
    if (size <= 0) {
      pipe.reset();
      return false;
    }
    const std::size_t room = cap - std::min(cap, kept.text.size());
    const std::size_t taken = std::min(room, static_cast<std::size_t>(size));
    kept.text.append(block.data(), taken);
    kept.truncated = kept.truncated || taken < static_cast<std::size_t>(size);
    return true;
  }

  // Everybody inside is gone: what is in the pipe is all. Somebody outside who was handed its other
  // end (SCM_RIGHTS) does not hold us up.
  void drain_rest(std::size_t cap) {
    if (!pipe.is_open()) return;
    (void)::fcntl(pipe.get(), F_SETFL, O_NONBLOCK);
    while (drain(cap)) {
    }
    pipe.reset();
  }
};

class LinuxRun final : public Run {
 public:
  LinuxRun(Plan plan, RunOptions options, EventSink& events, Staging staging, Launched launched,
           std::array<Capture, 2> captures, Clock::time_point started)
      : plan_(std::move(plan)),
        options_(std::move(options)),
        events_(events),
        staging_(std::move(staging)),
        launched_(std::move(launched)),
        captures_(std::move(captures)),
        started_(started) {}

  LinuxRun(const LinuxRun&) = delete;
  LinuxRun& operator=(const LinuxRun&) = delete;
  ~LinuxRun() override {
    if (reaped_) return;
    LinuxRun::kill();
    reap();
  }

  // Waits for the first word from init or from the child that should have become it.
  Result<void> hear_first(const LoweredScript& script) {
    while (!running_ && !finished_ && !gone_) TRY(poll_once());
    if (gone_) {
      reap();
      return system_error("init ended without a word", ECONNRESET, "something outside killed it");
    }
    if (finished_ && finished_->kind == InitReport::Kind::StepFailed) {
      reap();
      return step_failed(script, *finished_);
    }
    if (running_) tell(Event::Kind::Started, "");
    return {};
  }

  Result<Outcome> wait() override {
    while (!finished_ && !gone_) TRY(poll_once());
    reap();
    if (relay_) relay_->drain();
    for (Capture& capture : captures_) capture.drain_rest(options_.capture_bytes.value_or(0));
    Outcome outcome;
    outcome.ending = ending();
    outcome.usage = usage();
    if (observer_) outcome.asked = observer_->asked();
    outcome.standard_output = std::move(captures_[0].kept);
    outcome.standard_error = std::move(captures_[1].kept);
    tell(Event::Kind::Ended, "");
    if (outcome.success()) {
      const Digests digests = options_.digest_outputs ? Digests::Make : Digests::Skip;
      for (const StagedOutput& staged : staging_.outputs())
        outcome.outputs.push_back(TRY(inspect_output(staged, digests)));
      TRY(publish(staging_));
    } else if (!options_.keep_failed.empty()) {
      TRY(keep_outputs(staging_, options_.keep_failed));
    }
    return outcome;
  }

  bool signal(int number) override { return send_signal(number, 0); }

  void kill() override {
    (void)::syscall(SYS_pidfd_send_signal, launched_.pidfd.get(), SIGKILL, nullptr, 0);
  }

 private:
  [[nodiscard]] bool send_signal(int number, std::uint32_t to_all) const {
    const InitSignal message{.number = number, .to_all = to_all};
    return ::send(launched_.socket.get(), &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT) >=
           0;
  }

  void tell(Event::Kind kind, std::string detail) {
    events_.on_event(
        {.kind = kind, .since_start = Clock::now() - started_, .detail = std::move(detail)});
  }

  // Fails if init cannot be heard: it may be alive, and nobody would learn of its end.
  Result<void> on_report() {
    InitReport report;
    iovec data = {.iov_base = &report, .iov_len = sizeof report};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control = {};
    msghdr message = {};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t size = ::recvmsg(launched_.socket.get(), &message,
                                   MSG_CMSG_CLOEXEC | MSG_TRUNC);  // the size that was sent
    // A child that fails leaves its instructions unread, which the kernel reports before the
    // child's own report.
    if (size < 0 && (errno == EINTR || errno == ECONNRESET)) return {};
    if (size < 0) return system_error("cannot hear from init", errno);
    if (size == 0) {
      gone_ = true;  // init was killed: it ends with a report otherwise
      return {};
    }
    UniqueFd passed;
    if (const cmsghdr* header = CMSG_FIRSTHDR(&message);
        header != nullptr && header->cmsg_type == SCM_RIGHTS) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
      passed = UniqueFd(descriptor);
    }
    if (!is_whole_report(report, static_cast<std::size_t>(size), passed.is_open()) ||
        !is_expected(report.kind)) {
      // Not the init that we started: whatever it is, it goes, and nothing is published.
      kill();
      gone_ = true;
      return {};
    }
    switch (report.kind) {
      case InitReport::Kind::Terminal:
        relay_.emplace(std::move(passed), options_.standard_input, options_.standard_output);
        break;
      case InitReport::Kind::Observer: observer_.emplace(std::move(passed)); break;
      case InitReport::Kind::Started: running_ = true; break;
      case InitReport::Kind::StepFailed:
      case InitReport::Kind::NotStarted:
      case InitReport::Kind::Ended: finished_ = report; break;
    }
    return {};
  }

  // A terminal or a listener that nobody asked for is not taken: it would be given what the caller
  // types.
  [[nodiscard]] bool is_expected(InitReport::Kind kind) const {
    switch (kind) {
      case InitReport::Kind::Terminal: return options_.interactive && !relay_;
      case InitReport::Kind::Observer: return options_.observe_files && !observer_;
      case InitReport::Kind::Started: return !running_;
      case InitReport::Kind::StepFailed:
      case InitReport::Kind::NotStarted: return !running_;
      case InitReport::Kind::Ended: return running_;
    }
    return false;
  }

  [[nodiscard]] int timeout() const {
    if (!deadline()) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline() - Clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 3'600'000));
  }

  [[nodiscard]] std::optional<Clock::time_point> deadline() const {
    if (stopping_) return *stopping_ + kGrace;
    if (plan_.limits.wall_time) return started_ + *plan_.limits.wall_time;
    return std::nullopt;
  }

  Result<void> poll_once() {
    std::vector<pollfd> watched = {
        {.fd = launched_.socket.get(), .events = POLLIN, .revents = 0},
        {.fd = captures_[0].pipe.get(), .events = POLLIN, .revents = 0},
        {.fd = captures_[1].pipe.get(), .events = POLLIN, .revents = 0},
        {.fd = observer_ ? observer_->descriptor() : -1, .events = POLLIN, .revents = 0}};
    if (relay_) relay_->watch(watched);
    const int ready = ::poll(watched.data(), watched.size(), timeout());
    if (ready < 0 && errno != EINTR) return system_error("cannot wait for the run", errno);
    if (ready < 0 && relay_) relay_->copy_size();  // perhaps SIGWINCH
    on_deadline();  // whatever is ready: a command that never stops writing has a limit, too
    if (ready <= 0) return {};
    for (std::size_t i = 0; i < captures_.size(); ++i)
      if (watched[i + 1].revents != 0) captures_[i].drain(options_.capture_bytes.value_or(0));
    if ((watched[3].revents & POLLIN) != 0) observer_->serve();
    // Nobody is left who could ask.
    if ((watched[3].revents & (POLLHUP | POLLERR)) != 0) observer_->close();
    if (relay_) relay_->serve(std::span(watched).subspan(4));
    if (watched[0].revents != 0) TRY(on_report());
    return {};
  }

  void on_deadline() {
    if (stopping_ && Clock::now() >= *stopping_ + kGrace) {
      kill();
    } else if (!stopping_ && deadline() && Clock::now() >= *deadline()) {
      stopping_ = Clock::now();
      tell(Event::Kind::Stopping, "wall_time");
      (void)send_signal(SIGTERM, 1);
    }
  }

  void reap() {
    siginfo_t information = {};
    while (::waitid(P_PIDFD, static_cast<id_t>(launched_.pidfd.get()), &information,
                    WEXITED | __WALL) != 0 &&
           errno == EINTR) {
    }
    reaped_ = true;
  }

  [[nodiscard]] Ending ending() const {
    if (stopping_) return TimedOut{*plan_.limits.wall_time};
    if (!finished_) return Signaled{SIGKILL};  // init was killed, and with it everything
    return ending_of(*finished_);
  }

  [[nodiscard]] Usage usage() const {
    Usage used;
    if (finished_) used = usage_of(*finished_);
    used.wall_time = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - started_);
    return used;
  }

  Plan plan_;
  RunOptions options_;
  EventSink& events_;
  Staging staging_;
  Launched launched_;
  std::array<Capture, 2> captures_;
  std::optional<TerminalRelay> relay_;
  std::optional<FileObserver> observer_;
  Clock::time_point started_;
  std::optional<Clock::time_point> stopping_;
  std::optional<InitReport> finished_;
  bool running_ = false;
  bool gone_ = false;
  bool reaped_ = false;
};

Result<UniqueFd> make_pipe(Capture& capture) {
  std::array<int, 2> ends = {-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("cannot make a pipe", errno);
  capture.pipe = UniqueFd(ends[0]);
  const UniqueFd low(ends[1]);
  return raise(low.get());
}

}  // namespace

Result<std::unique_ptr<Run>> start_run(const Plan& plan, Facts facts, int init,
                                       const RunOptions& options, EventSink& events,
                                       Lowering lowering) {
  const Clock::time_point started = Clock::now();
  Staging staging = TRY(Staging::make(plan));
  for (const StagedOutput& staged : staging.outputs()) {
    const UniqueFd tree(::openat(staged.descriptor.get(), "tree", O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!tree.is_open()) return system_error("cannot open the prepared output", errno);
    facts.staging[staged.publication.path] = TRY(identify_object(staged.tree(), tree.get()));
  }

  std::array<Capture, 2> captures;
  std::array<UniqueFd, 2> write_ends;
  std::array<int, 3> wanted = {options.standard_input, options.standard_output,
                               options.standard_error};
  if (options.capture_bytes) {
    for (std::size_t i = 0; i < captures.size(); ++i) {
      write_ends[i] = TRY(make_pipe(captures[i]));
      wanted[i + 1] = write_ends[i].get();
    }
  }
  StandardDescriptors standard = TRY(arrange_descriptors(wanted));
  Channel channel = TRY(make_channel());
  facts.standard = standard.numbers;
  facts.socket = channel.theirs.get();
  facts.own_terminal = options.interactive;
  facts.observe_files = options.observe_files;

  const LoweredScript script = lowering(plan, facts);
  const NetworkNamespace network = plan.network.mode == NetworkPolicy::Mode::Host
                                       ? NetworkNamespace::Callers
                                       : NetworkNamespace::Own;
  Launched launched = TRY(launch(script, init, std::move(channel), network));
  write_ends = {};
  standard = {};
  auto run = std::make_unique<LinuxRun>(plan, options, events, std::move(staging),
                                        std::move(launched), std::move(captures), started);
  TRY(run->hear_first(script));
  return std::unique_ptr<Run>(std::move(run));
}

}  // namespace hermetic::linux_backend
