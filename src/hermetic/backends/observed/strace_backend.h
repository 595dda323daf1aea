// The backend that only watches: it runs a command without a sandbox, under strace.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "hermetic/run/backend.h"

namespace hermetic {

class StraceBackend final : public Backend {
 public:
  // Fails if there is no strace, or it may not trace here: that is tried.
  [[nodiscard]] static Result<StraceBackend> make();

  [[nodiscard]] std::string_view name() const override { return "strace"; }
  // Nothing is enforced; that the network is watched is observed.
  [[nodiscard]] Capabilities probe() const override;
  Result<std::unique_ptr<Run>> start(const Plan& plan, const RunOptions& options,
                                     EventSink& events) override;

 private:
  explicit StraceBackend(std::string program) : program_(std::move(program)) {}

  std::string program_;
};

}  // namespace hermetic
