// The backend that looks now and then: it runs a command without a sandbox, and asks the kernel
// which sockets its processes have.
#pragma once

#include <memory>
#include <string_view>

#include "hermetic/run/backend.h"

namespace hermetic {

class SocketsBackend final : public Backend {
 public:
  // Fails if the kernel does not list its sockets.
  [[nodiscard]] static Result<SocketsBackend> make();

  [[nodiscard]] std::string_view name() const override { return "sockets"; }
  // Nothing is enforced, and nothing is sure to be seen.
  [[nodiscard]] Capabilities probe() const override;
  Result<std::unique_ptr<Run>> start(const Plan& plan, const RunOptions& options,
                                     EventSink& events) override;

 private:
  SocketsBackend() = default;
};

}  // namespace hermetic
