#include "hermetic/backends/linux/seccomp_filter.h"

#include <algorithm>

namespace hermetic::linux_backend {
namespace {

#include "seccomp_filters.inc"  // made by tools/make_filters.cc

}  // namespace

std::span<const sock_filter> seccomp_filter(const Plan& plan) {
  const unsigned nested = plan.allow_nested_namespaces ? 1 : 0;
  const unsigned no_fork = plan.process.allow_fork ? 0 : 2;
  const unsigned no_exec = plan.process.allow_exec ? 0 : 4;
  const bool in_place = std::any_of(plan.view.begin(), plan.view.end(), [](const ViewEntry& entry) {
    return entry.kind == ViewEntry::Kind::OutputInPlace;
  });
  const unsigned no_set_id = in_place ? 8 : 0;
  return kFilters[nested | no_fork | no_exec | no_set_id];
}

}  // namespace hermetic::linux_backend
