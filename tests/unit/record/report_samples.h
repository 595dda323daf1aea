// Reports to print: one as a gate makes it, and one whose every text tries to break out.
#pragma once

#include <array>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "hermetic/base/text.h"
#include "hermetic/record/report.h"

namespace hermetic::samples {

inline ProcessFacts process(int pid, std::string executable, std::vector<std::string> arguments) {
  return {.pid = pid,
          .parent = pid - 1,
          .executable = std::move(executable),
          .arguments = std::move(arguments),
          .directory = "/work"};
}

inline Attempt denied(std::string act, std::string subject, std::vector<ProcessFacts> who,
                      std::uint64_t count = 1) {
  return {.event = {.kind = Event::Kind::Network,
                    .act = std::move(act),
                    .subject = std::move(subject),
                    .verdict = Verdict::Deny,
                    .rule = "network: none (docs/ci/policy.yml:14:7)",
                    .processes = std::move(who)},
          .count = count};
}

inline Violation violation_of(const Attempt& attempt) {
  return {.act = attempt.event.act,
          .subject = attempt.event.subject,
          .detail = "somebody",
          .rule = attempt.event.rule,
          .count = attempt.count};
}

// A run of `seconds`, that builds, then tests, then waits.
inline std::vector<Usage> usage_of_a_build(int seconds) {
  std::vector<Usage> samples;
  double cpu = 0;
  for (int i = 0; i <= seconds * 4; ++i) {
    const double at = i / 4.0;
    const double part = at / seconds;
    const double load = part < 0.6 ? 1.7 + 0.25 * std::sin(at * 2.1) : part < 0.85 ? 0.9 : 0.05;
    cpu += load / 4;
    Usage usage;
    usage.wall_time = std::chrono::microseconds(static_cast<long>(at * 1e6));
    usage.user_time = std::chrono::microseconds(static_cast<long>(cpu * 0.9e6));
    usage.system_time = std::chrono::microseconds(static_cast<long>(cpu * 0.1e6));
    usage.memory_bytes = static_cast<std::uint64_t>(
        (40 + 300 * std::min(part / 0.6, 1.0) + 30 * std::sin(at)) * 1024 * 1024);
    usage.processes = static_cast<std::uint64_t>(part < 0.6 ? 6 + i % 3 : part < 0.85 ? 4 : 2);
    samples.push_back(usage);
  }
  return samples;
}

inline RunRecord sample_run() {
  RunRecord run;
  run.plan.backend = "linux";
  run.plan.spec_digest = std::string(64, 'd');
  run.plan.command = {"/bin/sh", "-c", "make -j2 test"};
  run.plan.directory = "/work";
  run.plan.environment = {{"PATH", "/usr/bin:/bin"}, {"API_TOKEN", "correct-horse-battery"}};
  for (const Clause clause : all_clauses().subspan(0, 21))
    run.plan.clauses.push_back({.clause = clause,
                                .strength = Strength::Enforced,
                                .mechanism = "namespaces, mounts and a filter",
                                .reason = ""});
  run.outcome.ending = Exited{0};
  run.outcome.usage.wall_time = std::chrono::seconds(24);
  run.outcome.usage.user_time = std::chrono::seconds(26);
  run.outcome.usage.system_time = std::chrono::seconds(3);
  run.outcome.usage.peak_memory_bytes = std::uint64_t{368} << 20U;
  run.outcome.usage.peak_processes = 9;
  run.outcome.usage.started_processes = 241;
  for (const char* probe : {"tcp", "udp", "dns", "io_uring", "vsock", "listen", "secret", "input"})
    run.outcome.probes.push_back({.name = probe, .tried = std::string(probe) != "vsock"});
  run.coverage = {{.detector = "network", .on = true, .why = ""},
                  {.detector = "processes", .on = true, .why = ""},
                  {.detector = "files", .on = false, .why = "nobody asked for it"},
                  {.detector = "limits", .on = true, .why = ""}};
  run.processes = {
      {.pid = 100,
       .executed = {"/bin/sh"},
       .arguments = {"/bin/sh", "-c", "make -j2 test"},
       .children = {{.pid = 101,
                     .executed = {"/usr/bin/make"},
                     .arguments = {"make", "-j2", "test"},
                     .children = {{.pid = 102,
                                   .executed = {"/usr/bin/cc"},
                                   .arguments = {"cc", "-O2", "-c", "parser.c", "-o", "parser.o"}},
                                  {.pid = 103,
                                   .executed = {"/work/out/run_tests"},
                                   .arguments = {"./run_tests", "--all"}}}}}}};
  run.samples = usage_of_a_build(24);
  run.started = std::chrono::system_clock::time_point(std::chrono::seconds(1'760'000'000));
  return run;
}

inline Manifest sample_manifest() {
  Manifest manifest;
  manifest.stable = {{"version", 1},
                     {"type", "hermetic.run"},
                     {"inputs",
                      {{{"path", "/usr"},
                        {"measure", "programs"},
                        {"digest", "sha256:" + std::string(64, '1')},
                        {"files", 12U},
                        {"size", 48'310'222U}},
                       {{"path", "/work/src"},
                        {"measure", "content"},
                        {"digest", "sha256:" + std::string(64, '2')},
                        {"files", 482U},
                        {"size", 3'911'004U}}}}};
  return manifest;
}

inline ReportStep passed_step() {
  ReportStep step{.id = "unit-tests",
                  .description = "Builds everything and runs the unit tests",
                  .origin = {.source = "docs/ci/policy.yml", .line = 9, .column = 5},
                  .verdict = StepVerdict::Pass,
                  .reason = "",
                  .breaches = {},
                  .run = sample_run(),
                  .manifest = sample_manifest(),
                  .standard_output = "cc -O2 -c parser.c\n./run_tests --all\n482 tests passed\n",
                  .standard_error = ""};
  step.run->outcome.outputs = {{.path = "/work/out/report.xml",
                                .type = FileType::File,
                                .size_bytes = 48'211,
                                .files = 1,
                                .digest = std::string(64, '3')}};
  return step;
}

inline ReportStep failed_step() {
  ReportStep step = passed_step();
  step.id = "integration";
  step.description = "Integration tests against the local store";
  step.origin.line = 14;
  step.verdict = StepVerdict::Fail;
  step.reason = "3 things were tried that the policy does not allow";
  RunRecord& run = *step.run;
  run.outcome.ending = Exited{6};
  run.exit_code = 6;
  const std::vector<ProcessFacts> chain = {
      process(104, "/usr/bin/curl", {"curl", "-sS", "--retry", "2", "https://example.org/model"}),
      process(103, "/usr/bin/python3.11", {"python3", "-m", "pytest", "tests/integration"}),
      process(102, "/bin/sh", {"/bin/sh", "-c", "python3 -m pytest tests/integration"})};
  run.network = {denied("connect", "192.0.2.1:443/tcp", chain, 3),
                 denied("listen", "0.0.0.0:8080/tcp", {chain[1], chain[2]}),
                 denied("resolve", "example.org", chain, 2)};
  for (const Attempt& attempt : run.network)
    run.outcome.violations.push_back(violation_of(attempt));
  run.plan.clauses[7].strength = Strength::Observed;
  run.plan.clauses[7].reason = "the kernel has no seccomp user notification";
  step.breaches = breaches_of(run, Redaction(run.plan.environment));
  step.standard_output = "collected 41 items\ntests/integration/test_store.py ....F\n";
  step.standard_error =
      "curl: (6) Could not resolve host: example.org\nE   ConnectionError: no route\n";
  return step;
}

inline Report sample_report() {
  Report report{.title = "hermetic gate",
                .revision = "4c1f0e2b6a7d9c3e5f8a0b1c2d3e4f5a6b7c8d9e",
                .policy_file = "docs/ci/policy.yml",
                .policy_digest = std::string(64, 'a'),
                .assurance = Assurance::Observed,
                .steps = {}};
  ReportStep skipped{.id = "package",
                     .description = "Makes the package",
                     .origin = {.source = "docs/ci/policy.yml", .line = 31, .column = 5},
                     .verdict = StepVerdict::Skipped,
                     .reason = "it needs the step integration, which did not pass",
                     .breaches = {},
                     .run = {},
                     .manifest = {},
                     .standard_output = "",
                     .standard_error = ""};
  report.steps = {passed_step(), failed_step(), skipped};
  return report;
}

// Each of them ends some context, opens another, or hides what follows.
inline std::vector<std::string> hostile_texts() {
  return {
      "</script><script>alert(1)</script>",
      "</style><img src=x onerror=alert(2)>",
      "</details></section></main></body></html>",
      "\"' onmouseover='alert(3)' x=\"",
      "]]><x/>&amp;&lt;&#0;&bogus;",
      "-->",
      "a|b\\|c`d``e\\",
      "|---|",
      "`code`",
      "**bold** _em_ ~~del~~ [link](javascript:alert(4)) ![image](http://192.0.2.1/x.png)",
      "<https://example.org> www.example.org https://example.org me@example.org @somebody #1 $x^2$",
      "# heading\n\n- list\r\n\n    code",
      "1. one",
      "- dash",
      "\x1b[31mred\x1b[0m\x1b]0;title\x07",
      std::string("nul\0byte", 8),
      "not\xff\xfeutf8\xc3(",
      "\xe2\x80\xae"
      "desrever"
      "\xe2\x80\xac",  // right-to-left override
      "left\xe2\x80\x8fright\xd8\x9c\xe2\x81\xa6.",
      "\xef\xbf\xbe\xef\xbf\xbf\xf0\x9f\xbf\xbe",  // no characters
      "\xf0\x9f\x9a\x80 \xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d \xe4\xb8\xad\xe6\x96\x87",
      std::string(40'000, 'W'),
      "%s%n{0}{}",
      " leading and trailing ",
  };
}

// Every text of the report is, one after the other, every hostile one.
inline Report hostile_report() {
  Report report = sample_report();
  report.steps.clear();
  const std::vector<std::string> texts = hostile_texts();
  std::size_t number = 0;
  for (const std::string& text : texts) {
    constexpr std::array kVerdicts = {StepVerdict::Fail, StepVerdict::Error, StepVerdict::Skipped,
                                      StepVerdict::Pass};
    ReportStep step = failed_step();
    RunRecord& run = *step.run;
    step.id = text + "#" + std::to_string(number);
    step.description = text;
    step.reason = text;
    step.origin.source = text;
    step.verdict = kVerdicts.at(number % kVerdicts.size());
    run.plan.backend = text;
    run.plan.command = {text, text};
    for (PlannedClause& planned : run.plan.clauses) {
      planned.strength = Strength::Observed;
      planned.mechanism = text;
      planned.reason = text;
    }
    for (Coverage& coverage : run.coverage) coverage = {.detector = text, .on = false, .why = text};
    run.outcome.probes = {{.name = text, .tried = true}};
    run.outcome.outputs = {{.path = text, .type = FileType::File, .digest = text}};
    run.network = {denied(text, text, {process(3, text, {text, text}), process(2, text, {})})};
    run.network[0].event.rule = text;
    run.outcome.violations = {violation_of(run.network[0])};
    run.outcome.ending = OverLimit{.which = text, .actual = 2, .limit = 1};
    ProcessNode node{.pid = 7, .executed = {text, text}, .arguments = {text, text}};
    for (int depth = 0; depth < 100; ++depth)
      node = ProcessNode{.pid = 7, .executed = {text}, .arguments = {"x"}, .children = {node}};
    if (text.size() < 1'000) run.processes = {node};
    step.breaches = breaches_of(run, Redaction(run.plan.environment));
    step.breaches.push_back(
        {.rule_id = text, .message = text, .chain = {text, text}, .decided_by = text});
    step.breaches.back().brief = text;
    step.breaches.back().remedy = text;
    step.last_lines = {text, "```", text};
    step.notes = {text};
    step.manifest->stable["inputs"] = {
        {{"path", printable(text)}, {"measure", printable(text)}, {"digest", printable(text)}}};
    step.standard_output = text + "\n" + text;
    step.standard_error = text;
    report.steps.push_back(step);
    ++number;
  }
  report.comparison = ReportChanges{.folder = texts[0], .revision = texts[8], .steps = {}};
  for (const std::string& text : texts) {
    report.links.push_back({.name = text, .address = text});
    report.links.push_back({.name = text, .address = "https://example.org/" + text});
    report.comparison->steps.push_back(
        {.id = text, .before = text, .now = text, .appeared = {text}, .disappeared = {text}});
  }
  report.title = texts[0] + texts[6];
  report.revision = texts[1];
  report.policy_file = texts[16] + texts[9];
  report.policy_digest = texts[3];
  return report;
}

}  // namespace hermetic::samples
