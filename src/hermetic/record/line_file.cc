#include "hermetic/record/line_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "hermetic/base/file_text.h"
#include "hermetic/base/text.h"
#include "hermetic/places/own_file.h"

namespace hermetic {
LineFile::LineFile(UniqueFd file, const Options& options)
    : file_(std::move(file)), options_(options) {
  struct stat status = {};
  regular_ = ::fstat(file_.get(), &status) == 0 && S_ISREG(status.st_mode);
}

Result<LineFile> LineFile::make(const OwnPlace& place, std::string_view what,
                                const Options& options) {
  Result<UniqueFd> file = open_own_file(place, options.mode);
  if (file) return LineFile(std::move(*file), options);
  return system_error(fmt::format("cannot write {} to '{}'", what, printable(place.path())),
                      file.error().os_error, file.error().hint);
}

bool LineFile::append(std::string_view line) {
  const auto fits = [&] {
    return waiting_.empty() || waiting_.size() + line.size() <= options_.most_waiting;
  };
  if (!fits()) flush();
  if (!fits()) return false;
  waiting_ += line;
  ++appended_lines_;
  return true;
}

// A pipe that says so takes PIPE_BUF bytes at once.
bool LineFile::is_ready() {
  if (regular_) return true;
  pollfd ready = {.fd = file_.get(), .events = POLLOUT, .revents = 0};
  const int patience = patient_ ? static_cast<int>(options_.patience.count()) : 0;
  // A signal may cut the waiting short: the lines wait on.
  if (::poll(&ready, 1, patience) > 0) return true;
  patient_ = false;
  os_error_ = EAGAIN;
  return false;
}

bool LineFile::flush() {
  std::size_t done = 0;
  while (done < waiting_.size() && is_ready()) {
    const std::size_t left = waiting_.size() - done;
    const std::size_t size = regular_ ? left : std::min<std::size_t>(left, PIPE_BUF);
    const ssize_t written =
        write_without_signal(file_.get(), std::string_view(waiting_).substr(done, size));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      os_error_ = written < 0 ? errno : ENOSPC;
      break;
    }
    patient_ = true;
    const auto part = std::string_view(waiting_).substr(done, static_cast<std::size_t>(written));
    const std::size_t newline = part.rfind('\n');
    half_line_ =
        newline == std::string_view::npos ? half_line_ + part.size() : part.size() - newline - 1;
    written_lines_ += static_cast<std::uint64_t>(std::count(part.begin(), part.end(), '\n'));
    done += part.size();
  }
  waiting_.erase(0, done);
  return waiting_.empty();
}

void LineFile::remove_half_line() {
  if (!regular_ || half_line_ == 0) return;
  const off_t end = ::lseek(file_.get(), 0, SEEK_CUR);
  if (end >= static_cast<off_t>(half_line_) &&
      ::ftruncate(file_.get(), end - static_cast<off_t>(half_line_)) == 0)
    half_line_ = 0;
}

std::uint64_t LineFile::finish() {
  flush();
  remove_half_line();
  waiting_.clear();
  file_.reset();
  return appended_lines_ - written_lines_;
}

}  // namespace hermetic
