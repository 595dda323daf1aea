// NotStartedRun: of a command that could not be started there is no process, only the reason.
#pragma once

#include "hermetic/run/backend.h"

namespace hermetic {

class NotStartedRun final : public Run {
 public:
  explicit NotStartedRun(int os_error) : os_error_(os_error) {}
  Result<Outcome> wait() override {
    Outcome outcome;
    outcome.ending = NotStarted{os_error_};
    return outcome;
  }
  bool signal(int /*number*/) override { return false; }
  Usage snapshot() override { return {}; }
  void kill() override {}

 private:
  int os_error_;
};

}  // namespace hermetic
