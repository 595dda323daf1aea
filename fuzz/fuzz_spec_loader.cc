// Feeds arbitrary bytes to the spec loader: it answers with a project or with a useful error.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "hermetic/base/check.h"
#include "hermetic/base/text.h"
#include "hermetic/spec/loader.h"

namespace {

using hermetic::Draft;
using hermetic::Error;
using hermetic::Project;
using hermetic::Result;

void check_draft(const Draft& draft) {
  for (const hermetic::Declaration& declaration : draft.declarations) {
    CHECK(declaration.path.starts_with('/'));
    CHECK(declaration.origin.line > 0);
  }
  if (!draft.network) return;
  for (const hermetic::HostRule& rule : draft.network->hosts) {
    CHECK(hermetic::parse_host_rule(to_string(rule)).value() == rule);
    CHECK(covers(rule, rule));
  }
}

void check_error(const Error& error) {
  CHECK(error.kind == Error::Kind::InvalidSpec);
  CHECK(error.origin.source == "fuzz.yaml");
  CHECK(!error.message.empty() && !error.hint.empty());
  // Nothing of the file gets to the terminal as it is, and no message is as long as the file.
  CHECK(hermetic::printable(error.message) == error.message);
  CHECK(hermetic::printable(error.hint) == error.hint);
  CHECK(error.message.size() < 2000 && error.hint.size() < 5000);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<Project> project = hermetic::parse_project(text, "fuzz.yaml", "/fuzz");
  if (!project) {
    check_error(project.error());
    return 0;
  }
  check_draft(project->defaults);
  for (const auto& [name, draft] : project->targets) {
    check_draft(draft);
    CHECK(draft_of(*project, name).has_value());
  }
  CHECK(draft_of(*project, {}).has_value() == (project->targets.size() < 2));
  return 0;
}
