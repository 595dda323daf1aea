#include "hermetic/learn/needless.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hermetic/spec/spec_builder.h"
#include "tests/unit/learn/world.h"

namespace hermetic {
namespace {

TEST(NeedlessTest, NamesWhatWasNotUsedAndWhatLittleWas) {
  const Result<Spec> spec = SpecBuilder({"true"})
                                .input("/usr")
                                .input("/srv/data")
                                .input("/srv/all")
                                .output("/p/app/out")
                                .temp("/p/app/work")
                                .lookup(look_up_by_name)
                                .build();
  ASSERT_TRUE(spec) << to_string(spec.error());
  World world;
  world.reads("/usr/bin/x").probes("/srv/data/nothing").makes("/p/app/out/y").lists("/srv/all");
  EXPECT_THAT(needless(*spec, world.seen().paths),
              ::testing::ElementsAre(Needless{"input /usr", "only this was used of it: /usr/bin"},
                                     Needless{"input /srv/data", "nothing in it was used"},
                                     Needless{"temp /p/app/work", "nothing in it was used"}));
}

}  // namespace
}  // namespace hermetic
