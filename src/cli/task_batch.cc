// hermetic task batch: many tasks, several at once, with one line of JSON for each.
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <thread>

#include "cli/backends.h"
#include "cli/console.h"
#include "cli/exit_code.h"
#include "cli/spec_options.h"
#include "cli/stop_signals.h"
#include "cli/task_options.h"
#include "hermetic/base/file_text.h"
#include "hermetic/base/text.h"
#include "hermetic/task/batch.h"

namespace hermetic::cli {
namespace {

using Clock = std::chrono::steady_clock;

Result<unsigned> count_of(const Arguments& arguments, std::string_view option, unsigned usual) {
  if (!arguments.has(option)) return usual;
  const std::string text = arguments.last(option);
  unsigned count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count > 4096)
    return invalid(fmt::format("{} {} is no count", option, printable(text)),
                   "write a number up to 4096");
  return count;
}

std::string rounded(std::chrono::seconds time) {
  if (time.count() < 60) return fmt::format("{}s", time.count());
  if (time.count() < 3600) return fmt::format("{}m{:02}s", time.count() / 60, time.count() % 60);
  return fmt::format("{}h{:02}m", time.count() / 3600, time.count() / 60 % 60);
}

// On a terminal one line that is overwritten; elsewhere a line now and then.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet) : quiet_(quiet), live_(::isatty(STDERR_FILENO) == 1) {}

  void show(const task::BatchProgress& progress) {
    if (quiet_) return;
    const Clock::time_point now = Clock::now();
    const bool last = progress.done == progress.total;
    const auto pause = std::chrono::milliseconds(live_ ? 100 : 10'000);
    if (!last && now - shown_ < pause) return;
    shown_ = now;
    const double seconds = std::chrono::duration<double>(now - begin_).count();
    const double rate = static_cast<double>(progress.done - progress.resumed) / seconds;
    const auto left = std::chrono::seconds(
        rate > 0 ? static_cast<long>(static_cast<double>(progress.total - progress.done) / rate)
                 : 0);
    std::string text = fmt::format("{}/{}  {:.1f}/s", progress.done, progress.total, rate);
    if (!last) text += fmt::format("  {} left", rounded(left));
    if (progress.failed != 0) text += fmt::format("  {} failed", progress.failed);
    if (live_) text = "\r\033[K" + bar(progress) + text + (last ? "\n" : "");
    if (!live_) text = "hermetic: " + text + "\n";
    (void)!::write(STDERR_FILENO, text.data(), text.size());
  }

 private:
  static std::string bar(const task::BatchProgress& progress) {
    constexpr std::size_t kWidth = 24;
    const std::size_t full = progress.done * kWidth / progress.total;
    std::string text = "[";
    for (std::size_t i = 0; i < kWidth; ++i) text += i < full ? "█" : "·";
    return text + "] ";
  }

  bool quiet_;
  bool live_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point shown_ = begin_;
};

}  // namespace

Result<int> task_batch(const Arguments& arguments) {
  const task::TaskRequest usual = TRY(task_request(arguments, NeedsId::No));
  const std::string& file = arguments.words.back();
  if (!arguments.has("--out")) return invalid("no place for the results", "give --out DIR");
  const std::string text = TRY(read_whole_file(file));
  std::vector<task::BatchTask> tasks = TRY(task::parse_batch(text, file, usual));
  task::BatchOptions options;
  options.folder = TRY(absolute_path(arguments.last("--out")));
  options.jobs = TRY(count_of(arguments, "--jobs", std::thread::hardware_concurrency()));
  options.retries = TRY(count_of(arguments, "--retries", options.retries));
  if (arguments.has("--keep-changes")) options.keep_changes = "changes";
  options.exit_code = exit_code_of;
  const std::unique_ptr<Backend> backend = TRY(backend_named(""));
  Cache cache = TRY(Cache::open());
  task::Batch batch(std::move(tasks), std::move(options), cache, *backend);
  ProgressLine line(arguments.has("--quiet"));
  Result<task::BatchProgress> progress = unsupported("nothing was run");
  bool stopped = false;
  {
    const StopSignals stopping([&] {
      stopped = true;
      batch.stop();
    });
    progress = batch.run([&](const task::BatchProgress& now) { line.show(now); });
  }
  if (!progress) return std::move(progress).error();
  if (progress->set_aside != 0)
    complain(
        {.message = fmt::format(
             "earlier results that belong to no task of '{}' as it is now are kept in '{}': {}",
             printable(file), printable(progress->former_file), progress->set_aside)});
  if (arguments.has("--metrics"))
    TRY(write_file_whole(arguments.last("--metrics"), task::task_metrics(batch.durations())));
  if (stopped) return system_error("stopped", EINTR, "the same command goes on from here");
  if (!arguments.has("--quiet"))
    print(fmt::format("{} tasks: {} done now, {} before, {} failed, {} of them not the command's\n",
                      progress->total, progress->done - progress->resumed, progress->resumed,
                      progress->failed, progress->infra));
  return progress->infra != 0 ? kFailed : progress->failed != 0 ? 1 : kSuccess;
}

}  // namespace hermetic::cli
