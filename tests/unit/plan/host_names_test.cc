#include "hermetic/plan/host_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hermetic/plan/model.h"
#include "hermetic/spec/placed_path.h"
#include "hermetic/spec/spec_builder.h"

namespace hermetic {
namespace {

using ::testing::HasSubstr;

std::string names_of(Declaration declaration) {
  const Spec spec = SpecBuilder({"true"})
                        .input("/usr")
                        .declare(std::move(declaration))
                        .lookup(look_up_by_name)
                        .caller_environment({})
                        .build()
                        .value();
  const Result<void> done = check_names_are_of_host(make_plan(spec, model_capabilities()).value());
  return done ? "of the host" : to_string(done.error());
}

TEST(HostNames, AreWhatRunsWithoutASandboxHas) {
  EXPECT_EQ(names_of({.path = "/w"}), "of the host");
  EXPECT_EQ(names_of({.kind = TreeKind::Output, .path = "/w"}), "of the host");
  EXPECT_EQ(names_of({.kind = TreeKind::Temp, .path = "/w"}), "of the host");
  EXPECT_THAT(names_of({.path = "/w", .at = "/v"}),
              HasSubstr("without a sandbox, '/w' cannot stand at '/v'"));
  EXPECT_THAT(names_of({.kind = TreeKind::Output, .path = "/w", .at = "/v"}),
              HasSubstr("'/w' cannot stand at '/v'"));
  EXPECT_THAT(names_of(as_root({.path = "/image"})), HasSubstr("'/image' cannot stand at '/'"));
  EXPECT_THAT(names_of(as_root({.kind = TreeKind::Temp, .path = "/image"})),
              HasSubstr("'/image' cannot stand at '/'"));
}

}  // namespace
}  // namespace hermetic
