// Feeds arbitrary bytes to the reader of policies: it answers with a policy that can be judged by,
// or with a useful error.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "hermetic/base/check.h"
#include "hermetic/base/text.h"
#include "hermetic/gate/policy.h"

namespace {

using hermetic::Error;
using hermetic::Result;
using hermetic::gate::Policy;
using hermetic::gate::Step;

void check_error(const Error& error) {
  CHECK(error.kind == Error::Kind::InvalidSpec);
  CHECK(error.origin.source == "policy.yml");
  CHECK(!error.message.empty() && !error.hint.empty());
  CHECK(hermetic::printable(error.message) == error.message);
  CHECK(hermetic::printable(error.hint) == error.hint);
  CHECK(error.message.size() < 2000 && error.hint.size() < 5000);
}

void check_step(const Policy& policy, const Step& step) {
  CHECK(!step.id.empty() && !step.command.empty() && step.origin.line > 0);
  CHECK(step.id.find('/') == std::string::npos && !step.id.starts_with('.'));  // it names a folder
  CHECK(policy.find(step.id) == &step);
  for (const std::string& needed : step.needs) {
    const Step* other = policy.find(needed);
    CHECK(other != nullptr && other != &step);
  }
  for (const hermetic::gate::GovernedException& exception : step.exceptions) {
    CHECK(exception.host.has_value() != exception.listen_port.has_value());
    if (policy.version > 1)
      CHECK(!exception.owner.empty() && !exception.reason.empty() && !exception.expires.empty());
  }
  (void)network_of(step);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<Policy> policy = hermetic::gate::parse_policy(text, "policy.yml", "/work");
  if (!policy) {
    check_error(policy.error());
    return 0;
  }
  CHECK(!policy->steps.empty());
  for (const Step& step : policy->steps) check_step(*policy, step);
  return 0;
}
