#include "hermetic/record/evidence_diff.h"

#include <fmt/format.h>

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "hermetic/base/digest.h"
#include "hermetic/base/text.h"
#include "hermetic/record/bounded_json.h"
#include "hermetic/record/canonical_json.h"
#include "hermetic/record/evidence_folder.h"

namespace hermetic {
namespace {

using nlohmann::json;

struct Evidence {
  std::string digest;
  json stable;
  json inputs;  // listings, if they are there
};

Result<Evidence> load(const std::string& folder) {
  for (const std::string_view name : {kManifestFile, kReportFile}) {
    const Result<std::string> text = read_whole_file(fmt::format("{}/{}", folder, name));
    if (!text) continue;
    Evidence evidence{.digest = sha256(*text), .stable = parse_bounded_json(*text)};
    if (!evidence.stable.is_object())
      return invalid(fmt::format("'{}/{}' is not JSON", printable(folder), name));
    if (const Result<std::string> inputs = read_whole_file(folder + "/inputs.json"); inputs)
      evidence.inputs = parse_bounded_json(*inputs);
    return evidence;
  }
  return invalid(fmt::format("'{}' is no folder of evidence: it has neither {} nor {}",
                             printable(folder), kManifestFile, kReportFile),
                 "name a folder that 'hermetic run --evidence' or 'hermetic gate' has made");
}

// Elements of a list that have a name are compared by it, wherever they stand.
std::optional<std::string> name_of(const json& element) {
  constexpr std::array<const char*, 6> kNames = {"id",     "path",  "name",
                                                 "clause", "probe", "detector"};
  if (!element.is_object()) return std::nullopt;
  for (const char* key : kNames)
    if (const auto found = element.find(key); found != element.end() && found->is_string())
      return found->get<std::string>();
  return std::nullopt;
}

std::map<std::string, json> named(const json& list) {
  std::map<std::string, json> elements;
  if (!list.is_array()) return elements;  // not written by hermetic
  for (std::size_t i = 0; i < list.size(); ++i)
    elements[name_of(list[i]).value_or(fmt::format("{:06}", i))] = list[i];
  return elements;
}

class Comparison {
 public:
  std::vector<Difference> differences;

  void compare(const std::string& what, const json& first, const json& second) {
    if (first == second) return;
    if (first.is_object() && second.is_object()) {
      members(what, first.get<std::map<std::string, json>>(),
              second.get<std::map<std::string, json>>());
      return;
    }
    if (first.is_array() && second.is_array()) {
      members(what, named(first), named(second));
      return;
    }
    differences.push_back(
        {what, first.is_null() ? "" : first.dump(), second.is_null() ? "" : second.dump()});
  }

