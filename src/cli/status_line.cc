#include "cli/status_line.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "cli/usage_report.h"
#include "hermetic/base/nonblocking_terminal.h"
#include "hermetic/base/quiet_thread.h"

namespace hermetic::cli {
namespace {

struct Size {
  int rows = 0;
  int columns = 0;
};

Size size_of_terminal() {
  winsize size = {};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0) return {};
  return {size.ws_row, size.ws_col};
}

// A terminal that cannot be written to has nobody in front of it, and one that is stopped is not
// waited for.
void write_text(std::string_view text) {
  static const NonblockingTerminal terminal(STDERR_FILENO);
  [[maybe_unused]] const ssize_t written = terminal.write(text.data(), text.size());
}

// ESC 7 and ESC 8 save and restore the cursor; ESC [ a ; b r lets only these rows scroll.
void draw(const Size& size, const std::string& text) {
  write_text(fmt::format(
      "\n\x1b[A\x1b"
      "7\x1b[1;{}r\x1b[{};1H\x1b[2K\x1b[2m{}\x1b[0m\x1b"
      "8",
      size.rows - 1, size.rows, text.substr(0, static_cast<std::size_t>(size.columns))));
}

void redraw(const Size& size, const std::string& text) {
  write_text(
      fmt::format("\x1b"
                  "7\x1b[{};1H\x1b[2K\x1b[2m{}\x1b[0m\x1b"
                  "8",
                  size.rows, text.substr(0, static_cast<std::size_t>(size.columns))));
}

void erase(const Size& size) {
  write_text(
      fmt::format("\x1b"
                  "7\x1b[r\x1b[{};1H\x1b[2K\x1b"
                  "8",
                  size.rows));
}

bool is_usable() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb" &&
         size_of_terminal().rows > 2;
}

}  // namespace

StatusLine::StatusLine(Show show, std::string what, std::function<Usage()> usage,
                       std::function<std::string()> detail)
    : what_(std::move(what)), usage_(std::move(usage)), detail_(std::move(detail)) {
  if (show != Show::Never && is_usable())
    thread_ = start_quiet_thread([this] { run(); });
  else if (show == Show::Always)
    thread_ = start_quiet_thread([this] { run_in_log(); });
}

std::string StatusLine::text(int elapsed) const {
  const Usage usage = usage_();
  std::string line = fmt::format("hermetic: {}s  {}", elapsed, what_);
  if (usage.processes != 0)  // not every backend counts
    line += fmt::format("  cpu {}  memory {}  processes {}", rounded_time(usage.cpu_time()),
                        rounded_size(usage.memory_bytes), usage.processes);
  if (const std::string detail = detail_ ? detail_() : ""; !detail.empty()) line += "  " + detail;
  return line;
}

// First after ten seconds, then ever more rarely, up to once in five minutes.
void StatusLine::run_in_log() {
  constexpr int kLongest = 300;
  std::unique_lock lock(mutex_);
  int elapsed = 0;
  for (int pause = 10;; pause = std::min(pause * 2, kLongest)) {
    if (ended_.wait_for(lock, std::chrono::seconds(pause), [this] { return over_; })) return;
    elapsed += pause;
    write_text(text(elapsed) + "\n");
  }
}

StatusLine::~StatusLine() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ended_.notify_one();
  thread_.join();
}

void StatusLine::run() {
  std::unique_lock lock(mutex_);
  Size drawn;
  for (int elapsed = 1;; ++elapsed) {
    if (ended_.wait_for(lock, std::chrono::seconds(1), [this] { return over_; })) break;
    const Size size = size_of_terminal();
    const std::string line = text(elapsed);
    if (size.rows != drawn.rows || size.columns != drawn.columns)
      draw(size, line);
    else
      redraw(size, line);
    drawn = size;
  }
  if (drawn.rows > 0) erase(drawn);
}

}  // namespace hermetic::cli
