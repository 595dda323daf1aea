// Facts about this host that lowering needs.
#pragma once

#include "hermetic/backends/linux/lower.h"
#include "hermetic/base/result.h"
#include "hermetic/outputs/staging.h"

namespace hermetic::linux_backend {

[[nodiscard]] int landlock_abi_of_this_kernel();  // 0: none
[[nodiscard]] bool has_new_mount_calls();
[[nodiscard]] bool has_overlay();
// Whether files in memory can have the marks of the overlay file system.
[[nodiscard]] bool has_marks_in_memory();
[[nodiscard]] bool has_time_namespaces();
// Why system calls cannot be asked about here; "" if they can.
[[nodiscard]] std::string why_no_listener();
[[nodiscard]] Result<HostObject> identify_object(const std::string& path, int descriptor);
// Fills in the copies of layers.
[[nodiscard]] Result<void> identify_outputs(const Staging& staging, Facts& facts);
[[nodiscard]] Result<void> identify_copies(const Staging& staging, Facts& facts);
// Fills in how many layers show, of each temp that has any.
void count_shown_layers(const Plan& plan, Facts& facts);

// The mask of `count` of the CPUs that the caller may use, or of all if it has fewer.
[[nodiscard]] Result<std::string> some_cpus(std::uint64_t count);

// Everything but descriptors and staging, which the run adds.
[[nodiscard]] Result<Facts> gather_facts(int landlock_abi, bool classic_mounts);

}  // namespace hermetic::linux_backend
