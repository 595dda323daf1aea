// Specs in, plans, explanations and errors out, compared as text.
//
// Each data/NAME.yaml is planned for an imaginary host that its "#:" lines describe:
//
//   #: link /bin -> usr/bin     a symbolic link; everything else is a directory
//   #: missing /w/out           does not exist
//   #: lacks no-network         a clause that the backend cannot give
//   #: ask write /w/main.c      a question for explain()
//
// The results are compared with expected/NAME.*; UPDATE_GOLDEN=1 writes them instead.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "hermetic/plan/model.h"
#include "hermetic/plan/print.h"
#include "hermetic/spec/loader.h"
#include "hermetic/spec/spec_builder.h"

namespace hermetic {
namespace {

namespace fs = std::filesystem;

fs::path here() {
  const char* source = std::getenv("HERMETIC_SOURCE_DIR");
  return fs::path(source != nullptr ? source : ".") / "tests/golden";
}

bool is_updating() {
  const char* value = std::getenv("UPDATE_GOLDEN");
  return value != nullptr && std::string(value) == "1";
}

std::string read(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

struct Question {
  Operation operation;
  std::string path;
};

struct Host {
  std::map<std::string, std::string> links;  // "/bin" -> "/usr/bin", by real paths
  std::map<std::string, std::string> link_texts;
  std::vector<std::string> missing;
  std::vector<std::string> lacks;
  std::vector<Question> questions;
};

Operation operation_named(const std::string& name) {
  for (const Operation operation : {Operation::Read, Operation::Write, Operation::Execute})
    if (to_string(operation) == name) return operation;
  throw std::runtime_error("no such operation: " + name);
}

Host host_of(const std::string& text) {
  Host host;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("#: ")) continue;
    std::istringstream words(line.substr(3));
    std::string word, first, second, third;
    words >> word >> first >> second >> third;
    if (word == "link") {
      host.link_texts[first] = third;
      host.links[first] = third.starts_with('/') ? third : join(parent_of(first), third);
    } else if (word == "missing") {
      host.missing.push_back(first);
    } else if (word == "lacks") {
      host.lacks.push_back(first);
    } else if (word == "ask") {
      host.questions.push_back({operation_named(first), second});
    } else {
      throw std::runtime_error("unknown line: " + line);
    }
  }
  return host;
}

Lookup lookup_in(const Host& host) {
  return [host](std::string_view path) -> Result<Found> {
    Found found;
    found.type = FileType::Directory;
    found.real_path = "/";
    for (Components component(path); component.next();) {
      found.real_path = join(found.real_path, component.name());
      if (const auto link = host.links.find(found.real_path); link != host.links.end()) {
        found.links.push_back({link->first, host.link_texts.at(link->first)});
        found.real_path = link->second;
      }
    }
    found.existing_path = found.real_path;
    for (const std::string& hole : host.missing)
      if (is_within(found.existing_path, hole)) found.existing_path = std::string(parent_of(hole));
    return found;
  };
}

Capabilities backend_of(const Host& host) {
  Capabilities capabilities = model_capabilities();
  for (const std::string& name : host.lacks)
    capabilities.clauses.at(clause_named(name).value()) = {
        .strength = Strength::Absent,
        .reason = "this imaginary kernel is too old",
        .remedy = "use a newer kernel for " + name};
  return capabilities;
}

using Results = std::map<std::string, std::string>;  // by the ending of the file

Result<Results> results_of(const std::string& text, const std::string& name) {
  const Host host = host_of(text);
  const Project project = TRY(parse_project(text, name, "/w"));
  SpecBuilder builder(TRY(draft_of(project, {})));
  builder.caller_environment({{"TERM", "xterm"}}).lookup(lookup_in(host));
  const Spec spec = TRY(builder.build());
  const Plan plan = TRY(make_plan(spec, backend_of(host)));
  Results results = {{"plan.txt", print_plan(plan, Color::Never)},
                     {"plan.json", plan_as_json(plan)}};
  for (const Question& question : host.questions)
    results["why.txt"] += explain(spec, question.path, question.operation) + "\n";
  return results;
}

class Golden : public ::testing::TestWithParam<std::string> {};

TEST_P(Golden, IsAsExpected) {
  const std::string file_name = GetParam() + ".yaml";
  Result<Results> results = results_of(read(here() / "data" / file_name), file_name);
  if (!results) results = Results{{"error.txt", to_string(results.error()) + "\n"}};
  for (const auto& [ending, text] : *results) {
    const fs::path file = here() / "expected" / (GetParam() + "." + ending);
    if (is_updating())
      std::ofstream(file, std::ios::binary) << text;
    else
      EXPECT_EQ(text, read(file)) << "UPDATE_GOLDEN=1 rewrites " << file;
  }
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code missing;  // HERMETIC_SOURCE_DIR is not set: the folder test says so
  for (const auto& entry : fs::directory_iterator(folder, missing)) {
    const std::string name = entry.path().filename();
    names.insert(name.substr(0, name.find('.')));
  }
  return {names.begin(), names.end()};
}

INSTANTIATE_TEST_SUITE_P(Data, Golden, ::testing::ValuesIn(names_in(here() / "data")),
                         [](const auto& information) { return information.param; });

TEST(GoldenFolder, HoldsNothingThatNoTestProduces) {
  ASSERT_FALSE(names_in(here() / "data").empty()) << "set HERMETIC_SOURCE_DIR";
  std::vector<std::string> produced = names_in(here() / "data");
  produced.emplace_back("report");  // by report_test.cc
  EXPECT_THAT(names_in(here() / "expected"), ::testing::UnorderedElementsAreArray(produced));
}

// The schema is written by hand; what can be listed is compared with the code.
TEST(PlanSchema, KnowsEveryClauseAndEveryKindOfEntry) {
  const nlohmann::json schema =
      nlohmann::json::parse(read(here() / "../../docs/reference/plan.schema.json"));
  std::vector<std::string> clauses;
  for (const Clause clause : all_clauses()) clauses.emplace_back(to_string(clause));
  EXPECT_EQ(schema["$defs"]["clause"]["properties"]["clause"]["enum"], clauses);
  std::vector<std::string> kinds;
  for (int kind = 0; kind <= static_cast<int>(ViewEntry::Kind::Processes); ++kind)
    kinds.emplace_back(to_string(static_cast<ViewEntry::Kind>(kind)));
  EXPECT_EQ(schema["$defs"]["entry"]["properties"]["kind"]["enum"], kinds);
}

}  // namespace
}  // namespace hermetic
