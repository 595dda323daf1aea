#include "hermetic/task/command_log.h"

#include <algorithm>
#include <utility>

namespace hermetic::task {

std::size_t CommandLog::add(GivenCommand given, std::chrono::nanoseconds guard) {
  const std::lock_guard lock(mutex_);
  commands_.push_back({.given = std::move(given), .guard = guard, .end = {}});
  return commands_.size() - 1;
}

void CommandLog::end(std::size_t number, CommandEnd end, std::chrono::nanoseconds time) {
  const std::lock_guard lock(mutex_);
  commands_.at(number).end = end;
  commands_.at(number).time = time;
  commands_.at(number).is_over = true;
}

void CommandLog::give_up(std::size_t number) {
  const std::lock_guard lock(mutex_);
  commands_.at(number).is_over = true;
}

bool CommandLog::is_busy() const {
  const std::lock_guard lock(mutex_);
  return !std::ranges::all_of(commands_, &LoggedCommand::is_over);
}

bool CommandLog::amend(CommandEnd end) {
  const std::lock_guard lock(mutex_);
  if (commands_.empty() || !commands_.back().end) return false;
  commands_.back().end = end;
  return true;
}

std::vector<LoggedCommand> CommandLog::commands() const {
  const std::lock_guard lock(mutex_);
  return commands_;
}

}  // namespace hermetic::task
