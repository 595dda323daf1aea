// What the tests of the Linux sandbox share: a spec to start from, a run with its streams captured,
// and the same command without any sandbox, as the control.
#pragma once

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hermetic/backends/linux/linux_backend.h"
#include "hermetic/base/text.h"
#include "hermetic/engine/execute.h"
#include "hermetic/spec/presets.h"
#include "hermetic/spec/spec_builder.h"
#include "tests/unit/spec/mount_namespace.h"
#include "tests/unit/spec/temp_dir.h"

namespace hermetic {

using Words = std::vector<std::string>;
using Mounts = LinuxBackend::Mounts;
inline std::string name_of_mounts(const ::testing::TestParamInfo<Mounts>& kind) {
  return kind.param == Mounts::New ? "New" : "Classic";
}

inline void PrintTo(const Ending& ending, std::ostream* stream) {
  struct Print {
    std::ostream& out;
    void operator()(const Exited& e) const { out << "Exited " << e.code; }
    void operator()(const Signaled& e) const { out << "Signaled " << e.signal; }
    void operator()(const TimedOut& e) const { out << "TimedOut " << e.limit.count(); }
    void operator()(const OverLimit& e) const { out << "OverLimit " << e.which; }
    void operator()(const EndedByViolation& e) const { out << "violation " << e.violation.act; }
    void operator()(const NotStarted& e) const { out << "NotStarted " << e.os_error; }
  };
  std::visit(Print{*stream}, ending);
}

// Is told of everything, so that everything is found out, and keeps nothing.
class Audience final : public EventSink {
 public:
  void on_event(const Event& /*event*/) override {}
};

inline std::string misbehave(std::string_view program) {
  return std::string(HERMETIC_MISBEHAVE) + "/" + std::string(program);
}

// As a word of a shell's text: the checkout may lie at a path with spaces.
inline std::string in_shell(std::string_view program) { return "'" + misbehave(program) + "'"; }

// The command with the system's tools and the misbehaving programs as its only inputs.
inline SpecBuilder sandboxed(Words command) {
  SpecBuilder builder(std::move(command));
  for (const std::string& directory : toolchain_directories()) builder.input(directory);
  builder.input(HERMETIC_MISBEHAVE).directory("/").caller_environment({});
  return builder;
}
inline SpecBuilder shell(const std::string& script) { return sandboxed({"sh", "-c", script}); }

inline RunOptions captured() {
  return {.standard_input = -1, .capture_bytes = std::size_t{1} << 20U};
}

inline Result<Finished> try_run(const SpecBuilder& builder, const RunOptions& options = captured(),
                                Mounts mounts = Mounts::Detect) {
  const Spec spec = TRY(builder.build());
  LinuxBackend backend = TRY(LinuxBackend::make(mounts));
  Audience events;
  return execute(spec, backend, options, events);
}

// A run that cannot be started is a failure of the test.
inline Outcome run(const SpecBuilder& builder, const RunOptions& options = captured(),
                   Mounts mounts = Mounts::Detect) {
  Result<Finished> finished = try_run(builder, options, mounts);
  if (finished) return std::move(finished->outcome);
  ADD_FAILURE() << to_string(finished.error());
  Outcome none;
  none.ending = NotStarted{-1};
  return none;
}

// What the command writes to standard output, if it ends with 0.
inline std::string output_of(const SpecBuilder& builder, Mounts mounts = Mounts::Detect) {
  const Outcome outcome = run(builder, captured(), mounts);
  EXPECT_EQ(outcome.ending, Ending(Exited{0})) << outcome.standard_error.text;
  return outcome.standard_output.text;
}

// The command without a sandbox.
struct Plain {
  int code = -1;
  std::string text;
};
inline Plain run_plainly(const Words& command, int standard_input = -1) {
  std::array<int, 2> ends = {-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(standard_input < 0 ? ::open("/dev/null", O_RDWR) : standard_input, 0);
    ::dup2(writer.get(), 1);
    ::execvp(words[0], words.data());
    ::_exit(127);
  }
  writer.reset();
  Plain plain;
  std::array<char, 4096> block;
  for (ssize_t size = 0; (size = ::read(reader.get(), block.data(), block.size())) > 0;)
    plain.text.append(block.data(), static_cast<std::size_t>(size));
  int status = 0;
  ::waitpid(child, &status, 0);
  plain.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return plain;
}

inline bool is_root() { return ::geteuid() == 0; }

// The text that `ask` returns in a child process that may mount things without anybody noticing.
inline Answer ask_with_own_mounts(const std::function<std::string()>& ask) {
  const std::string user = std::to_string(::geteuid());
  const std::string group = std::to_string(::getegid());
  return ask_in_mount_namespace([&]() -> std::string {
    try {
      if (user != "0") {  // the kinds of namespaces that were made need their numbers
        std::ofstream("/proc/self/setgroups") << "deny";
        std::ofstream("/proc/self/uid_map") << user + " " + user + " 1";
        std::ofstream("/proc/self/gid_map") << group + " " + group + " 1";
      }
      return ask();
    } catch (const std::exception& problem) {
      return std::string("exception: ") + problem.what();
    }
  });
}

// The same inside an outer network namespace that is empty: nothing leaves it, whether or not the
// sandbox under test holds.
inline std::string in_empty_network(const std::function<std::string()>& ask) {
  const Answer answer = ask_with_own_mounts([&]() -> std::string {
    if (::unshare(CLONE_NEWNET) != 0) return "no network namespace of its own";
    return ask();
  });
  return answer.text;
}

enum class Control {
  Succeeds,        // the act works outside
  SucceedsAsRoot,  // the same, if the test is root; a plain user may not do it outside either
  Differs,         // outside the kernel looks at the call and finds another fault with it
  None,            // the act would do harm or mean nothing outside; the test says why
};

// The act is denied inside, with one of the errors, and the control shows that the test can fail.
inline void expect_denied(const SpecBuilder& builder, const Words& act,
                          const std::vector<int>& errors, Control control,
                          Mounts mounts = Mounts::Detect) {
  SpecBuilder with_act = builder;
  with_act.command(act);
  SCOPED_TRACE(::testing::PrintToString(act));
  const Outcome inside = run(with_act, captured(), mounts);
  ASSERT_EQ(inside.ending, Ending(Exited{1}))
      << inside.standard_output.text << inside.standard_error.text;
  std::vector<std::string> expected;
  for (const int error : errors)
    expected.push_back("denied " + std::to_string(error) + " " + ::strerrorname_np(error) + "\n");
  EXPECT_THAT(expected, ::testing::Contains(inside.standard_output.text));
  if (control == Control::None || (control == Control::SucceedsAsRoot && !is_root())) return;
  const Plain outside = run_plainly(act);
  if (control == Control::Differs)
    EXPECT_NE(outside.text, inside.standard_output.text) << "the control is denied as well";
  else
    EXPECT_EQ(outside.code, 0) << "the control does not work: " << outside.text;
}
inline void expect_denied(const Words& act, int error, Control control) {
  expect_denied(sandboxed({}), act, {error}, control);
}

inline void expect_allowed(const SpecBuilder& builder, const Words& act,
                           Mounts mounts = Mounts::Detect) {
  SpecBuilder with_act = builder;
  with_act.command(act);
  const Outcome inside = run(with_act, captured(), mounts);
  EXPECT_EQ(inside.ending, Ending(Exited{0}))
      << ::testing::PrintToString(act) << inside.standard_output.text << inside.standard_error.text;
}

inline std::string content_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return file ? text.str() : "no such file";
}

