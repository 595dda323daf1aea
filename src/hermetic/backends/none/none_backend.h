// The backend without a sandbox, for HERMETIC=off: it gives no clause, and the outcome says so.
#pragma once

#include <memory>
#include <string_view>

#include "hermetic/run/backend.h"

namespace hermetic {

class NoneBackend final : public Backend {
 public:
  [[nodiscard]] std::string_view name() const override { return "none"; }
  [[nodiscard]] Capabilities probe() const override;
  // Outputs are written where they are declared; nothing is staged.
  Result<std::unique_ptr<Run>> start(const Plan& plan, const RunOptions& options,
                                     EventSink& events) override;
};

}  // namespace hermetic
