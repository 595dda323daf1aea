// The same questions, asked of decide() and of the kernel.
//
// HERMETIC_DIFFERENTIAL_SEED=N starts with another case, HERMETIC_DIFFERENTIAL_SPECS=N asks about
// more or fewer specs. A failure prints the seed of its case: with that and one spec it is the only
// one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>

#include "tests/differential/broken_lowerings.h"
#include "tests/differential/compare.h"
#include "tests/differential/shrinker.h"
#include "tests/differential/stage.h"

namespace hermetic::differential {
namespace {

using linux_backend::Lowering;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::uint64_t first_seed() {
  return number_from("HERMETIC_DIFFERENTIAL_SEED", std::random_device{}());
}

struct Report {
  std::uint64_t specs = 0;
  std::uint64_t refused = 0;
  std::uint64_t questions = 0;
  std::map<std::string, int> agreements;
  std::string disagreement;  // the first; "" if there is none
};

std::string print_disagreement(std::uint64_t seed, const Case& asked,
                               const Comparison& comparison) {
  return fmt::format("HERMETIC_DIFFERENTIAL_SEED={}\n{}  {}\n", seed, print_case(asked),
                     fmt::join(comparison.disagreements, "\n  "));
}

// Cases until `wanted` were accepted or one disagrees in the way that is looked for. A spec that
// was accepted and cannot be started is a disagreement, too.
Report compare_many(Lowering lowering, const Asking& asking, std::uint64_t wanted,
                    std::string_view looked_for = "") {
  Report report;
  Result<Comparer> comparer = Comparer::make(lowering, asking);
  if (!comparer) {
    report.disagreement = to_string(comparer.error());
    return report;
  }
  for (std::uint64_t seed = first_seed(); report.specs < wanted; ++seed) {
    const Case asked = CaseMaker(seed, bases()).make();
    const Comparison comparison = comparer->compare(asked);
    if (comparison.refused) {
      ++report.refused;
      continue;
    }
    ++report.specs;
    report.questions += comparison.questions;
    for (const auto& [what, count] : comparison.agreements) report.agreements[what] += count;
    if (comparison.disagreements.empty()) continue;
    const Case small = looked_for.empty() ? Shrinker(*comparer, asked).shrink() : asked;
    report.disagreement = print_disagreement(seed, small, comparer->compare(small));
    if (report.disagreement.find(looked_for) != std::string::npos) return report;
  }
  return report;
}

Answer ask_on_stage(const std::function<std::string()>& ask) {
  return ask_with_own_mounts([&]() -> std::string {
    const std::string problem = set_up_stage(HERMETIC_PROBER);
    return problem.empty() ? ask() : problem;
  });
}

// Answers of each kind that must have been among thousands: nothing is proved by questions that are
// never asked.
std::string missing_in(const std::map<std::string, int>& agreements) {
  std::string missing;
  for (const char* what :
       {"read input yes",        "write input no",     "change input no",     "execute input yes",
        "read excepted no",      "write excepted no",  "execute excepted no", "change excepted no",
        "read undeclared no",    "write output yes",   "read output yes",     "read output no",
        "execute output no",     "write in place yes", "read in place no",    "write temp yes",
        "write copy yes",        "read copy yes",      "read on the way yes", "read on the way no",
        "change on the way no",  "read built in yes",  "write built in yes",  "write built in no",
        "execute on the way yes"})
    if (agreements.find(what) == agreements.end()) missing += fmt::format("never: {}\n", what);
  return missing;
}

TEST(Differential, DecideAndTheKernelAgree) {
  constexpr std::uint64_t kEnoughToSeeAll = 300;
  const std::uint64_t wanted =
      number_from("HERMETIC_DIFFERENTIAL_SPECS", HERMETIC_DIFFERENTIAL_SPECS);
  const Answer answer = ask_on_stage([&] {
    const Report report = compare_many(linux_backend::lower, {}, wanted);
    if (!report.disagreement.empty()) return report.disagreement;
    if (wanted >= kEnoughToSeeAll)
      if (std::string missing = missing_in(report.agreements); !missing.empty()) return missing;
    return fmt::format("{} specs, {} questions; {} more specs were refused\n", report.specs,
                       report.questions, report.refused);
  });
  SKIP_UNLESS_ANSWERED(answer);
  ASSERT_THAT(answer.text, StartsWith(fmt::format("{} specs, ", wanted)));
  std::cout << "[    CASES ] " << answer.text;
}

// How many specs a broken lowering may get away with; most are noticed within ten.
constexpr std::uint64_t kNoticedWithin = 400;

struct Broken {
  const char* name;
  Lowering lowering;
  const char* noticed;  // part of what is said then
};
void PrintTo(const Broken& broken, std::ostream* stream) { *stream << broken.name; }

class BrokenLowering : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenLowering, IsNoticed) {
  const Answer answer = ask_on_stage([&] {
    return compare_many(GetParam().lowering, {}, kNoticedWithin, GetParam().noticed).disagreement;
  });
  SKIP_UNLESS_ANSWERED(answer);
  EXPECT_THAT(answer.text, HasSubstr(GetParam().noticed));
}

INSTANTIATE_TEST_SUITE_P(
    Differential, BrokenLowering,
    ::testing::Values(
        Broken{"ShowsExceptions", show_exceptions, "says no (excepted), the kernel says yes"},
        Broken{"LeavesInputsWritable", leave_inputs_writable,
               "says no (input), the kernel says yes"},
        Broken{"ForgetsOutputs", forget_outputs, "says yes (output), the kernel says"},
        Broken{"ForgetsStrictness", forget_strictness, "says no (output), the kernel says yes"},
        Broken{"ForgetsToOpen", forget_to_open, "says yes (temp), the kernel says no (EROFS)"},
        Broken{"ForgetsToPin", forget_to_pin, "move"},
        Broken{"ForgetsTempsInLandlock", forget_temps_in_landlock,
               "says yes (temp), the kernel says no (EACCES)"}),
    [](const auto& test) { return std::string(test.param.name); });

// The two lines are independent: without the first, nothing outside of outputs and temps can be
// opened for writing. BrokenLowering.IsNoticed/LeavesInputsWritable is the control.
TEST(SecondLine, KeepsFilesFromBeingWrittenWithoutReadOnlyMounts) {
  if (linux_backend::landlock_abi_of_this_kernel() == 0) {
    if (must_work()) FAIL() << "this kernel has no Landlock";
    GTEST_SKIP() << "this kernel has no Landlock";
  }
  const Answer answer = ask_on_stage([&] {
    const Report report =
        compare_many(leave_inputs_to_landlock, {.second_line_only = true}, kNoticedWithin);
    if (!report.disagreement.empty()) return report.disagreement;
    return fmt::format("write input no: {}", report.agreements.count("write input no"));
  });
  SKIP_UNLESS_ANSWERED(answer);
  EXPECT_EQ(answer.text, "write input no: 1");
}

}  // namespace
}  // namespace hermetic::differential
