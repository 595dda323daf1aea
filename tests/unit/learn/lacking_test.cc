#include "hermetic/learn/lacking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hermetic/spec/spec_builder.h"

namespace hermetic {
namespace {

TEST(Lacking, IsWhatIsThereAndNotAllowed) {
  const Result<Spec> spec = SpecBuilder({"true"}).input("/usr").build();
  ASSERT_TRUE(spec) << to_string(spec.error());
  const AskedPath there{.path = "/etc/login.defs", .operation = Operation::Read};
  const AskedPath nowhere{.path = "/etc/no such file", .operation = Operation::Read};
  const AskedPath allowed{.path = "/usr/bin/env", .operation = Operation::Execute};
  const AskedPath passed{.path = "/var/lib", .operation = Operation::Read};
  const AskedPath listed{.path = "/var/lib", .operation = Operation::Read, .opened = true};
  const AskedPath made{.path = "/var/new", .operation = Operation::Write};
  const AskedPath again{.path = "/var/lib", .operation = Operation::Write};
  EXPECT_THAT(lacking(*spec, {there, nowhere, allowed, passed, listed, made, again}),
              ::testing::ElementsAre(there, listed, made));
}

}  // namespace
}  // namespace hermetic
