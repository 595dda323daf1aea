#include "hermetic/base/output_relay.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hermetic/base/nonblocking_terminal.h"

namespace hermetic {
namespace {

constexpr int kLargestPipe = 1 << 18;
constexpr std::size_t kOutputBlock = std::size_t{1} << 18U;
// Less than that is copied into a pipe: each piece that is moved there takes a place of its own,
// and a pipe has sixteen. A caller that reads when all is over expects room for many lines.
constexpr int kWorthMoving = 16384;

bool is_pipe_empty(int pipe) {
  int waiting = 0;
  return ::ioctl(pipe, FIONREAD, &waiting) == 0 && waiting == 0;
}

// Of such a pipe the last reader was the last.
bool is_without_name(int pipe) {
  constexpr long kPipeFileSystem = 0x50495045;
  struct statfs status = {};
  return ::fstatfs(pipe, &status) == 0 && status.f_type == kPipeFileSystem;
}

}  // namespace

void enlarge_pipe(int pipe) { (void)::fcntl(pipe, F_SETPIPE_SZ, kLargestPipe); }

class OutputRelay::Work {
 public:
  Work(UniqueFd reader, UniqueFd destination, Options options)
      : reader_(std::move(reader)),
        destination_(std::move(destination)),
        kind_(kind_of(destination_.get())),
        options_(options) {
    if (kind_ == Kind::Terminal) terminal_ = NonblockingTerminal(destination_.get());
    // The flag of the caller's open file is not ours to set.
    if (kind_ == Kind::Pipe)
      pipe_anew_ = UniqueFd(::open(("/proc/self/fd/" + std::to_string(destination_.get())).c_str(),
                                   O_WRONLY | O_NONBLOCK | O_CLOEXEC));
    if (kind_ == Kind::Pipe && is_without_name(destination_.get())) gone_with_ = destination_.get();
    copies_ = kind_ == Kind::Socket || kind_ == Kind::Terminal || !is_splicable();
  }

  void run(RelayThread::Control& control) {
    while (step(control)) {
    }
    // As without a relay: who writes on gets SIGPIPE.
    reader_.reset();
    destination_.reset();
    pipe_anew_.reset();
    terminal_ = {};
  }

  Carried carried;
  std::atomic<std::uint64_t> to_file = 0;

 private:
  enum class Kind : std::uint8_t { File, Pipe, Socket, Terminal };

  static Kind kind_of(int descriptor) {
    struct stat status = {};
    if (::fstat(descriptor, &status) != 0) return Kind::File;
    if (S_ISFIFO(status.st_mode)) return Kind::Pipe;
    if (S_ISSOCK(status.st_mode)) return Kind::Socket;
    return ::isatty(descriptor) == 1 ? Kind::Terminal : Kind::File;
  }

  // Of a file that is appended to, splice() says that it cannot.
  [[nodiscard]] bool is_splicable() const {
    return kind_ != Kind::File || (::fcntl(destination_.get(), F_GETFL) & O_APPEND) == 0;
  }

  bool step(RelayThread::Control& control) {
    // Asked before: what the command wrote last may come after a pipe was found empty.
    const bool ending = control.is_ending();
    const ssize_t moved = move();
    if (moved > 0) {
      control.note_progress();
      return true;
    }
    if (moved == 0) return false;
    if (errno == EINTR) return true;
    if (errno == EINVAL && !copies_) return copies_ = true;
    if (errno != EAGAIN) {
      const bool gone = errno == EPIPE || errno == ECONNRESET || kind_ == Kind::Terminal;
      carried.os_error = gone ? 0 : errno;
      return false;
    }
    if (begin_ < block_.size() || !is_pipe_empty(reader_.get())) {
      const int where = kind_ == Kind::Terminal ? terminal_.get() : destination_.get();
      return control.wait(where, POLLOUT) || (carried.whole = false);
    }
    if (ending) return false;  // what else has the pipe is outside
    return wait_for_more(control);
  }

  // Until there is something, or nobody any more who would read it: a command that looks for that
  // ends then, without writing.
  bool wait_for_more(RelayThread::Control& control) {
    std::array<pollfd, 2> watched = {{{.fd = reader_.get(), .events = POLLIN, .revents = 0},
                                      {.fd = gone_with_, .events = 0, .revents = 0}}};
    if (!control.wait(watched)) return leave();
    return (watched[1].revents & POLLERR) == 0;
  }

  bool leave() {
    carried.whole = is_pipe_empty(reader_.get());
    return false;
  }

