#include "hermetic/backends/linux/seccomp_filter.h"

namespace hermetic::linux_backend {
namespace {

#include "seccomp_filters.inc"  // made by tools/make_filters.cc

}  // namespace

std::span<const sock_filter> seccomp_filter(const Plan& plan) {
  const bool nested = plan.allow_nested_namespaces;
  if (!plan.process.allow_fork && nested) return kNestedNoFork;
  if (!plan.process.allow_fork) return kNoFork;
  if (nested) return kNested;
  return kUsual;
}

}  // namespace hermetic::linux_backend
