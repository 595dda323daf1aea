#include "hermetic/record/event_json.h"

#include <fmt/format.h>

#include <ctime>
#include <vector>

#include <nlohmann/json.hpp>

#include "hermetic/base/text.h"

namespace hermetic {
namespace {

// In the order in which the keys are put in: what a reader looks for comes first.
using Json = nlohmann::ordered_json;

class EventAsJson {
 public:
  explicit EventAsJson(const Redaction& redaction) : redaction_(redaction) {}

  [[nodiscard]] std::string text(std::string_view raw) const {
    return printable(redaction_.clean(raw));
  }

  [[nodiscard]] Json process(const ProcessFacts& facts) const {
    Json arguments = Json::array();
    for (const std::string& argument : redaction_.clean_arguments(facts.arguments))
      arguments.push_back(printable(argument));
    return {{"executable", text(facts.executable)},
            {"arguments", std::move(arguments)},
            {"directory", text(facts.directory)}};
  }

  [[nodiscard]] Json endpoint(const Endpoint& endpoint) const {
    return {{"family", text(endpoint.family)},
            {"protocol", text(endpoint.protocol)},
            {"address", text(endpoint.address)},
            {"port", endpoint.port},
            {"name", text(endpoint.name)}};
  }

 private:
  const Redaction& redaction_;
};

}  // namespace

std::string timestamp(std::chrono::system_clock::time_point time) {
  using std::chrono::microseconds;
  const auto since_epoch = std::chrono::floor<microseconds>(time.time_since_epoch());
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since_epoch);
  const std::time_t whole = seconds.count();
  std::tm parts = {};
  ::gmtime_r(&whole, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                     (since_epoch - microseconds(seconds)).count());
}

std::string event_line(const Event& event, const EventStamp& stamp, const Redaction& redaction) {
  const EventAsJson as_json(redaction);
  Json line = Json::object();
  if (stamp.sequence == EventStamp{}.sequence) line["version"] = 1;
  line["seq"] = stamp.sequence;
  line["kind"] = to_string(event.kind);
  line["act"] = as_json.text(event.act);
  line["subject"] = as_json.text(event.subject);
  line["verdict"] = to_string(event.verdict);
  line["rule"] = as_json.text(event.rule);
  line["detail"] = as_json.text(event.detail);
  line["amount"] = event.amount;
  line["endpoint"] = event.endpoint ? as_json.endpoint(*event.endpoint) : Json();
  line["process"] = Json();
  line["parents"] = Json::array();
  Json pids = Json::array();
  for (const ProcessFacts& facts : event.processes) {
    if (pids.empty())
      line["process"] = as_json.process(facts);
    else
      line["parents"].push_back(as_json.process(facts));
    pids.push_back({{"pid", facts.pid}, {"parent", facts.parent}});
  }
  line["volatile"] = {
      {"time", timestamp(stamp.time)},
      {"since_start_us",
       std::chrono::duration_cast<std::chrono::microseconds>(event.since_start).count()},
      {"processes", std::move(pids)}};
  return line.dump(-1, ' ', true) + "\n";
}

std::string event_sentence(const Event& event, const Redaction& redaction) {
  const auto text = [&](std::string_view raw) { return printable(redaction.clean(raw)); };
  std::string sentence(to_string(event.kind));
  const auto add = [&](std::string_view before, const std::string& word) {
    if (!word.empty()) sentence += fmt::format("{}{}", before, word);
  };
  if (event.verdict != Verdict::None)
    sentence += event.verdict == Verdict::Deny ? " denied" : " allowed";
  add(" ", text(event.act));
  add(" ", text(event.subject));
  if (event.amount != 0) sentence += fmt::format(" ({})", event.amount);
  add(": ", text(event.detail));
  if (!event.processes.empty()) add(", by ", text(event.processes.front().executable));
  add(", rule ", text(event.rule));
  return sentence;
}

}  // namespace hermetic
