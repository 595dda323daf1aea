#include "hermetic/record/event_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include <nlohmann/json.hpp>

#include "hermetic/base/text.h"

namespace hermetic {
namespace {

std::string in_quotes(const std::string& printable_text) {
  return nlohmann::json(printable_text).dump(-1, ' ', true);
}

bool is_same_program(const ProcessFacts& a, const ProcessFacts& b) {
  return a.executable == b.executable && a.directory == b.directory && a.arguments == b.arguments;
}

bool is_cut(const Event& event) {
  return event.is_cut || std::any_of(event.processes.begin(), event.processes.end(),
                                     [](const ProcessFacts& facts) { return facts.is_cut; });
}

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

const std::string& EventLines::quoted(std::string_view raw) {
  constexpr std::size_t kMost = 256;
  constexpr std::size_t kLongest = 1024;
  if (const auto known = known_texts_.find(raw); known != known_texts_.end()) return known->second;
  unknown_ = in_quotes(printable(redaction_->clean(raw)));
  if (raw.size() > kLongest) return unknown_;
  if (known_texts_.size() >= kMost) known_texts_.clear();
  return known_texts_.emplace(raw, std::move(unknown_)).first->second;
}

std::string EventLines::list(const std::vector<std::string>& arguments) const {
  std::string json = "[";
  const char* comma = "";
  // By all of them: what stands before an argument may tell that it is a secret.
  for (const std::string& argument : redaction_->clean_arguments(arguments)) {
    json += comma + in_quotes(printable(argument));
    comma = ",";
  }
  return json + "]";
}

const std::string& EventLines::process(const ProcessFacts& facts) {
  constexpr std::size_t kMost = 16;
  constexpr std::size_t kLongest = std::size_t{64} << 10U;
  for (const KnownProcess& known : known_processes_)
    if (is_same_program(known.facts, facts)) return known.json;
  std::string json = "{\"executable\":" + quoted(facts.executable);
  json += ",\"arguments\":" + list(facts.arguments);
  json += ",\"directory\":" + quoted(facts.directory) + "}";
  if (json.size() > kLongest) return unknown_ = std::move(json);
  if (known_processes_.size() < kMost)
    return known_processes_.emplace_back(KnownProcess{facts, std::move(json)}).json;
  KnownProcess& place = known_processes_[oldest_process_++ % kMost];
  place = {facts, std::move(json)};
  return place.json;
}

void EventLines::add_endpoint(std::string& line, const Endpoint& endpoint) {
  line += "{\"family\":" + quoted(endpoint.family);
  line += ",\"protocol\":" + quoted(endpoint.protocol);
  line += ",\"address\":" + quoted(endpoint.address);
  line += fmt::format(",\"port\":{},\"name\":", endpoint.port);
  line += quoted(endpoint.name) + "}";
}

// The first is who did it.
void EventLines::add_processes(std::string& line, const std::vector<ProcessFacts>& processes) {
  line += ",\"process\":";
  line += processes.empty() ? "null" : process(processes.front());
  line += ",\"parents\":[";
  for (std::size_t i = 1; i < processes.size(); ++i) {
    if (i > 1) line += ',';
    line += process(processes[i]);
  }
  line += ']';
}

// In this order: what a reader looks for comes first.
std::string EventLines::line(const Event& event, const EventStamp& stamp) {
  std::string line = stamp.sequence == EventStamp{}.sequence ? "{\"version\":1," : "{";
  line += fmt::format("\"seq\":{},\"kind\":\"{}\"", stamp.sequence, to_string(event.kind));
  line += ",\"act\":" + quoted(event.act);
  line += ",\"subject\":" + quoted(event.subject);
  line += fmt::format(",\"verdict\":\"{}\"", to_string(event.verdict));
  line += ",\"rule\":" + quoted(event.rule);
  line += ",\"detail\":" + quoted(event.detail);
  line += fmt::format(",\"amount\":{},\"endpoint\":", event.amount);
  if (event.endpoint)
    add_endpoint(line, *event.endpoint);
  else
    line += "null";
  if (!event.arguments.empty()) line += ",\"arguments\":" + list(event.arguments);
  add_processes(line, event.processes);
  if (is_cut(event)) line += ",\"cut\":true";
  line +=
      fmt::format(",\"volatile\":{{\"time\":\"{}\",\"since_start_us\":{},\"processes\":[",
                  timestamp(stamp.time),
                  std::chrono::duration_cast<std::chrono::microseconds>(event.since_start).count());
  const char* comma = "";
  for (const ProcessFacts& facts : event.processes) {
    line += fmt::format("{}{{\"pid\":{},\"parent\":{}}}", comma, facts.pid, facts.parent);
    comma = ",";
  }
  line += "]}}\n";
  return line;
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
