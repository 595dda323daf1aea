// Properties: rapidcheck with a number of cases that each test chooses, and says.
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdint>
#include <iostream>
#include <sstream>
#include <utility>
#include <vector>

#include "tests/unit/spec/sanitizer.h"

namespace hermetic {

inline int cases_checked = 0;  // by all properties of this program

// RC_PARAMS still gives the seed and the counterexample to reproduce.
template <class Testable>
void check_property(int cases, Testable&& testable) {
  if (kHasSanitizer) cases /= 10;
  const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info();
  rc::detail::TestMetadata metadata;
  metadata.id = std::string(test->test_suite_name()) + "/" + test->name();
  metadata.description = test->name();
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = cases;
  const auto result = rc::detail::checkTestable(std::forward<Testable>(testable), metadata, params);
  if (!result.template is<rc::detail::SuccessResult>()) {
    std::ostringstream text;
    rc::detail::printResultMessage(result, text);
    FAIL() << text.str();
  }
  const int total = cases_checked += cases;
  std::cout << "[    CASES ] " << cases << " of " << metadata.id << ", " << total << " so far\n";
}

// Numbers below `end`, all equally likely from the first case on; they shrink towards 0.
inline rc::Gen<std::uint32_t> number_below(std::uint32_t end) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint32_t>(0, end));
}

// Up to `most` such numbers: the raw material from which tests make their values. Fewer and smaller
// numbers make simpler values, so that rapidcheck shrinks them without being told how.
inline std::vector<std::uint32_t> draw_numbers(int most, std::uint32_t end = 1U << 24U) {
  const auto count = *number_below(static_cast<std::uint32_t>(most) + 1);
  return *rc::gen::container<std::vector<std::uint32_t>>(count, number_below(end));
}

}  // namespace hermetic
