// Proposals as a change to the policy's file, which `git apply` and `patch -p1` carry out.
#pragma once

#include <string>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/gate/policy.h"
#include "hermetic/gate/propose.h"

namespace hermetic::gate {

// The text of the policy with what is proposed, comments and layout kept. In version 2 owner,
// reason and end are left to be filled in: as it is, no policy with it is accepted. What cannot be
// put in becomes a remark of its proposal.
[[nodiscard]] Result<std::string> with_proposals(const Policy& policy,
                                                 std::vector<Proposal>& proposals);

// Remarks as comments, then the diff. `name` is that of the file, seen from where it is applied.
[[nodiscard]] Result<std::string> as_change(const Policy& policy, const std::string& name,
                                            std::vector<Proposal> proposals);

}  // namespace hermetic::gate