  ssize_t move() {
    if (begin_ < block_.size()) return write_block();
    const std::size_t room = room_in_file();
    if (room == 0) return is_pipe_empty(reader_.get()) ? wait_or_end() : fail(EFBIG);
    // What is kept is what went on. It is not so with tee(2): the pages may be the command's own
    // memory, by vmsplice(2), which it changes afterwards.
    if (!copies_ && carried.kept.size() >= options_.keep && !is_little()) {
      const ssize_t moved =
          ::splice(reader_.get(), nullptr, destination_.get(), nullptr,
                   std::min<std::size_t>(room, kLargestPipe), SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
      if (moved > 0 && options_.keep > 0) carried.dropped += static_cast<std::uint64_t>(moved);
      count(moved);
      moves_much_ = moved >= kWorthMoving;
      return moved;
    }
    const ssize_t size = fill_block(std::min(room, kOutputBlock));
    if (size > 0) keep(block_.data(), block_.size());
    return size;
  }

  [[nodiscard]] bool is_little() const {
    int waiting = 0;
    return pipe_anew_.is_open() && !moves_much_ &&
           ::ioctl(reader_.get(), FIONREAD, &waiting) == 0 && waiting < kWorthMoving;
  }

  void count(ssize_t written) {
    if (written > 0 && kind_ == Kind::File) to_file += static_cast<std::uint64_t>(written);
  }

  static ssize_t fail(int error) {
    errno = error;
    return -1;
  }

  // Of an empty pipe: 0 if nobody can write to it any more.
  ssize_t wait_or_end() const {
    char none = 0;
    return ::read(reader_.get(), &none, 1);
  }

  [[nodiscard]] std::size_t room_in_file() const {
    if (kind_ != Kind::File || options_.largest_file == UINT64_MAX) return kLargestPipe;
    struct stat status = {};
    if (::fstat(destination_.get(), &status) != 0 || !S_ISREG(status.st_mode)) return kLargestPipe;
    const bool appends = (::fcntl(destination_.get(), F_GETFL) & O_APPEND) != 0;
    const off_t place = appends ? status.st_size : ::lseek(destination_.get(), 0, SEEK_CUR);
    const auto written = static_cast<std::uint64_t>(std::max<off_t>(place, 0));
    const std::uint64_t room = options_.largest_file - std::min(options_.largest_file, written);
    return static_cast<std::size_t>(std::min<std::uint64_t>(room, kLargestPipe));
  }

  ssize_t fill_block(std::size_t most) {
    block_.resize(most);
    begin_ = 0;
    const ssize_t size = ::read(reader_.get(), block_.data(), most);
    block_.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    return size;
  }

  ssize_t write_block() {
    const char* text = block_.data() + begin_;
    const std::size_t size = block_.size() - begin_;
    ssize_t written = 0;
    switch (kind_) {
      case Kind::File:
        written = ::write(destination_.get(), text, size);
        count(written);
        break;
      case Kind::Pipe: written = write_to_pipe(text, size); break;
      case Kind::Socket:
        written = ::send(destination_.get(), text, size, MSG_DONTWAIT | MSG_NOSIGNAL);
        break;
      case Kind::Terminal: written = terminal_.write(text, size); break;
    }
    if (written == 0) return fail(EIO);
    if (written > 0) begin_ += static_cast<std::size_t>(written);
    return written;
  }

  // Never waits: there is room for so much where there is any.
  [[nodiscard]] ssize_t write_to_pipe(const char* text, std::size_t size) const {
    if (pipe_anew_.is_open()) return ::write(pipe_anew_.get(), text, size);
    pollfd room{.fd = destination_.get(), .events = POLLOUT, .revents = 0};
    if (::poll(&room, 1, 0) != 1) return fail(EAGAIN);
    return ::write(destination_.get(), text, std::min<std::size_t>(size, PIPE_BUF));
  }

  void keep(const char* text, std::size_t size) {
    if (options_.keep == 0) return;
    const std::size_t taken = std::min(size, options_.keep - carried.kept.size());
    carried.kept.append(text, taken);
    carried.dropped += size - taken;
  }

  UniqueFd reader_;
  UniqueFd destination_;
  NonblockingTerminal terminal_;
  UniqueFd pipe_anew_;
  int gone_with_ = -1;  // a pipe whose readers do not come back
  Kind kind_;
  Options options_;
  bool copies_ = false;  // through block_
  bool moves_much_ = false;
  std::vector<char> block_;
  std::size_t begin_ = 0;  // of what is left in block_
};

OutputRelay::OutputRelay() = default;
OutputRelay::~OutputRelay() = default;

Result<std::unique_ptr<OutputRelay>> OutputRelay::make(int destination, Options options) {
  std::array<int, 2> ends = {-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return system_error("cannot make a pipe", errno);
  UniqueFd reader(ends[0]);
  std::unique_ptr<OutputRelay> relay(new OutputRelay);
  relay->writer_ = UniqueFd(ends[1]);
  if (::fcntl(reader.get(), F_SETFL, O_NONBLOCK) != 0)
    return system_error("cannot prepare a pipe", errno);
  enlarge_pipe(reader.get());
  UniqueFd copy(::fcntl(destination, F_DUPFD_CLOEXEC, 3));
  if (!copy.is_open()) return system_error("cannot copy a descriptor", errno);
  relay->work_ = std::make_shared<Work>(std::move(reader), std::move(copy), options);
  return relay;
}

Result<void> OutputRelay::start() {
  return thread_.start([work = work_](RelayThread::Control& control) { work->run(control); });
}

std::uint64_t OutputRelay::written_to_file() const { return work_->to_file; }

OutputRelay::Carried OutputRelay::finish(std::optional<RelayThread::Clock::time_point> until) {
  writer_.reset();
  if (!thread_.finish(until)) return {.whole = false, .os_error = 0, .kept = {}, .dropped = 0};
  return std::move(work_->carried);
}

}  // namespace hermetic
