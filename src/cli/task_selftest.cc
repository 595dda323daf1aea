// hermetic task selftest: the same task twice. Says what a reader can check, and fails if any of it
// does not hold.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "cli/backends.h"
#include "cli/console.h"
#include "cli/exit_code.h"
#include "cli/own_places.h"
#include "cli/spec_options.h"
#include "cli/task_options.h"
#include "hermetic/base/text.h"
#include "hermetic/places/own_file.h"
#include "hermetic/run/event.h"
#include "hermetic/task/task_record.h"

namespace hermetic::cli {
namespace {

// Tries to get out by every door that Python has, and says which it found.
constexpr const char* kProbe = R"py(
import hashlib, os, socket, sys
open_doors = []
for name, attempt in {
    "tcp": lambda: socket.create_connection(("127.0.0.1", 9), 2),
    "udp": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9)),
    "dns": lambda: socket.getaddrinfo("hermetic.invalid", 80),
}.items():
    try:
        attempt()
        open_doors.append(name)
    except OSError:
        pass
print("doors", ",".join(open_doors) or "none")
print("prefix", sys.prefix, sys.prefix != sys.base_prefix)
print("hash", hash("hermetic"), os.environ["HERMETIC_SEED"])
with open("selftest.txt", "w") as file:
    file.write("made by the selftest\n")
)py";

struct Round {
  std::string stable_hash;
  std::string manifest;
  std::string said;
  task::Durations durations;
  bool ended_well = false;
  bool clean = false;
};

// Whether the network was tried from inside before the command, and all of that failed: had any of
// it succeeded, the command would not have been run.
bool was_tried(const Outcome& outcome) {
  return std::ranges::all_of(std::array{"tcp", "udp", "dns"}, [&](std::string_view name) {
    return std::ranges::any_of(outcome.probes, [&](const NegativeControl& probe) {
      return probe.name == name && probe.tried;
    });
  });
}

// What an own command does is its own affair; the network is tried before it in any case.
Result<Round> run_once(const task::TaskRequest& request, bool own_command, const OwnPlaces& places,
                       Cache& cache, Backend& backend) {
  task::Task task = TRY(task::Task::set_up(request, cache, backend));
  const Spec spec = TRY(task.spec());
  TRY(places.check_out_of_reach(spec));
  print(fmt::format("Hermetic environment created at {}\n", printable(task.scratch_path())));
  print(fmt::format("Worktree SHA: {}\n", task.checkout().commit));
  Silence events;
  RunOptions options;
  options.standard_input = -1;
  options.prove = true;
  options.capture_bytes = std::size_t{1} << 20U;
  const Finished finished = TRY(task.run(backend, options, events));
  task::TaskRecord record = TRY(
      task::record_of(task, finished, exit_code_of(finished.outcome, finished.plan.on_violation)));
  record.certificate = task.clean_up();
  struct stat status = {};
  Round round{.stable_hash = record.stable_hash,
              .manifest = task_manifest(task, record, finished.outcome),
              .said = finished.outcome.standard_output.text,
              .durations = task.durations(),
              .ended_well = finished.outcome.success(),
              .clean = record.certificate.left.empty() &&
                       ::lstat(task.scratch_path().c_str(), &status) != 0};
  const bool found_no_door = own_command || round.said.find("doors none") != std::string::npos;
  const bool sealed = was_tried(finished.outcome) && found_no_door;
  if (sealed)
    print("Network guard active: connections blocked\n");
  else
    print(fmt::format("Network guard NOT active{}\n",
                      found_no_door ? ": the task may use the network" : ""));
  if (!round.ended_well || !found_no_door)
    print(fmt::format("The command did not succeed, or found a way out: {}{}\n",
                      printable(round.said), printable(finished.outcome.standard_error.text)));
  round.ended_well = round.ended_well && sealed;
  print(round.clean ? "Cleanup successful: scratch directory removed\n" : "Cleanup FAILED\n");
  print(fmt::format("Stable hash: {}\n", round.stable_hash));
  return round;
}

}  // namespace

Result<int> task_selftest(const Arguments& arguments) {
  Arguments completed = arguments;
  if (!arguments.has("--task-id")) completed.options.push_back({"--task-id", "selftest"});
  task::TaskRequest request = TRY(task_request(completed));
  const OwnPlaces places = TRY(OwnPlaces::find(arguments));
  TRY(places.check_writable());
  const bool own_command = !request.draft.command.empty();
  if (!own_command) request.draft.command = {"python", "-c", kProbe};
  if (!request.seed) request.seed = 123;
  const std::unique_ptr<Backend> backend = TRY(backend_named(""));
  Cache cache = TRY(Cache::open());
  std::vector<Round> rounds;
  for (int i = 0; i < 2; ++i) {
    print(fmt::format("Running hermetic selftest with task_id={}, seed={}\n", request.id,
                      *request.seed));
    rounds.push_back(TRY(run_once(request, own_command, places, cache, *backend)));
  }
  const bool same = rounds[0].stable_hash == rounds[1].stable_hash;
  const bool equal = rounds[0].said == rounds[1].said;
  print(fmt::format("STABLE_HASH_MATCH= {}\nOUTPUT_EQ= {}\n", same ? "True" : "False",
                    equal ? "True" : "False"));
  const std::string metrics = task::task_metrics({rounds[0].durations, rounds[1].durations});
  if (const OwnPlace* place = places.at("--metrics"))
    TRY(write_own_file(*place, metrics));
  else
    print(metrics);
  if (const OwnPlace* place = places.at("--manifest"))
    TRY(write_own_file(*place, rounds[1].manifest));
  const bool passed = same && equal && rounds[0].ended_well && rounds[1].ended_well &&
                      rounds[0].clean && rounds[1].clean;
  print(passed ? "Selftest passed\n" : "Selftest FAILED\n");
  return passed ? kSuccess : kFailed;
}

}  // namespace hermetic::cli
