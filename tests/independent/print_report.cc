// print_report FORM CASE: a report as html, markdown, sarif or junit; of the case sample or
// hostile.
//
// For programs that nobody here wrote to judge. FORM canonical prints lines of pairs instead: a
// document as JSON, and the same in its canonical form.
#include <iostream>
#include <map>
#include <string>

#include <nlohmann/json.hpp>

#include "hermetic/record/canonical_json.h"
#include "hermetic/record/report.h"
#include "tests/unit/record/report_samples.h"

namespace {

using nlohmann::json;

int print_canonical() {
  json texts = json::array();
  json keys = json::object();
  // Every character that JSON may escape, and those around which UTF-8 and UTF-16 sort apart.
  for (char32_t character = 0; character < 0x100; ++character) {
    std::string text;
    if (character < 0x80)
      text = std::string(1, static_cast<char>(character));
    else
      text = {static_cast<char>(0xC0U | character >> 6U),
              static_cast<char>(0x80U | (character & 0x3FU))};
    texts.push_back(text);
    keys[text] = static_cast<int>(character);
  }
  const std::vector<std::string> special = {"\xed\x9f\xbf",      // U+D7FF
                                            "\xee\x80\x80",      // U+E000
                                            "\xef\xbf\xbd",      // U+FFFD
                                            "\xf0\x90\x80\x80",  // U+10000
                                            "\xf4\x8f\xbf\xbf",  // U+10FFFF
                                            "\xf0\x9f\x98\x80",  // an emoji
                                            "a\xf0\x9f\x98\x80",
                                            "a\xef\xac\xb3",
                                            "\xe2\x80\xa8\xe2\x80\xa9",
                                            "</script>",
                                            "",
                                            "peach",
                                            "p\xc3\xa9"
                                            "che",
                                            "p",
                                            "1",
                                            "10",
                                            "2"};
  for (const std::string& text : special) {
    texts.push_back(text);
    keys[text] = {{text, text}};
  }
  const std::vector<json> documents = {
      texts,
      keys,
      {0, -0, 1, -1, 9'007'199'254'740'991, -9'007'199'254'740'991, true, false, nullptr},
      json::object(),
      json::array(),
      {{"", {{"", json::array({json::object(), json::array({json::array()})})}}}},
      hermetic::samples::sample_manifest().stable};
  for (const json& document : documents)
    std::cout << document.dump() << "\n" << hermetic::canonical_json(document) << "\n";
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string form = count > 1 ? arguments[1] : "";
  const std::string name = count > 2 ? arguments[2] : "";
  if (form == "canonical") return print_canonical();
  const std::map<std::string, hermetic::Report (*)()> cases = {
      {"sample", hermetic::samples::sample_report},
      {"hostile", hermetic::samples::hostile_report},
      {"empty", [] { return hermetic::Report{}; }}};
  if (!cases.contains(name)) {
    std::cerr << "usage: print_report html|markdown|sarif|junit|canonical sample|hostile|empty\n";
    return 2;
  }
  const hermetic::Report report = cases.at(name)();
  const std::map<std::string, std::string> environment = {{"API_TOKEN", "correct-horse-battery"}};
  const hermetic::Redaction redaction(environment);
  if (form == "html") std::cout << hermetic::report_as_html(report, redaction);
  if (form == "markdown") std::cout << hermetic::report_as_markdown(report, redaction);
  if (form == "sarif") std::cout << hermetic::report_as_sarif(report);
  if (form == "junit") std::cout << hermetic::report_as_junit(report);
  return 0;
}
