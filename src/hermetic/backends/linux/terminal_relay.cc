#include "hermetic/backends/linux/terminal_relay.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <string>
#include <utility>

#include "hermetic/backends/linux/mirrored_modes.h"
#include "hermetic/base/nonblocking_terminal.h"

namespace hermetic::linux_backend {
namespace {

constexpr std::size_t kMostTyped = 4096;
// How long the size of the caller's window may differ from that of the command's terminal, and how
// long it takes to notice that the caller's terminal is ours again.
constexpr int kLookAtTerminal = 200;
// How long it takes to notice that the command has read a line: at first, and twice as long each
// time.
constexpr int kFirstLookForReader = 5;
// A line that is typed so soon after a signal may be for what comes after the command.
constexpr std::chrono::milliseconds kAfterSignal{1000};

UniqueFd copy_of(int descriptor) {
  return descriptor < 0 ? UniqueFd() : UniqueFd(::fcntl(descriptor, F_DUPFD_CLOEXEC, 3));
}

}  // namespace

class TerminalRelay::Work {
 public:
  explicit Work(const Caller& caller)
      : input_copy_(copy_of(caller.input)),
        output_copy_(copy_of(caller.output)),
        input_(input_copy_.get()),
        output_(output_copy_.get()),
        mirrored_(caller.mirrored),
        modes_(caller.mirrored ? terminal() : -1, caller.shared) {}

  // Which of the two knows the size and the modes.
  [[nodiscard]] int terminal() const {
    return input_copy_.is_open() ? input_copy_.get() : output_copy_.get();
  }

  [[nodiscard]] OwnTerminal first(unsigned places) const {
    return {.places = places, .modes = modes_.first(), .size = window_of(terminal())};
  }

