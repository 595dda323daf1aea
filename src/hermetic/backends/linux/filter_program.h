// What a seccomp filter would answer, worked out here: hermetic decides about calls that it is told
// of by the very filter that would decide otherwise.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstdint>
#include <span>

namespace hermetic::linux_backend {

// SECCOMP_RET_… and its data. A program that this does not understand refuses everything.
[[nodiscard]] std::uint32_t answer_of(std::span<const sock_filter> program,
                                      const seccomp_data& data);

}  // namespace hermetic::linux_backend
