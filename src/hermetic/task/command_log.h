// CommandLog: which commands a task was given, one after the other, and how each of them ended.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "hermetic/task/failure.h"

namespace hermetic::task {

struct GivenCommand {
  std::vector<std::string> words;
  std::string digest;  // of all that decides what it does
};

struct CommandEnd {
  std::optional<int> exit_code;  // hermetic's own for it; nothing: nobody has said
  Failure failure = Failure::None;
  bool hermetic = false;
};

struct LoggedCommand {
  GivenCommand given;
  std::chrono::nanoseconds guard{};  // from the first namespace to the sealed sandbox
  std::chrono::nanoseconds time{};   // from the first namespace to its end
  std::optional<CommandEnd> end;     // nothing: it runs, or nobody has waited for it
  bool is_over = false;              // nothing of it runs any more, however it ended
};

// Any thread may use it: commands are waited for by others than those who ask about them.
class CommandLog {
 public:
  // A command that runs now. Returns its number.
  [[nodiscard]] std::size_t add(GivenCommand given, std::chrono::nanoseconds guard);
  void end(std::size_t number, CommandEnd end, std::chrono::nanoseconds time);
  // It is gone without anybody having found out how it ended.
  void give_up(std::size_t number);
  [[nodiscard]] bool is_busy() const;  // something runs

  // Somebody knows better how the last one ended. False if none has.
  [[nodiscard]] bool amend(CommandEnd end);

  [[nodiscard]] std::vector<LoggedCommand> commands() const;

 private:
  mutable std::mutex mutex_;
  std::vector<LoggedCommand> commands_;
};

}  // namespace hermetic::task
