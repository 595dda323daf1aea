#include "hermetic/backends/linux/seccomp_filter.h"

#include <algorithm>
#include <span>

#include "hermetic/backends/linux/init_protocol.h"

namespace hermetic::linux_backend {
namespace {

#include "seccomp_filters.inc"  // made by tools/make_filters.cc

}  // namespace

std::vector<sock_filter> seccomp_filter(const Plan& plan, std::uint64_t program_key) {
  const unsigned nested = plan.allow_nested_namespaces ? 1 : 0;
  const unsigned no_fork = plan.process.allow_fork ? 0 : 2;
  const unsigned no_exec = plan.process.allow_exec ? 0 : 4;
  const bool in_place = std::any_of(plan.view.begin(), plan.view.end(), [](const ViewEntry& entry) {
    return entry.kind == ViewEntry::Kind::OutputInPlace;
  });
  const unsigned no_set_id = in_place ? 8 : 0;
  const unsigned fixed_cpus = plan.process.cpus ? 16 : 0;
  const std::span<const sock_filter> compiled =
      kFilters[nested | no_fork | no_exec | no_set_id | fixed_cpus];
  std::vector<sock_filter> filter(compiled.begin(), compiled.end());
  for (sock_filter& instruction : filter) {
    // A comparison of 64 bits is made in two halves.
    if (instruction.k == static_cast<std::uint32_t>(kProgramKeyPlaceholder))
      instruction.k = static_cast<std::uint32_t>(program_key);
    else if (instruction.k == static_cast<std::uint32_t>(kProgramKeyPlaceholder >> 32U))
      instruction.k = static_cast<std::uint32_t>(program_key >> 32U);
  }
  return filter;
}

}  // namespace hermetic::linux_backend
