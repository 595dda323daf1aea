// Outcome: how a run ended and what it left. Whether it was hermetic is a conclusion, never a
// field.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "hermetic/plan/plan.h"
#include "hermetic/run/event.h"
#include "hermetic/run/usage.h"
#include "hermetic/spec/declaration.h"
#include "hermetic/spec/spec.h"

namespace hermetic {

struct Exited {
  int code = 0;
  friend bool operator==(const Exited&, const Exited&) = default;
};
struct Signaled {
  int signal = 0;
  friend bool operator==(const Signaled&, const Signaled&) = default;
};
struct TimedOut {
  enum class Which { WallTime, IdleTime };
  std::chrono::milliseconds limit = {};
  Which which = Which::WallTime;
  friend bool operator==(const TimedOut&, const TimedOut&) = default;
};
struct OverLimit {
  std::string which;         // the key of the limit: "memory", "processes", "cpu_time"…
  std::uint64_t actual = 0;  // bytes, milliseconds or a number, as the limit
  std::uint64_t limit = 0;
  friend bool operator==(const OverLimit&, const OverLimit&) = default;
};
struct EndedByViolation {  // on_violation: kill
  Violation violation;
  friend bool operator==(const EndedByViolation&, const EndedByViolation&) = default;
};
// execve() itself failed: the sandbox stood, but the command could not be started in it.
struct NotStarted {
  int os_error = 0;  // ENOENT, EACCES, ENOEXEC…
  friend bool operator==(const NotStarted&, const NotStarted&) = default;
};

using Ending = std::variant<Exited, Signaled, TimedOut, OverLimit, EndedByViolation, NotStarted>;

// A file or directory that was published.
struct PublishedOutput {
  std::string path;
  FileType type = FileType::Directory;
  std::uint64_t size_bytes = 0;  // of all files in it
  std::uint64_t files = 0;
  std::string
      digest;  // SHA-256; of a directory: of its sorted listing, see docs/reference/outcome.md

  friend bool operator==(const PublishedOutput&, const PublishedOutput&) = default;
};

// A file name that the command asked for, if that was observed. By name only: links are not
// followed.
struct AskedPath {
  std::string path;
  Operation operation = Operation::Read;
  bool opened = false;    // its content, or the listing of a directory
  bool replaced = false;  // whatever was there before was removed, or cut to nothing
  bool made = false;      // or it was there: as a directory, or as a file that was only read then
  bool absent = false;    // nothing was there when it was first asked for, where that was looked at
  bool used_before = false;  // its content, before it was replaced

  friend bool operator==(const AskedPath&, const AskedPath&) = default;
};

// One that the command asked for and that is not declared.
struct DeniedPath {
  std::string path;
  Operation operation = Operation::Read;
  std::string rule;
  std::string by;  // the program that asked first; "" if that is not known

  friend bool operator==(const DeniedPath&, const DeniedPath&) = default;
};

// System calls that the filter refused, of one program.
struct RefusedCall {
  std::string call;  // "keyctl", or "i386" or "x32" for a whole table of them
  std::string by;    // the program
  std::uint64_t count = 1;

  friend bool operator==(const RefusedCall&, const RefusedCall&) = default;
};

// It was tried inside, before the command, and failed as it must. One that
// succeeds leaves no outcome: nothing is run.
struct NegativeControl {
  std::string name;  // "tcp", "secret"…
  bool tried = false;

  friend bool operator==(const NegativeControl&, const NegativeControl&) = default;
};

struct Captured {
  std::string text;
  bool truncated = false;  // more was written than the cap allowed to keep

  friend bool operator==(const Captured&, const Captured&) = default;
};

struct Outcome {
  Ending ending = Exited{};
  std::vector<Violation> violations;
  Usage usage;
  std::vector<NegativeControl> probes;  // if the sandbox was to be proved
  std::vector<PublishedOutput> outputs;
  std::vector<AskedPath> asked;              // if it was observed; sorted
  std::vector<DeniedPath> denied;            // if it was looked at; in the order of asking
  std::uint64_t more_denied = 0;             // beyond those
  std::vector<RefusedCall> refused_calls;    // in the order of the first attempts
  std::vector<std::string> asked_variables;  // if it was observed; sorted
  Captured standard_output;                  // if it was captured
  Captured standard_error;

  // The command itself said 0, within every limit.
  [[nodiscard]] bool success() const { return ending == Ending(Exited{0}); }

  // Hermetic has ended it, for a limit or a violation.
  [[nodiscard]] bool was_ended() const {
    return std::holds_alternative<TimedOut>(ending) || std::holds_alternative<OverLimit>(ending) ||
           std::holds_alternative<EndedByViolation>(ending);
  }

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// Every clause was enforced and nothing was tried that is not allowed. A conclusion: no backend can
// set it.
[[nodiscard]] inline bool was_hermetic(const Plan& plan, const Outcome& outcome) {
  return plan.hermetic() && outcome.violations.empty();
}

}  // namespace hermetic