inline bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::symlink_status(path, ignored).type() !=
         std::filesystem::file_type::not_found;
}

// The names in a directory, sorted.
inline Words names_of(const std::string& directory) {
  Words names;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

// What runs on this machine with the marker among its words.
inline int processes_with(const std::string& marker) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "cmdline");
    std::ostringstream words;
    words << file.rdbuf();
    if (words.str().find(marker) != std::string::npos) ++count;
  }
  return count;
}

// A number of seconds for sleep(1) that is long, and that no other process has among its words.
inline std::string long_sleep() {
  static int serial = 0;
  return "1000." + std::to_string(::getpid()) + std::to_string(++serial);
}

template <class Condition>
bool soon(Condition condition) {
  for (int i = 0; i < 200; ++i) {
    if (condition()) return true;
    ::usleep(20'000);
  }
  return condition();
}

// Folders of staged outputs of this user that are there and that no living run holds.
inline std::set<std::string> abandoned_folders() {
  std::set<std::string> found;
  const std::string prefix = ".hermetic-" + std::to_string(::geteuid()) + "-";
  for (const char* directory : {"/var/tmp", "/tmp"}) {
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      if (!entry.path().filename().string().starts_with(prefix)) continue;
      const UniqueFd folder(::open(entry.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      if (folder.is_open() && ::flock(folder.get(), LOCK_SH | LOCK_NB) == 0)
        found.insert(entry.path());
    }
  }
  return found;
}

// Were no more folders abandoned than there were before? Other runs come and go meanwhile.
inline bool nothing_is_left(const std::set<std::string>& before) {
  return soon([&] {
    const std::set<std::string> now = abandoned_folders();
    return std::includes(before.begin(), before.end(), now.begin(), now.end());
  });
}

}  // namespace hermetic
