// hermetic doctor: which promises this host can keep, found by trying them in a real sandbox.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <climits>
#include <map>

#include "cli/backends.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/doctor_probes.h"
#include "cli/exit_code.h"
#include "hermetic/base/file_tree.h"
#include "hermetic/base/text.h"
#include "hermetic/engine/execute.h"
#include "hermetic/record/examination.h"
#include "hermetic/spec/presets.h"
#include "hermetic/spec/spec_builder.h"

namespace hermetic::cli {
namespace {

class Silence final : public EventSink {
 public:
  void on_event(const Event& /*event*/) override {}
};

// A directory for the trial, gone when it is over.
class TrialDirectory {
 public:
  TrialDirectory() = default;
  TrialDirectory(const TrialDirectory&) = delete;
  TrialDirectory& operator=(const TrialDirectory&) = delete;
  ~TrialDirectory() {
    if (made_) (void)remove_tree(AT_FDCWD, path_);
  }
  Result<std::string> make() {
    made_ = ::mkdtemp(path_.data()) != nullptr;
    if (!made_) return system_error("cannot make a directory for the trial", errno);
    return path_;
  }

 private:
  std::string path_ = "/tmp/.hermetic-doctor-XXXXXX";
  bool made_ = false;
};

Result<std::string> own_program() {
  std::string path(PATH_MAX, '\0');
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  if (size < 0) return system_error("cannot find the program itself", errno, "mount /proc");
  path.resize(static_cast<std::size_t>(size));
  return path;
}

// Runs this program once more, inside: it tries every forbidden act and says how each was answered.
Result<std::map<std::string, ProbeResult>> try_inside(Backend& backend) {
  TrialDirectory trial;
  const std::string directory = TRY(trial.make());
  const std::string program = TRY(own_program());
  TRY(prepare_probes(directory));
  SpecBuilder builder({program, "doctor", "--inside", directory});
  builder.input(program).input(directory, {directory + "/out", directory + "/hidden"});
  builder.output(directory + "/out").directory(directory);
  for (const std::string& tools : toolchain_directories())
    if (!is_within(program, tools)) builder.input(tools);
  const Spec spec = TRY(builder.build());
  Silence events;
  RunOptions options;
  options.standard_input = -1;
  options.capture_bytes = std::size_t{1} << 16U;
  const Finished finished = TRY(execute(spec, backend, options, events));
  if (!finished.outcome.success())
    return unsupported("the trial did not end well: " +
                       printable(finished.outcome.standard_error.text));
  return parse_probe_results(finished.outcome.standard_output.text);
}

using Row = Examination::Row;

std::string describe(const Row& row) {
  const Capability& capability = row.capability;
  if (row.tried && !row.tried->held) return "TRIED AND BROKEN: " + row.tried->detail;
  if (capability.strength == Strength::Enforced)
    return capability.mechanism +
           (row.tried ? " (tried: " + row.tried->detail + ")" : " (not tried)");
  return capability.reason + (capability.remedy.empty() ? "" : "; " + capability.remedy);
}

std::string as_text(const Examination& examination, Color color) {
  std::string text;
  for (const auto& [name, value] : examination.facts)
    text += fmt::format("{:<28} {}\n", name, value);
  text += '\n';
  for (const Row& row : examination.rows) {
    const bool broken = row.tried && !row.tried->held;
    const std::string_view word = broken ? "BROKEN" : to_string(row.capability.strength);
    const std::string_view code =
        broken || row.capability.strength == Strength::Absent ? "31" : "32";
    const std::string mark = fmt::format("{:<9}", word);
    text +=
        fmt::format("{} {:<26} {}\n",
                    color == Color::Always ? fmt::format("\x1b[{}m{}\x1b[0m", code, mark) : mark,
                    to_string(row.clause), describe(row));
  }
  return text;
}

std::vector<std::pair<std::string, std::string>> facts_of_host() {
  utsname system = {};
  ::uname(&system);
  return {{"kernel", fmt::format("{} {}", system.sysname, system.release)},
          {"machine", system.machine},
          {"user", ::geteuid() == 0 ? "root" : fmt::format("uid {}", ::geteuid())}};
}

}  // namespace

const Subcommand& doctor_description() {
  static const Subcommand description{
      .name = "doctor",
      .synopsis = "[--json]",
      .summary = "Shows which promises this host can keep, found by trying them.",
      .options = {{"--json", "", "print JSON"},
                  {"--color", "WHEN", "auto (default), always or never"},
                  {"--inside", "DIRECTORY", "used by doctor itself, inside its trial sandbox"},
                  {"--help", "", "show this help"}}};
  return description;
}

int doctor_main(std::span<char* const> words) {
  const Result<Arguments> arguments = parse_arguments(doctor_description(), words);
  if (!arguments) return report(arguments.error());
  if (arguments->has("--help")) return print(help_for(doctor_description())), kSuccess;
  if (arguments->has("--inside")) return print(run_probes(arguments->last("--inside"))), kSuccess;
  Result<std::unique_ptr<Backend>> backend = backend_named("");
  if (!backend) return report(backend.error());
  const Result<std::map<std::string, ProbeResult>> tried = try_inside(**backend);
  const Capabilities capabilities = (*backend)->probe();
  Examination examination{.backend = capabilities.backend, .facts = facts_of_host(), .rows = {}};
  bool broken = false;
  for (const Clause clause : all_clauses()) {
    Row row{.clause = clause, .capability = {}, .tried = {}};
    if (const auto found = capabilities.clauses.find(clause); found != capabilities.clauses.end())
      row.capability = found->second;
    if (tried) {
      if (const auto result = tried->find(std::string(to_string(clause))); result != tried->end())
        row.tried = result->second;
    } else if (row.capability.strength == Strength::Enforced) {
      // Without a sandbox nothing of it holds.
      row.capability = {.strength = Strength::Absent,
                        .mechanism = "",
                        .reason = "no sandbox can be made here",
                        .remedy = ""};
    }
    broken = broken || (row.tried && !row.tried->held);
    examination.rows.push_back(std::move(row));
  }
  print(arguments->has("--json")
            ? examination_as_json(examination)
            : as_text(examination, color_for(arguments->last("--color"), STDOUT_FILENO)));
  if (!tried) return report(tried.error());
  return broken ? kFailed : kSuccess;
}

}  // namespace hermetic::cli
