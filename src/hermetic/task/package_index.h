// Package indexes: URLs from which packages of an environment may be fetched.
#pragma once

#include <string>

#include "hermetic/base/result.h"
#include "hermetic/spec/network.h"

namespace hermetic::task {

// Its host is all that may be reached while an environment is made. Fails if it is no URL of http
// or https, or has a password in it.
[[nodiscard]] Result<NetworkPolicy> network_for_index(const std::string& url);

}  // namespace hermetic::task
