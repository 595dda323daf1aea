#include "hermetic/record/event_json.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "tests/unit/record/redaction_sample.h"

namespace hermetic {
namespace {

using nlohmann::json;

Event denial() {
  return {.kind = Event::Kind::Network,
          .since_start = std::chrono::microseconds(1500),
          .act = "connect",
          .subject = "192.0.2.1:443",
          .detail = "curl https://me:pw@example.org",
          .verdict = Verdict::Deny,
          .rule = "network: none (hermetic.yaml:7)",
          .endpoint = Endpoint{.family = "inet",
                               .protocol = "tcp",
                               .address = "192.0.2.1",
                               .port = 443,
                               .name = "example.org"},
          .processes = {{.pid = 12,
                         .parent = 11,
                         .executable = "/usr/bin/curl",
                         .arguments = {"curl", "--token", "x", "correct-horse", "\xff\n"},
                         .directory = "/w"},
                        {.pid = 11, .parent = 2, .executable = "/bin/sh"}}};
}

EventStamp second() {
  return {.sequence = 2,
          .time = std::chrono::system_clock::time_point(std::chrono::microseconds(1'000'001))};
}

TEST(EventLine, HoldsEverythingInAFixedOrder) {
  EXPECT_EQ(
      EventLines(sample_redaction()).line(denial(), second()),
      R"({"seq":2,"kind":"network","act":"connect","subject":"192.0.2.1:443","verdict":"deny",)"
      R"x("rule":"network: none (hermetic.yaml:7)",)x"
      R"("detail":"curl https://me:[redacted]@example.org",)"
      R"("amount":0,"endpoint":{"family":"inet","protocol":"tcp","address":"192.0.2.1","port":443,)"
      R"("name":"example.org"},"process":{"executable":"/usr/bin/curl","arguments":["curl",)"
      R"("--token","[redacted]","[redacted:A_TOKEN]","\\xff\\n"],"directory":"/w"},"parents":)"
      R"([{"executable":"/bin/sh","arguments":[],"directory":""}],"volatile":{"time":)"
      R"("1970-01-01T00:00:01.000001Z","since_start_us":1500,"processes":[{"pid":12,"parent":11},)"
      R"({"pid":11,"parent":2}]}})"
      "\n");
}

TEST(EventLine, CarriesTheVersionInTheFirstLineOnly) {
  EXPECT_EQ(json::parse(EventLines(sample_redaction()).line({}, {}))["version"], 1);
  EXPECT_FALSE(json::parse(EventLines(sample_redaction()).line({}, second())).contains("version"));
}

TEST(EventLine, DiffersFromRunToRunUnderVolatileOnly) {
  Event other = denial();
  other.since_start = {};
  other.processes[0].pid = 99;
  other.processes[1].parent = 1;
  json a = json::parse(EventLines(sample_redaction()).line(denial(), second()));
  json b = json::parse(EventLines(sample_redaction()).line(other, {.sequence = 2}));
  EXPECT_NE(a, b);
  a.erase("volatile");
  b.erase("volatile");
  EXPECT_EQ(a, b);
}

TEST(EventLine, IsRedactedEverywhere) {
  const std::string secret = "correct-horse";
  const Event event{
      .kind = Event::Kind::Network,
      .act = secret,
      .subject = secret,
      .detail = secret,
      .rule = secret,
      .endpoint = Endpoint{.family = secret, .protocol = secret, .address = secret, .name = secret},
      .processes = {{.executable = secret, .arguments = {secret}, .directory = secret},
                    {.executable = secret, .arguments = {secret}, .directory = secret}}};
  const Redaction none(std::map<std::string, std::string>{});
  EXPECT_NE(EventLines(none).line(event, {}).find(secret), std::string::npos);
  EXPECT_EQ(EventLines(sample_redaction()).line(event, {}).find(secret), std::string::npos);
  EXPECT_EQ(event_sentence(event, sample_redaction()).find(secret), std::string::npos);
}

// What it has seen before it does not write otherwise than what it sees first, and nothing of what
// it has forgotten or mixed up.
TEST(EventLine, IsTheSameWhateverWasWrittenBefore) {
  EventLines lines(sample_redaction());
  std::vector<Event> events;
  for (int i = 0; i < 700; ++i) {
    Event event = denial();
    event.subject = "host " + std::to_string(i % 300);
    event.detail = i % 50 == 0 ? std::string(2000, static_cast<char>('a' + i % 26)) : "";
    event.processes[0].arguments.push_back(std::to_string(i % 20));
    event.processes[1].directory = "/" + std::to_string(i % 3);
    if (i % 60 == 0) event.processes[0].arguments.emplace_back(100'000, 'x');
    if (i % 11 == 0) std::swap(event.processes[0].directory, event.processes[0].executable);
    events.push_back(std::move(event));
  }
  for (const Event& event : events)
    ASSERT_EQ(lines.line(event, second()), EventLines(sample_redaction()).line(event, second()));
}

TEST(EventSentence, NamesTheActAndWhoItWas) {
  EXPECT_EQ(event_sentence(denial(), sample_redaction()),
            "network denied connect 192.0.2.1:443: curl https://me:[redacted]@example.org, by "
            "/usr/bin/curl, rule network: none (hermetic.yaml:7)");
}

TEST(Timestamp, IsOfTheCalendar) {
  using std::chrono::seconds;
  EXPECT_EQ(timestamp(std::chrono::system_clock::time_point(seconds(951'827'696))),
            "2000-02-29T12:34:56.000000Z");
}

}  // namespace
}  // namespace hermetic
