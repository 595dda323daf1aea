// Runs one sandboxed command through the library each time a line arrives on standard input, and
// answers with the microseconds it took: launch.py interleaves it with other programs.
//
//   execute_loop [--ballast MEGABYTES] [--inputs N DIRECTORY] [--looked-at] -- COMMAND...
//
// --looked-at gives it a limit that is looked after every 40 ms, as benchmarks/monitor.py wants it.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "hermetic/backends/linux/linux_backend.h"
#include "hermetic/engine/execute.h"
#include "hermetic/spec/presets.h"
#include "hermetic/spec/spec_builder.h"

namespace {

class Silence final : public hermetic::EventSink {
 public:
  void on_event(const hermetic::Event& /*event*/) override {}
};

struct Settings {
  std::size_t ballast_megabytes = 0;
  int inputs = 0;
  std::string directory;
  bool looked_at = false;
  std::vector<std::string> command;
};

Settings parse(int count, char** words) {
  Settings settings;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--ballast" && i + 1 < count) {
      settings.ballast_megabytes = std::strtoul(words[++i], nullptr, 10);
    } else if (word == "--inputs" && i + 2 < count) {
      settings.inputs = std::atoi(words[++i]);
      settings.directory = words[++i];
    } else if (word == "--looked-at") {
      settings.looked_at = true;
    } else if (word == "--") {
      settings.command.assign(words + i + 1, words + count);
      break;
    }
  }
  return settings;
}

[[noreturn]] void fail(const hermetic::Error& error) {
  std::fprintf(stderr, "execute_loop: %s\n", to_string(error).c_str());
  std::exit(1);
}

}  // namespace

int main(int count, char** words) {
  const Settings settings = parse(count, words);
  // Touched, so that it is really there: what a fork would have to copy.
  std::vector<char> ballast(settings.ballast_megabytes << 20U);
  std::memset(ballast.data(), 1, ballast.size());

  hermetic::SpecBuilder builder(settings.command);
  for (const std::string& directory : hermetic::toolchain_directories()) builder.input(directory);
  for (int i = 0; i < settings.inputs; ++i)
    builder.input(fmt::format("{}/{}", settings.directory, i));
  if (settings.looked_at) builder.limits({.idle_time = std::chrono::hours(1)});
  const hermetic::Result<hermetic::Spec> spec = builder.build();
  if (!spec) fail(spec.error());
  hermetic::Result<hermetic::LinuxBackend> backend = hermetic::LinuxBackend::make();
  if (!backend) fail(backend.error());
  Silence events;
  for (int key = std::getchar(); key != EOF; key = std::getchar()) {
    const auto start = std::chrono::steady_clock::now();
    const hermetic::Result<hermetic::Finished> finished =
        hermetic::execute(*spec, *backend, {}, events);
    const auto taken = std::chrono::steady_clock::now() - start;
    if (!finished) fail(finished.error());
    if (!finished->outcome.success()) return 1;
    std::printf("%lld\n",
                static_cast<long long>(
                    std::chrono::duration_cast<std::chrono::microseconds>(taken).count()));
    std::fflush(stdout);
  }
  return ballast.empty() || ballast.front() == 1 ? 0 : 1;
}
