// ObservingBackend: runs a command without a sandbox, as it would run anyway, and hears what it
// asks for. For learning a spec; it gives no clause.
#pragma once

#include <memory>
#include <string_view>

#include "hermetic/run/backend.h"

namespace hermetic {

class ObservingBackend final : public Backend {
 public:
  [[nodiscard]] std::string_view name() const override { return "observe"; }
  [[nodiscard]] Capabilities probe() const override;
  // Outcome::asked has every file name, and whether something had it. The events of Kind::Network
  // have every address that was connected to ("connect") or listened at ("listen"). Ends what the
  // command leaves behind, as a sandbox would.
  Result<std::unique_ptr<Run>> start(const Plan& plan, const RunOptions& options,
                                     EventSink& events) override;
};

}  // namespace hermetic
