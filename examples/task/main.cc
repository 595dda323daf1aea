// Two commands in a fresh worktree of the repository that is named, and what they have changed.
#include <hermetic/backends/linux/linux_backend.h>
#include <hermetic/task/task.h>

#include <cstdio>

using namespace hermetic;

Result<void> try_out(const char* repository) {
  LinuxBackend backend = TRY(LinuxBackend::make());
  Cache cache = TRY(Cache::open());  // HERMETIC_CACHE, or below the home directory
  task::TaskRequest request{.id = "demo", .repository = repository, .seed = 7};
  request.draft.limits.wall_time = std::chrono::minutes(1);
  task::Task task = TRY(task::Task::set_up(request, cache, backend));
  Silence events;
  for (const char* script : {"echo $HERMETIC_SEED >new", "cat new; git status --short"}) {
    task.set_command({"sh", "-c", script});
    const Finished finished = TRY(task.run(backend, {.capture_bytes = 4096}, events));
    std::printf("%s", finished.outcome.standard_output.text.c_str());
    std::printf("%s\n", finished.hermetic() ? "hermetic" : "not hermetic");
  }
  for (const Change& change : TRY(task.changes())) std::printf("%s\n", change.path.c_str());
  const Certificate certificate = task.clean_up();
  std::printf("%zu made, %zu left\n", certificate.made.size(), certificate.left.size());
  return {};
}

int main(int count, char** words) {
  if (count != 2) return 2;
  const Result<void> done = try_out(words[1]);
  if (!done) std::fprintf(stderr, "%s\n", to_string(done.error()).c_str());
  return done ? 0 : 1;
}
