// SpecBuilder: collects what a command may use, in any order; build() is the only place that can
// refuse.
//
//   const Spec spec = TRY(SpecBuilder({"cc", "-c", "main.c", "-o", "/w/out/main.o"})
//                             .input("/usr")
//                             .input("/w", {"/w/out"})
//                             .output("/w/out")
//                             .limits({.wall_time = 60s})
//                             .build());
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/spec/draft.h"
#include "hermetic/spec/lookup.h"
#include "hermetic/spec/spec.h"

namespace hermetic {

class SpecBuilder {
 public:
  SpecBuilder() = default;
  explicit SpecBuilder(std::vector<std::string> command) { draft_.command = std::move(command); }
  explicit SpecBuilder(Draft draft) : draft_(std::move(draft)) {}

  SpecBuilder& command(std::vector<std::string> command);
  SpecBuilder& directory(std::string path);
  SpecBuilder& input(std::string path, std::vector<std::string> exceptions = {});
  SpecBuilder& output(std::string path, Publish publish = Publish::Replace,
                      FileType type = FileType::Unknown);
  SpecBuilder& temp(std::string path);
  // A temp that starts as these directories, which stay as they are. See Declaration.
  SpecBuilder& temp_over(std::string path, std::vector<std::string> over, std::string changes = {});
  SpecBuilder& declare(Declaration declaration);
  SpecBuilder& network(NetworkPolicy policy);
  SpecBuilder& env(std::string name, std::string value);
  SpecBuilder& pass_env(std::string name);
  SpecBuilder& limits(ResourceLimits limits);
  SpecBuilder& process(ProcessPolicy policy);
  SpecBuilder& identity(Identity identity);
  SpecBuilder& hostname(std::string name);
  SpecBuilder& on_violation(OnViolation policy);
  SpecBuilder& give_up(std::string clause);
  SpecBuilder& strict_outputs(bool strict = true);
  SpecBuilder& allow_nested_namespaces(bool allow = true);
  SpecBuilder& own_uptime(bool own = true);
  SpecBuilder& unix_socket(std::string path);
  SpecBuilder& allow_unsandboxed(bool allow = true);
  // Puts `stronger` over what was said so far.
  SpecBuilder& overlay(const Draft& stronger);

  // Where passed variables come from and how paths are looked up; the caller's own by default.
  SpecBuilder& caller_environment(std::map<std::string, std::string> environment);
  SpecBuilder& lookup(Lookup lookup);

  // Fails with InvalidSpec, naming both declarations and a witness path, unless inputs, outputs and
  // temps are disjoint: as names, through symbolic links, through bind mounts, and, for outputs
  // that are changed in place, through hard links.
  [[nodiscard]] Result<Spec> build() const;

 private:
  Draft draft_;
  std::optional<std::map<std::string, std::string>> caller_environment_;
  Lookup lookup_ = look_up_on_host;
};

}  // namespace hermetic
