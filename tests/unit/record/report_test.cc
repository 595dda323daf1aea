#include "hermetic/record/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/unit/record/report_samples.h"

namespace hermetic {
namespace {

using samples::denied;
using samples::process;
using samples::violation_of;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Redaction kNothingSecret{std::map<std::string, std::string>{}};

RunRecord record_of(std::vector<Attempt> attempts) {
  RunRecord record;
  for (const Attempt& attempt : attempts)
    record.outcome.violations.push_back(violation_of(attempt));
  record.network = std::move(attempts);
  return record;
}

TEST(Report, TheWorstStepDecides) {
  Report report;
  EXPECT_EQ(report.verdict(), StepVerdict::Error);  // nothing was run, so nothing is proved
  const auto with = [&](StepVerdict verdict) {
    report.steps.push_back({.verdict = verdict});
    return report.verdict();
  };
  EXPECT_EQ(with(StepVerdict::Pass), StepVerdict::Pass);
  EXPECT_EQ(with(StepVerdict::Skipped), StepVerdict::Fail);
  EXPECT_EQ(with(StepVerdict::Fail), StepVerdict::Fail);
  EXPECT_EQ(with(StepVerdict::Error), StepVerdict::Error);
  EXPECT_EQ(with(StepVerdict::Pass), StepVerdict::Error);
}

TEST(Report, VerdictsHaveNames) {
  EXPECT_EQ(to_string(StepVerdict::Pass), "pass");
  EXPECT_EQ(to_string(StepVerdict::Fail), "fail");
  EXPECT_EQ(to_string(StepVerdict::Error), "error");
  EXPECT_EQ(to_string(StepVerdict::Skipped), "skipped");
}

TEST(Breaches, SayWhatWhoAndWhichRule) {
  const RunRecord record = record_of({denied(
      "connect", "192.0.2.1:443/tcp",
      {process(12, "/usr/bin/curl", {"curl", "-o", "a b", ""}), process(11, "/bin/sh", {})}, 3)});
  const std::vector<Breach> breaches = breaches_of(record, kNothingSecret);
  ASSERT_EQ(breaches.size(), 1U);
  EXPECT_EQ(breaches[0].rule_id, "network-denied");
  EXPECT_EQ(breaches[0].message, "connect to 192.0.2.1:443/tcp was denied");
  EXPECT_THAT(breaches[0].chain, ElementsAre("/usr/bin/curl -o 'a b' ''", "/bin/sh"));
  EXPECT_EQ(breaches[0].decided_by, "network: none (docs/ci/policy.yml:14:7)");
  EXPECT_EQ(breaches[0].count, 3U);
}

TEST(Breaches, EveryKindHasItsRule) {
  const std::vector<ProcessFacts> who = {process(2, "/bin/x", {"x"})};
  RunRecord record =
      record_of({denied("listen", "0.0.0.0:80/tcp", who), denied("resolve", "example.org", who),
                 denied("socket", "inet/raw", who), denied("sendmmsg", "192.0.2.1:53/udp", who)});
  record.outcome.violations.push_back({.act = "open", .subject = "/etc/shadow", .detail = "cat"});
  record.outcome.violations.push_back({.act = "more", .subject = "of other kinds", .detail = ""});
  record.outcome.ending = OverLimit{.which = "memory", .actual = 99'999'999, .limit = 64 << 20};
  std::vector<std::pair<std::string, std::string>> told;
  for (const Breach& breach : breaches_of(record, kNothingSecret))
    told.emplace_back(breach.rule_id, breach.message);
  using Told = std::pair<std::string, std::string>;
  EXPECT_THAT(told, ElementsAre(Told("file-denied", "open /etc/shadow was denied"),
                                Told("limit", "memory went over its limit of 64M"),
                                Told("listener", "listening on 0.0.0.0:80/tcp was denied"),
                                Told("name-lookup", "looking up example.org was denied"),
                                Told("network-denied", "sendmmsg to 192.0.2.1:53/udp was denied"),
                                Told("socket", "a socket of the kind inet/raw was denied"),
                                Told("violation", "more of other kinds were denied")));
}

TEST(Breaches, LimitsOfTime) {
  RunRecord record;
  record.outcome.ending = TimedOut{.limit = std::chrono::seconds(90)};
  EXPECT_EQ(breaches_of(record, kNothingSecret)[0].message, "it did not end within 1m30s");
  record.outcome.ending =
      TimedOut{.limit = std::chrono::seconds(5), .which = TimedOut::Which::IdleTime};
  EXPECT_EQ(breaches_of(record, kNothingSecret)[0].message, "it neither wrote nor computed for 5s");
  EXPECT_EQ(breaches_of(record, kNothingSecret)[0].rule_id, "timeout");
  record.outcome.ending = OverLimit{.which = "cpu_time", .actual = 1, .limit = 10'000};
  EXPECT_EQ(breaches_of(record, kNothingSecret)[0].decided_by, "limits: cpu_time: 10s");
  record.outcome.ending = Exited{1};
  EXPECT_THAT(breaches_of(record, kNothingSecret), IsEmpty());
}

// As when the C library looks which way a packet to "localhost" would take.
TEST(Breaches, WhatTheOutcomeDoesNotCallAViolationIsNone) {
  RunRecord record;
  record.network = {denied("connect", "127.0.0.1:0/udp", {process(2, "/bin/x", {"x"})})};
  EXPECT_THAT(breaches_of(record, kNothingSecret), IsEmpty());
}

TEST(Breaches, DependNeitherOnTheOrderNorOnProcessNumbers) {
  const auto attempts = [](int pid) {
    return std::vector<Attempt>{
        denied("connect", "192.0.2.1:1/tcp", {process(pid, "/bin/a", {"a"})}),
        denied("connect", "192.0.2.1:1/tcp", {process(pid + 5, "/bin/b", {"b"})}),
        denied("connect", "192.0.2.0:1/tcp", {process(pid + 5, "/bin/b", {"b"})})};
  };
  RunRecord first = record_of(attempts(100));
  RunRecord second = record_of(attempts(7));
  std::reverse(second.network.begin(), second.network.end());
  std::reverse(second.outcome.violations.begin(), second.outcome.violations.end());
  EXPECT_EQ(breaches_of(first, kNothingSecret), breaches_of(second, kNothingSecret));
  EXPECT_EQ(breaches_of(first, kNothingSecret).size(), 3U);
}

TEST(Breaches, AreCountedOnce) {
  const std::vector<Breach> both = breaches_of(
      [] {
        RunRecord record =
            record_of({denied("connect", "192.0.2.1:1/tcp", {process(2, "/bin/a", {"a"})}, 2),
                       denied("connect", "192.0.2.1:1/tcp", {process(3, "/bin/b", {"b"})}, 3)});
        record.outcome.ending = EndedByViolation{record.outcome.violations[0]};
        return record;
      }(),
      kNothingSecret);
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].count, 2U);
  EXPECT_EQ(both[1].count, 3U);
}

TEST(Breaches, TheOneThatEndedTheRunIsTold) {
  RunRecord record;
  record.outcome.violations = {{.act = "open", .subject = "/x", .detail = "cat"}};
  record.outcome.ending = EndedByViolation{record.outcome.violations[0]};
  ASSERT_EQ(breaches_of(record, kNothingSecret).size(), 1U);
  EXPECT_EQ(breaches_of(record, kNothingSecret)[0].count, 1U);
  record.outcome.violations.clear();
  EXPECT_EQ(breaches_of(record, kNothingSecret).size(), 1U);
}

TEST(Breaches, HoldNoSecretsAndNothingThatBreaksALine) {
  const std::map<std::string, std::string> environment = {{"API_TOKEN", "correct-horse"}};
  RunRecord record = record_of({denied(
      "resolve", "correct-horse.example\n\x1b[1m",
      {process(2, "/bin/correct-horse", {"x", "correct-horse", "--password", "hunter22"})})});
  record.outcome.violations.push_back({.act = "correct-horse", .subject = "correct-horse"});
  for (const Breach& breach : breaches_of(record, Redaction(environment))) {
    std::string all = breach.message + breach.decided_by;
    for (const std::string& line : breach.chain) all += line;
    EXPECT_EQ(all.find("correct-horse"), std::string::npos) << all;
    EXPECT_EQ(all.find("hunter22"), std::string::npos) << all;
    EXPECT_EQ(all.find_first_of("\n\x1b"), std::string::npos) << all;
  }
}

TEST(Breaches, AreShortHoweverLongTheArgumentsAre) {
  const RunRecord record = record_of({denied(
      "connect", "192.0.2.1:1/tcp", {process(2, "/bin/a", {"a", std::string(1'000'000, 'W')})})});
  const std::vector<Breach> breaches = breaches_of(record, kNothingSecret);
  EXPECT_LT(breaches[0].chain[0].size(), 1'100U);
  EXPECT_THAT(breaches[0].chain[0], ::testing::HasSubstr("bytes more"));
}

}  // namespace
}  // namespace hermetic
