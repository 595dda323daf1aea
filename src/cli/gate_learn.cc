// hermetic gate learn: which exceptions the steps of a policy would need.
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "cli/console.h"
#include "cli/exit_code.h"
#include "cli/gate_console.h"
#include "cli/gate_setup.h"
#include "cli/stop_signals.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/gate/policy_change.h"
#include "hermetic/gate/propose.h"
#include "hermetic/record/evidence_folder.h"

namespace hermetic::cli {
namespace {

// A folder for evidence that nobody asked for.
class TemporaryFolder {
 public:
  TemporaryFolder() = default;
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    if (!path_.empty()) (void)::rmdir(path_.c_str());
  }
  Result<std::string> make() {
    const char* temp = std::getenv("TMPDIR");
    std::string name =
        fmt::format("{}/hermetic-learn-XXXXXX", temp != nullptr && *temp == '/' ? temp : "/tmp");
    if (::mkdtemp(name.data()) == nullptr)
      return system_error("cannot make a temporary folder", errno, "name one with --out");
    path_ = name;
    return path_;
  }

 private:
  std::string path_;
};

// The file as `git apply` finds it: seen from the current directory, or, where it lies outside of
// that, by its name alone, seen from its own directory.
struct NameForChange {
  std::string name;
  std::string place;  // where to apply it; "" for the current directory
};
Result<NameForChange> name_for_change(const std::string& file) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(file, error);
  const std::filesystem::path here = std::filesystem::canonical(".", error);
  if (error) return system_error(fmt::format("cannot find '{}'", printable(file)), error.value());
  if (is_strictly_within(real.string(), here.string()))
    return NameForChange{.name = real.lexically_relative(here).string(), .place = ""};
  return NameForChange{.name = real.filename().string(), .place = real.parent_path().string()};
}

}  // namespace

Result<int> gate_learn(const Arguments& arguments) {
  if (arguments.has("--require") || arguments.has("--key"))
    return invalid("'hermetic gate learn' enforces and signs nothing",
                   "leave --require and --key out");
  GateSetup setup = TRY(gate_setup(arguments));
  // Nothing is denied, so that what comes after a first attempt is seen as well.
  gate::Policy audited = setup.policy;
  audited.mode = gate::Policy::Mode::Audit;
  setup.options.learns = true;
  setup.options.revision = "learn";
  TemporaryFolder temporary;
  const bool kept = arguments.has("--out");
  std::string out = arguments.last("--out");
  if (!kept) {
    const std::string parent = TRY(temporary.make());
    out = parent + "/out";
  }
  EvidenceFolder folder = TRY(make_evidence_folder(setup.options.surroundings, out));
  GateConsole console(arguments.has("--quiet"));
  setup.options.on_progress = [&](const gate::Progress& progress) {
    console.on_progress(progress);
  };
  const Redaction redaction = redaction_for(audited);
  gate::Gate gate(audited, std::move(setup.options), redaction);
  const Result<Report> report = [&] {
    const StopSignals stopping([&] { gate.stop(); });
    return gate.run(folder);
  }();
  if (!report) return report.error();
  std::vector<gate::Proposal> proposals;
  bool whole = true;
  for (const ReportStep& step : report->steps) {
    whole = whole && step.verdict == StepVerdict::Pass;
    const gate::Step* known = setup.policy.find(step.id);
    if (step.run && known != nullptr)
      proposals.push_back(gate::propose(*known, gate::network_acts(*step.run, redaction)));
  }
  const auto [name, place] = TRY(name_for_change(setup.policy.file));
  const std::string change = TRY(gate::as_change(setup.policy, name, std::move(proposals)));
  if (!change.empty() && !place.empty())
    print(fmt::format("# To apply it: git -C '{}' apply FILE\n", printable(place)));
  print(change);
  if (kept) TRY(folder.publish());
  if (!whole)
    complain({.message = "not every step passed: what is proposed may not be all that they need"});
  return whole ? kSuccess : kNo;
}

}  // namespace hermetic::cli