  void take(UniqueFd controller) {
    controller_ = std::move(controller);
    // A command that does not read must not keep us from showing what it writes.
    (void)::fcntl(controller_.get(), F_SETFL, ::fcntl(controller_.get(), F_GETFL) | O_NONBLOCK);
    const int packets = 1;
    (void)::ioctl(controller_.get(), TIOCPKT, &packets);
    // Kept open: what waits in it can be counted, and it does not hang up between two programs.
    inside_ = UniqueFd(::ioctl(controller_.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  }
  [[nodiscard]] bool has_taken() const { return controller_.is_open(); }

  void note_signal() { signalled_ = RelayThread::Clock::now(); }

  void run(RelayThread::Control& control) {
    modes_.follow(controller_.get());  // what the command did before we were told of it
    while (step(control)) {
    }
    modes_.restore();
    controller_.reset();
    inside_.reset();
  }

 private:
  bool step(RelayThread::Control& control) {
    const bool reads = wants_input() && modes_.is_ours();
    std::array<pollfd, 3> watched = {
        {{.fd = controller_.get(),
          .events = static_cast<short>((shown_.empty() ? POLLIN | POLLPRI : 0) |
                                       (typed_.empty() ? 0 : POLLOUT)),
          .revents = 0},
         {.fd = reads ? input_.get() : -1, .events = POLLIN, .revents = 0},
         {.fd = shown_.empty() ? -1 : output_.get(), .events = POLLOUT, .revents = 0}}};
    const bool done = control.is_ending() && shown_.empty();
    if (!control.wait(watched, done ? 0 : next_look())) return false;
    set_size();
    modes_.try_again();
    if (!typed_.empty() && (watched[0].revents & POLLOUT) != 0) write_typed();
    if (watched[1].revents != 0 && modes_.is_ours())
      read_input((watched[1].revents & POLLHUP) != 0);
    show();
    bool more = false;
    if (shown_.empty()) more = read_controller(control);
    if (!shown_.empty() && show()) control.note_progress();
    return more || !shown_.empty() || !control.is_ending();
  }

  int next_look() {
    if (!waits_for_reader_) return kLookAtTerminal;
    look_ = std::min(look_ * 2, kLookAtTerminal);
    return look_;
  }

  // A line at a time, so that the command reads lines, that an end of input stands alone, and that
  // what it does not want stays for the caller's next command.
  bool wants_input() {
    if (input_.get() < 0 || input_ended_ || typed_.size() >= kMostTyped) return false;
    waits_for_reader_ = false;
    if (!mirrored_ || !takes_lines()) return true;
    pollfd waiting{.fd = inside_.get(), .events = POLLIN, .revents = 0};
    waits_for_reader_ = !typed_.empty() || ::poll(&waiting, 1, 0) == 1 ||
                        RelayThread::Clock::now() < signalled_.load() + kAfterSignal;
    if (!waits_for_reader_) look_ = kFirstLookForReader;
    return !waits_for_reader_;
  }

  [[nodiscard]] bool takes_lines() const {
    const std::optional<TerminalModes> inside = modes_of(controller_.get());
    return inside && (inside->local & ICANON) != 0;
  }

  void read_input(bool hung_up) {
    std::array<char, kMostTyped> block;
    const ssize_t size = input_.read(block.data(), block.size());
    if (size < 0) {
      if (hung_up && errno != EAGAIN && errno != EINTR) input_ended_ = true;
      return;
    }
    if (size == 0) {
      // What a terminal says instead of an end of file.
      const std::optional<TerminalModes> inside = modes_of(controller_.get());
      typed_ += inside ? static_cast<char>(inside->keys[VEOF]) : '\4';
      if (hung_up || !mirrored_) input_ended_ = true;
    }
    typed_.append(block.data(), static_cast<std::size_t>(size));
    write_typed();
  }

  void write_typed() {
    const ssize_t written = ::write(controller_.get(), typed_.data(), typed_.size());
    if (written > 0) typed_.erase(0, static_cast<std::size_t>(written));
  }

  // False: there is nothing (more). The first byte says what the rest is.
  bool read_controller(RelayThread::Control& control) {
    std::array<char, 65536> block;
    const ssize_t size = ::read(controller_.get(), block.data(), block.size());
    if (size <= 0) return false;
    if (block[0] != TIOCPKT_DATA) {
      follow(static_cast<unsigned char>(block[0]), control);
      return true;
    }
    if (output_.get() >= 0 && !is_gone_)
      shown_.append(block.data() + 1, static_cast<std::size_t>(size) - 1);
    return true;
  }

  void follow(unsigned what, const RelayThread::Control& control) {
    if (!mirrored_) return;
    if ((what & TIOCPKT_IOCTL) != 0) modes_.follow(controller_.get());
    // What was typed before a password is asked for is not a part of it.
    if ((what & TIOCPKT_FLUSHREAD) != 0 && !control.is_ending() && modes_.is_ours()) {
      typed_.clear();
      if (input_.get() >= 0) (void)::ioctl(input_.get(), TCFLSH, TCIFLUSH);
    }
  }

  bool show() {
    if (shown_.empty()) return false;
    const ssize_t written = output_.write(shown_.data(), shown_.size());
    if (written < 0 && errno != EAGAIN && errno != EINTR) {  // nobody looks any more
      is_gone_ = true;
      shown_.clear();
    }
    if (written > 0) shown_.erase(0, static_cast<std::size_t>(written));
    return written > 0;
  }

  void set_size() {
    const WindowSize wanted = window_of(terminal());
    const WindowSize now = window_of(controller_.get());
    if (wanted.rows != 0 && (wanted.rows != now.rows || wanted.columns != now.columns))
      set_window(controller_.get(), wanted);
  }

  UniqueFd input_copy_;
  UniqueFd output_copy_;
  NonblockingTerminal input_;
  NonblockingTerminal output_;
  bool mirrored_;
  MirroredModes modes_;
  UniqueFd controller_;
  UniqueFd inside_;
  std::string typed_;  // and not yet taken
  std::string shown_;  // and not yet taken
  bool input_ended_ = false;
  bool is_gone_ = false;
  bool waits_for_reader_ = false;
  int look_ = kFirstLookForReader;
  std::atomic<RelayThread::Clock::time_point> signalled_ =
      RelayThread::Clock::time_point() - kAfterSignal;
};

TerminalRelay::TerminalRelay(const Caller& caller) : work_(std::make_shared<Work>(caller)) {}
TerminalRelay::~TerminalRelay() = default;

OwnTerminal TerminalRelay::first(unsigned places) const { return work_->first(places); }
void TerminalRelay::take(UniqueFd controller) { work_->take(std::move(controller)); }
bool TerminalRelay::has_taken() const { return work_->has_taken(); }

void TerminalRelay::note_signal() { work_->note_signal(); }

Result<void> TerminalRelay::start() {
  return thread_.start([work = work_](RelayThread::Control& control) { work->run(control); });
}

}  // namespace hermetic::linux_backend
