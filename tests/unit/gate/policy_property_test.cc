// Whatever a policy says: it is read, or refused with a place and nothing that a terminal obeys.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "hermetic/base/text.h"
#include "hermetic/gate/policy.h"

namespace hermetic::gate {
namespace {

void read_or_refuse(const std::string& text) {
  const Result<Policy> policy = parse_policy(text, "p.yml", "/here");
  if (policy) {
    RC_ASSERT(!policy->steps.empty());
    for (const Step& step : policy->steps) {
      RC_ASSERT(!step.id.empty() && step.id.find('/') == std::string::npos);
      (void)network_of(step);
    }
    return;
  }
  RC_ASSERT(policy.error().kind == Error::Kind::InvalidSpec);
  RC_ASSERT(!policy.error().message.empty());
  RC_ASSERT(printable(policy.error().message) == policy.error().message);
  RC_ASSERT(policy.error().message.size() < 2000U);
}

RC_GTEST_PROP(PolicyProperty, AnyBytesAreReadOrRefused, (const std::string& text)) {
  read_or_refuse(text);
}

// Words of the format in any order come further than bytes.
RC_GTEST_PROP(PolicyProperty, AnyWordsAreReadOrRefused, ()) {
  const auto words = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "schema_version: ", "\"1\"", "\"2\"", "\n", "\n  ", "\n    - ",
      "hermetic_steps: ", "id: ", "command: ", "a", "[", "]", "{", "}", ", ",
      "allow: ", "exceptions: ", "host: ", "listen: ", "8080", "*.example.org", "owner: ",
      "reason: ", "expires: ", "2027-01-31", "needs: ", "env: ", "environment: ", "mode: ", "audit",
      "&x ", "*x", "!!str ", "\"\\x1b\"", "~", "null"));
  std::string text = "schema_version: \"2\"\nhermetic_steps:\n  - id: a\n    command: x\n    ";
  for (const std::string& word : words) text += word;
  read_or_refuse(text);
}

}  // namespace
}  // namespace hermetic::gate
