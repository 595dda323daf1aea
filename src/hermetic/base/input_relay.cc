#include "hermetic/base/input_relay.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "hermetic/base/output_relay.h"
#include "hermetic/base/pipe_window.h"

namespace hermetic {
namespace {

constexpr std::size_t kInputAtOnce = std::size_t{1} << 18U;
constexpr std::size_t kInputBlock = 65536;

bool is_pipe(int descriptor) {
  struct stat status = {};
  return ::fstat(descriptor, &status) == 0 && S_ISFIFO(status.st_mode);
}

}  // namespace

class InputRelay::Work {
 public:
  Work(UniqueFd source, UniqueFd writer) : source_(std::move(source)), writer_(std::move(writer)) {
    struct stat status = {};
    if (::fstat(source_.get(), &status) != 0) return;
    is_file_ = S_ISREG(status.st_mode);
    is_socket_ = S_ISSOCK(status.st_mode);
    copies_ = is_socket_;
  }
  explicit Work(std::unique_ptr<PipeWindow> window) : window_(std::move(window)) {}

  void run(RelayThread::Control& control) {
    if (window_) return window_->run(control);
    while (!control.is_ending() && step(control)) {
    }
    writer_.reset();  // the end of the input
  }

  // `left` bytes are in the pipe.
  void give_back(int left) {
    if (window_) return window_->settle();
    const auto unread = static_cast<off_t>(block_.size() - begin_) + left;
    if (is_file_ && unread > 0) (void)::lseek(source_.get(), -unread, SEEK_CUR);
  }

  [[nodiscard]] int os_error() const { return window_ ? window_->os_error() : os_error_; }

 private:
  bool step(RelayThread::Control& control) {
    const ssize_t moved = move();
    if (moved > 0) return true;
    if (moved == 0) return false;
    if (errno == EINTR) return true;
    if (errno == EINVAL && !copies_) return copies_ = true;
    if (errno == EAGAIN) return wait(control);
    // As a closed connection, and a listener that nothing comes from.
    if (errno != EPIPE && errno != ECONNRESET && errno != ENOTCONN) os_error_ = errno;
    return false;
  }

  bool wait(RelayThread::Control& control) {
    pollfd room{.fd = writer_.get(), .events = POLLOUT, .revents = 0};
    if (::poll(&room, 1, 0) != 1) return control.wait(writer_.get(), POLLOUT);
    return control.wait(source_.get(), POLLIN);
  }

  ssize_t move() {
    if (begin_ < block_.size()) {
      const ssize_t size = ::write(writer_.get(), block_.data() + begin_, block_.size() - begin_);
      if (size > 0) begin_ += static_cast<std::size_t>(size);
      return size;
    }
    if (!copies_)
      return ::splice(source_.get(), nullptr, writer_.get(), nullptr, kInputAtOnce,
                      SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    return fill_block();
  }

  ssize_t fill_block() {
    pollfd ready{.fd = source_.get(), .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, 0) == 0) {
      errno = EAGAIN;
      return -1;
    }
    block_.resize(kInputBlock);
    begin_ = 0;
    const ssize_t size = is_socket_
                             ? ::recv(source_.get(), block_.data(), kInputBlock, MSG_DONTWAIT)
                             : ::read(source_.get(), block_.data(), kInputBlock);
    block_.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
    return size;
  }

  std::unique_ptr<PipeWindow> window_;  // of a pipe, instead of all that follows
  UniqueFd source_;
  UniqueFd writer_;
  bool is_file_ = false;
  bool is_socket_ = false;
  bool copies_ = false;  // through block_
  std::vector<char> block_;
  std::size_t begin_ = 0;  // of what is left in block_
  int os_error_ = 0;
};

InputRelay::InputRelay() = default;
InputRelay::~InputRelay() = default;

Result<std::unique_ptr<InputRelay>> InputRelay::make(int source) {
  std::array<int, 2> ends = {-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("cannot make a pipe", errno);
  std::unique_ptr<InputRelay> relay(new InputRelay);
  relay->reader_ = UniqueFd(ends[0]);
  UniqueFd writer(ends[1]);
  if (::fcntl(writer.get(), F_SETFL, O_NONBLOCK) != 0)
    return system_error("cannot prepare a pipe", errno);
  if (is_pipe(source)) {
    relay->work_ = std::make_shared<Work>(
        TRY(PipeWindow::make(source, relay->reader_.get(), std::move(writer))));
    return relay;
  }
  enlarge_pipe(writer.get());
  UniqueFd copy(::fcntl(source, F_DUPFD_CLOEXEC, 3));
  if (!copy.is_open()) return system_error("cannot copy a descriptor", errno);
  relay->work_ = std::make_shared<Work>(std::move(copy), std::move(writer));
  return relay;
}

Result<void> InputRelay::start() {
  return thread_.start([work = work_](RelayThread::Control& control) { work->run(control); });
}

int InputRelay::finish() {
  thread_.hurry();  // what is held now is held by a file system that does not answer
  if (!thread_.finish(std::nullopt)) return EIO;
  int left = 0;
  if (::ioctl(reader_.get(), FIONREAD, &left) == 0) work_->give_back(left);
  reader_.reset();
  return work_->os_error();
}

}  // namespace hermetic
