#include "hermetic/learn/lacking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hermetic/spec/spec_builder.h"
#include "tests/unit/spec/temp_dir.h"

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

TEST(Lacking, ATempHidesWhatTheHostHasButNotWhatTheRunMade) {
  const TempDir temp;
  const AskedPath hidden{.path = temp.file("hidden")};
  const AskedPath own{.path = temp.file("own")};
  const AskedPath made{.path = own.path, .operation = Operation::Write};
  const Result<Spec> spec = SpecBuilder({"true"}).input("/usr").temp(temp.path()).build();
  ASSERT_TRUE(spec) << to_string(spec.error());
  EXPECT_THAT(lacking(*spec, {hidden, own, made}), ::testing::ElementsAre(hidden));
}

}  // namespace
}  // namespace hermetic
