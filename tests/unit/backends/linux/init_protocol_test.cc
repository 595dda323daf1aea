#include "hermetic/backends/linux/init_protocol.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "hermetic/backends/linux/lower.h"
#include "hermetic/plan/model.h"
#include "hermetic/spec/spec_builder.h"

namespace hermetic::linux_backend {
namespace {

// A message as lower() makes it.
std::string usual_message() {
  const Spec spec = SpecBuilder({"true"})
                        .input("/w")
                        .directory("/w")
                        .lookup(look_up_by_name)
                        .caller_environment({})
                        .build()
                        .value();
  const Plan plan = make_plan(spec, model_capabilities()).value();
  return lower(plan, Facts{.watched = {.files = true}}).init_message;
}

InitConfig header_of(const std::string& message) {
  InitConfig config;
  std::memcpy(&config, message.data(), sizeof config);
  return config;
}

std::string with_header(std::string message, const InitConfig& config) {
  std::memcpy(message.data(), &config, sizeof config);
  return message;
}

bool is_whole(const std::string& message) {
  return is_whole_config(message.data(), message.size());
}

TEST(InitConfig, IsWholeAsItIsSent) {
  const std::string message = usual_message();
  EXPECT_TRUE(is_whole(message));
  EXPECT_EQ(message.substr(directory_begin(header_of(message))), std::string("/w\0\0\0", 5))
      << "the directory, and nothing to try";
}

TEST(InitConfig, OfAnyOtherSizeIsNotWhole) {
  const std::string message = usual_message();
  for (std::size_t size = 0; size < message.size(); ++size)
    EXPECT_FALSE(is_whole(message.substr(0, size))) << size;
  EXPECT_FALSE(is_whole(message + '\0'));
}

TEST(InitConfig, CountsThatWrapAroundAreNotWhole) {
  const std::string message = usual_message();
  InitConfig config = header_of(message);
  // Their sum in 32 bits is what it was.
  config.observer_count += config.filter_count + 5;
  config.filter_count = 0U - 5U;
  EXPECT_EQ(config.filter_count + config.observer_count,
            header_of(message).filter_count + header_of(message).observer_count);
  EXPECT_FALSE(is_whole(with_header(message, config)));
}

TEST(InitConfig, WithAnUnknownProbeIsNotWhole) {
  const std::string message = usual_message();
  InitConfig config = header_of(message);
  config.probes = (1U << kProbeCount) - 1;
  EXPECT_TRUE(is_whole(with_header(message, config))) << "the control";
  config.probes = 1U << kProbeCount;
  EXPECT_FALSE(is_whole(with_header(message, config)));
}

TEST(InitConfig, MoreInstructionsThanTheKernelTakesAreNotWhole) {
  InitConfig config{.filter_count = kMostFilterInstructions,
                    .directory_size = 1,
                    .secret_size = 1,
                    .input_size = 1};
  std::string message(directory_begin(config) + 3, '\0');
  EXPECT_TRUE(is_whole(with_header(message, config))) << "the control";
  ++config.observer_count;
  message.append(8, '\0');
  EXPECT_FALSE(is_whole(with_header(message, config)));
}

TEST(InitConfig, WithoutTheEndOfItsDirectoryIsNotWhole) {
  std::string message = usual_message();
  message.back() = 'x';
  EXPECT_FALSE(is_whole(message));
  InitConfig config;
  message.assign(sizeof config, '\0');
  EXPECT_FALSE(is_whole(with_header(message, config))) << "no directory at all";
}

TEST(InitSignal, IsASignalAndWhole) {
  EXPECT_TRUE(is_whole_signal({.number = 15, .to_all = 1}, sizeof(InitSignal)));
  EXPECT_FALSE(is_whole_signal({.number = 15}, sizeof(InitSignal) - 1));
  EXPECT_FALSE(is_whole_signal({.number = 15}, sizeof(InitSignal) + 1));
  EXPECT_FALSE(is_whole_signal({.number = 0}, sizeof(InitSignal)));
  EXPECT_FALSE(is_whole_signal({.number = -9}, sizeof(InitSignal)));
  EXPECT_FALSE(is_whole_signal({.number = 65}, sizeof(InitSignal)));
  EXPECT_FALSE(is_whole_signal({.number = 15, .to_all = 2}, sizeof(InitSignal)));
}

bool is_whole(const InitReport& report, bool has_descriptor = false) {
  return is_whole_report(report, sizeof report, has_descriptor);
}

TEST(InitReport, ComesWithADescriptorExactlyIfItsKindDoes) {
  using Kind = InitReport::Kind;
  for (const Kind kind : {Kind::Terminal, Kind::Observer, Kind::Processes}) {
    EXPECT_TRUE(is_whole({.kind = kind}, true));
    EXPECT_FALSE(is_whole({.kind = kind}, false));
  }
  EXPECT_TRUE(is_whole({.kind = Kind::Started}, false));
  EXPECT_FALSE(is_whole({.kind = Kind::Started}, true));
  EXPECT_FALSE(is_whole({.kind = static_cast<Kind>(7)}));
  EXPECT_FALSE(is_whole_report({.kind = Kind::Started}, sizeof(InitReport) - 1, false));
}

TEST(InitReport, TellsOnlyEndingsThatThereAre) {
  using Kind = InitReport::Kind;
  EXPECT_TRUE(is_whole({.kind = Kind::Ended, .wait_status = 0}));
  EXPECT_TRUE(is_whole({.kind = Kind::Ended, .wait_status = 255 << 8}));
  EXPECT_TRUE(is_whole({.kind = Kind::Ended, .wait_status = 11 | 0x80})) << "with a core";
  EXPECT_FALSE(is_whole({.kind = Kind::Ended, .wait_status = 0x137F})) << "stopped";
  EXPECT_FALSE(is_whole({.kind = Kind::Ended, .wait_status = 0xFFFF})) << "continued";
  EXPECT_FALSE(is_whole({.kind = Kind::Ended, .wait_status = -1}));
  EXPECT_FALSE(is_whole({.kind = Kind::NotStarted})) << "for no reason";
  EXPECT_TRUE(is_whole({.kind = Kind::NotStarted, .os_error = 2}));
  EXPECT_FALSE(is_whole({.kind = Kind::StepFailed, .os_error = -2}));
  EXPECT_FALSE(is_whole({.kind = Kind::Ended, .peak_kilobytes = ~std::uint64_t{0}}));
  EXPECT_FALSE(is_whole({.kind = Kind::Ended, .started_processes = ~std::uint64_t{0}}));
  EXPECT_FALSE(is_whole({.kind = Kind::Ended, .transfers = {0, 0, 0, 0, 0, ~std::uint64_t{0}}}));
}

}  // namespace
}  // namespace hermetic::linux_backend
