#include "cli/task_evidence.h"

#include "hermetic/task/task_record.h"

namespace hermetic::cli {

Result<TaskEvidence> evidence_of(const task::Task& task) {
  const Spec portable = TRY(task.portable_spec());
  const std::string stable_hash = TRY(task.stable_hash());
  return TaskEvidence{.spec = portable.canonical(),
                      .spec_digest = portable.digest(),
                      .facts = task_facts(task),
                      .rest = {{"run_id", task.run_id()}, {"stable_hash", stable_hash}}};
}

}  // namespace hermetic::cli
