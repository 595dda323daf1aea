// What the tests of known ways out share: an attempt inside the sandbox, and its control outside.
//
// With HERMETIC_ESCAPE=open the attempts are made without any sandbox: then every test must fail,
// which tests/escape/can_fail.sh sees to. A test that passes anyway proves nothing.
#pragma once

#include "tests/sandbox/sandbox.h"

// Where the attempt would do harm, or end the test itself.
#define NOT_TRIED_IN_THE_OPEN(reason) \
  if (sandbox_is_open()) GTEST_SKIP() << "not tried: " << (reason)

namespace hermetic {

inline bool sandbox_is_open() {
  const char* value = std::getenv("HERMETIC_ESCAPE");
  return value != nullptr && std::string_view(value) == "open";
}

struct Attempt {
  Ending ending;
  std::string output;
  std::string errors;
  std::string refusal;  // why nothing ran, or why nothing was published
};

// The same command without a sandbox, where its outputs are to appear.
inline Attempt attempt_in_the_open(const Spec& spec, const RunOptions& options) {
  // With mounts of its own: the next attempt finds the host as it was.
  Words command = {"unshare", "--mount", "env", "-C", spec.directory};
  for (const auto& [name, value] : spec.variables()) command.push_back(name + "=" + value);
  command.insert(command.end(), spec.command.begin(), spec.command.end());
  std::error_code ignored;
  for (const auto& tree : spec.trees())
    if (tree.declaration.kind == TreeKind::Output && tree.declaration.type != FileType::File)
      std::filesystem::create_directories(tree.declaration.path, ignored);
  const Plain plain = run_plainly(command, options.standard_input);
  return {.ending = Exited{plain.code}, .output = plain.text, .errors = "", .refusal = ""};
}

inline Attempt attempt(const SpecBuilder& builder, const RunOptions& options = captured(),
                       Mounts mounts = Mounts::Detect) {
  if (sandbox_is_open()) {
    const Result<Spec> spec = builder.build();
    if (spec) return attempt_in_the_open(*spec, options);
  }
  Result<Finished> finished = try_run(builder, options, mounts);
  if (!finished)
    return {NotStarted{finished.error().os_error}, "", "", to_string(finished.error())};
  const Outcome& outcome = finished->outcome;
  return {outcome.ending, outcome.standard_output.text, outcome.standard_error.text, ""};
}

// How the act does outside, to show that the test can fail.
enum class Outside {
  Succeeds,
  SucceedsAsRoot,       // a plain user may not do it outside either
  SucceedsInNamespace,  // for whoever has a user namespace, which a command could make
  Differs,              // the kernel looks at the call and finds another fault with it
  DiffersAsRoot,
  DiffersInNamespace,
  Unknown,  // the test has a control of its own
};

inline Words in_namespace(Words act) {
  // Everything but pid: the act itself is the process that is in them.
  Words words = {"unshare", "--user", "--map-root-user", "--mount", "--net",
                 "--ipc",   "--uts",  "--cgroup",        "--"};
  words.insert(words.end(), act.begin(), act.end());
  return words;
}

inline void expect_control(const Words& act, Outside outside, const std::string& inside) {
  if (sandbox_is_open()) return;  // only the attempt counts
  const bool for_root = outside == Outside::SucceedsAsRoot || outside == Outside::DiffersAsRoot;
  if (outside == Outside::Unknown || (for_root && !is_root())) return;
  const bool in = outside == Outside::SucceedsInNamespace || outside == Outside::DiffersInNamespace;
  const Plain plain = run_plainly(in ? in_namespace(act) : act);
  // A kernel that was built without the call gives no control.
  if (plain.text == "denied " + std::to_string(ENOSYS) + " ENOSYS\n") return;
  const bool differs = outside == Outside::Differs || outside == Outside::DiffersAsRoot ||
                       outside == Outside::DiffersInNamespace;
  if (differs)
    EXPECT_NE(plain.text, inside) << "the control is denied as well";
  else
    EXPECT_EQ(plain.code, 0) << "the control does not work: " << plain.text;
}

// The act is refused inside with one of the errors, whoever the command is there.
inline void expect_refused(const SpecBuilder& builder, const Words& act,
                           const std::vector<int>& errors, Outside outside) {
  SCOPED_TRACE(::testing::PrintToString(act));
  Words expected;
  for (const int error : errors)
    expected.push_back("denied " + std::to_string(error) + " " + ::strerrorname_np(error) + "\n");
  for (const Identity identity : {Identity::Builder, Identity::Root}) {
    SpecBuilder with_act = builder;
    const Attempt inside = attempt(with_act.command(act).identity(identity));
    EXPECT_EQ(inside.ending, Ending(Exited{1})) << inside.output << inside.errors << inside.refusal;
    EXPECT_THAT(expected, ::testing::Contains(inside.output)) << inside.errors;
    if (identity == Identity::Root) expect_control(act, outside, inside.output);
  }
}

}  // namespace hermetic