 private:
  void members(const std::string& what, const std::map<std::string, json>& first,
               const std::map<std::string, json>& second) {
    std::set<std::string> keys;
    for (const auto& [key, value] : first) keys.insert(key);
    for (const auto& [key, value] : second) keys.insert(key);
    for (const std::string& key : keys) {
      const auto a = first.find(key);
      const auto b = second.find(key);
      const std::string below = what.empty() ? key : what + " " + key;
      compare(below, a == first.end() ? json() : a->second, b == second.end() ? json() : b->second);
    }
  }
};

// "kind digest path" of each entry, by path.
std::map<std::string, std::string> entries(const json& inputs, const std::string& path) {
  std::map<std::string, std::string> found;
  if (!inputs.is_array()) return found;
  for (const json& input : inputs) {
    if (!input.is_object() || input.value("path", json()) != path) continue;
    for (const json& entry : input.value("entries", json::array())) {
      const std::string line = entry.is_string() ? entry.get<std::string>() : "";
      const std::size_t space = line.find(' ', 2);
      // Of a directory, what is in it says more.
      if (space == std::string::npos || line.starts_with("d ")) continue;
      found[line.substr(space + 1)] = line.substr(0, space);
    }
  }
  return found;
}

void say_input(std::vector<std::string>& reasons, const std::string& path, const Evidence& first,
               const Evidence& second) {
  constexpr std::size_t kMostNamed = 20;
  const std::map<std::string, std::string> a = entries(first.inputs, path);
  const std::map<std::string, std::string> b = entries(second.inputs, path);
  std::vector<std::string> changes;
  for (const auto& [name, line] : a) {
    const auto other = b.find(name);
    if (other == b.end())
      changes.push_back(fmt::format("{} is gone", name));
    else if (other->second != line)
      changes.push_back(fmt::format("{} has changed", name));
  }
  for (const auto& [name, line] : b)
    if (!a.contains(name)) changes.push_back(fmt::format("{} is new", name));
  if (changes.empty()) changes.emplace_back("which of its files, the evidence does not say");
  for (std::size_t i = 0; i < changes.size() && i < kMostNamed; ++i)
    reasons.push_back(fmt::format("the input {} differs: {}", path, changes[i]));
  if (changes.size() > kMostNamed)
    reasons.push_back(
        fmt::format("the input {} differs: and {} more", path, changes.size() - kMostNamed));
}

// Causes before effects: what the run was given, then what it did.
std::vector<std::string> reasons_for(const Evidence& first, const Evidence& second) {
  std::vector<std::string> reasons;
  constexpr std::array<std::pair<const char*, const char*>, 13> kParts = {{
      {"type", "they are evidence of different things"},
      {"tool", "another version of hermetic"},
      {"platform", "another kind of machine"},
      {"backend", "another backend"},
      {"assurance", "what is promised held to another degree"},
      {"policy_digest", "the policy has changed"},
      {"task", "the task is another: its commit, its environment or what it is called"},
      {"command", "the command is another"},
      {"environment", "the environment differs"},
      {"spec_digest", "the spec has changed"},
      {"probes", "other negative controls were tried"},
      {"violations", "other violations occurred"},
      {"result", "it ended in another way"},
  }};
  const auto part = [](const Evidence& evidence, const char* key) {
    return evidence.stable.value(key, json());
  };
  for (const auto& [key, sentence] : kParts) {
    if (std::string_view(key) == "probes" && part(first, "inputs") != part(second, "inputs")) {
      const std::map<std::string, json> a = named(part(first, "inputs"));
      std::map<std::string, json> b = named(part(second, "inputs"));
      for (const auto& [path, input] : a)
        if (b[path] != input) say_input(reasons, path, first, second);
      for (const auto& [path, input] : b)
        if (!a.contains(path)) reasons.push_back(fmt::format("{} is an input of one only", path));
    }
    if (part(first, key) != part(second, key)) reasons.emplace_back(sentence);
  }
  if (part(first, "outputs") != part(second, "outputs"))
    reasons.emplace_back(reasons.empty()
                             ? "the outputs differ although nothing that was declared does: the "
                               "command is not reproducible"
                             : "the outputs differ");
  return reasons;
}

}  // namespace

Result<EvidenceDiff> diff_evidence(const std::string& first, const std::string& second) {
  const Evidence a = TRY(load(first));
  const Evidence b = TRY(load(second));
  Comparison comparison;
  comparison.compare("", a.stable, b.stable);
  EvidenceDiff diff{.first_digest = a.digest, .second_digest = b.digest};
  diff.differences = std::move(comparison.differences);
  if (!diff.same()) diff.reasons = reasons_for(a, b);
  return diff;
}

std::string diff_as_json(const EvidenceDiff& diff) {
  json differences = json::array();
  for (const Difference& difference : diff.differences)
    differences.push_back(
        {{"what", difference.what}, {"first", difference.first}, {"second", difference.second}});
  const json document = {{"version", 1},
                         {"same", diff.same()},
                         {"first", "sha256:" + diff.first_digest},
                         {"second", "sha256:" + diff.second_digest},
                         {"reasons", diff.reasons},
                         {"differences", std::move(differences)}};
  return readable_json(document);
}

}  // namespace hermetic
