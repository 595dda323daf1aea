#include "cli/making_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "hermetic/base/nonblocking_terminal.h"
#include "hermetic/base/quiet_thread.h"

namespace hermetic::cli {
namespace {

// What is over soon is not worth a word.
constexpr std::chrono::seconds kFirst{1};
constexpr std::chrono::seconds kNextOnTerminal{1};
constexpr std::chrono::seconds kElsewhere{10};

std::string words_for(const std::string& kind) {
  if (kind == "checkout") return "checking the commit out";
  if (kind == "venv") return "making the Python environment";
  if (kind == "node") return "installing the packages of npm";
  return "making the " + kind;
}

// A terminal that is stopped is not waited for.
void put_line(const std::string& text) {
  static const NonblockingTerminal terminal(STDERR_FILENO);
  [[maybe_unused]] const ssize_t size = terminal.write(text.data(), text.size());
}

}  // namespace

MakingLine::MakingLine(Cache& cache, bool quiet)
    : cache_(cache), live_(::isatty(STDERR_FILENO) == 1) {
  if (quiet) return;
  cache_.tell_when_making(
      [this](const std::string& kind, Cache::Making making) { note(kind, making); });
}

MakingLine::~MakingLine() {
  cache_.tell_when_making({});
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void MakingLine::note(const std::string& kind, Cache::Making making) {
  const std::lock_guard lock(mutex_);
  if (making == Cache::Making::Begins) {
    making_.push_back({.kind = kind, .begin = Clock::now()});
    if (!thread_.joinable()) thread_ = start_quiet_thread([this] { run(); });
  } else {
    const auto made = std::ranges::find(making_, kind, &Made::kind);
    if (made != making_.end()) making_.erase(made);
    clear();
  }
  changed_.notify_all();
}

void MakingLine::run() {
  std::unique_lock lock(mutex_);
  Clock::time_point shown;
  while (!over_) {
    if (making_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto pause = live_ ? kNextOnTerminal : kElsewhere;
    const auto next =
        std::max(making_.front().begin + (live_ ? kFirst : kElsewhere), shown + pause);
    if (changed_.wait_until(lock, next) == std::cv_status::no_timeout || making_.empty()) continue;
    shown = Clock::now();
    show(making_.front());
  }
  clear();
}

void MakingLine::show(const Made& made) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - made.begin);
  const std::string text = fmt::format("hermetic: {}, which is kept for later tasks: {} s",
                                       words_for(made.kind), seconds.count());
  put_line(live_ ? "\r\033[K" + text : text + "\n");
  shown_ = live_;
}

void MakingLine::clear() {
  if (shown_) put_line("\r\033[K");
  shown_ = false;
}

}  // namespace hermetic::cli
