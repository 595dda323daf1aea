// The report of a gate in the forms that hold nothing volatile, compared with expected/report.*;
// UPDATE_GOLDEN=1 writes them instead.
#include "hermetic/record/report.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>

#include "tests/unit/record/report_samples.h"

namespace hermetic {
namespace {

namespace fs = std::filesystem;

void compare(const std::string& name, const std::string& text) {
  const char* source = std::getenv("HERMETIC_SOURCE_DIR");
  const fs::path file = fs::path(source != nullptr ? source : ".") / "tests/golden/expected" / name;
  const char* update = std::getenv("UPDATE_GOLDEN");
  if (update != nullptr && std::string(update) == "1")
    std::ofstream(file, std::ios::binary) << text;
  std::ifstream stream(file, std::ios::binary);
  const std::string expected{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_EQ(text, expected) << file;
}

TEST(GoldenReport, Markdown) {
  const Redaction redaction(std::map<std::string, std::string>{});
  compare("report.md", report_as_markdown(samples::sample_report(), redaction));
}

TEST(GoldenReport, Junit) {
  compare("report.junit.xml", report_as_junit(samples::sample_report()));
}

TEST(GoldenReport, Sarif) {
  const std::regex version(R"("semanticVersion": "[^"]*")");
  compare("report.sarif", std::regex_replace(report_as_sarif(samples::sample_report()), version,
                                             R"("semanticVersion": "VERSION")"));
}

}  // namespace
}  // namespace hermetic
