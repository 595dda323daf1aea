// Prints plans made of arbitrary bytes: for people no line is broken and no terminal commanded, for
// programs it is always JSON.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "hermetic/base/check.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/plan/model.h"
#include "hermetic/plan/print.h"
#include "hermetic/spec/spec_builder.h"

namespace {

using hermetic::Plan;
using hermetic::ViewEntry;
using nlohmann::json;

// Takes values from the bytes, and zeros when they are used up: every input means something.
class Source {
 public:
  explicit Source(std::string_view bytes) : bytes_(bytes) {}

  std::uint8_t byte() {
    if (bytes_.empty()) return 0;
    const auto first = static_cast<std::uint8_t>(bytes_.front());
    bytes_.remove_prefix(1);
    return first;
  }
  unsigned below(unsigned end) { return byte() % end; }
  bool flag() { return below(2) == 1; }
  std::string text() {
    const std::string_view taken = bytes_.substr(0, byte());
    bytes_.remove_prefix(taken.size());
    return std::string(taken);
  }
  std::vector<std::string> texts() {
    std::vector<std::string> several(below(4));
    for (std::string& one : several) one = text();
    return several;
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned i = below(9); i > 0; --i) value = (value << 8U) | byte();
    return value;
  }

 private:
  std::string_view bytes_;
};

hermetic::ResourceLimits limits_from(Source& source) {
  hermetic::ResourceLimits limits;
  const auto some = [&](auto& limit) {
    if (source.flag()) limit = source.number();
  };
  some(limits.memory_bytes);
  some(limits.processes);
  some(limits.file_size_bytes);
  some(limits.open_files);
  some(limits.disk_write_bytes);
  some(limits.disk_read_rate);
  some(limits.disk_write_rate);
  some(limits.network_bytes);
  some(limits.cpu_weight);
  if (source.flag()) limits.cpu_time = std::chrono::milliseconds(source.number() >> 1U);
  if (source.flag()) limits.wall_time = std::chrono::milliseconds(source.number() >> 1U);
  if (source.flag()) limits.idle_time = std::chrono::milliseconds(source.number() >> 1U);
  return limits;
}

hermetic::NetworkPolicy network_from(Source& source) {
  hermetic::NetworkPolicy network;
  network.mode = static_cast<hermetic::NetworkPolicy::Mode>(source.below(4));
  for (unsigned i = source.below(4); i > 0; --i) {
    hermetic::HostRule rule{.kind = static_cast<hermetic::HostRule::Kind>(source.below(3)),
                            .name = source.text()};
    for (std::uint8_t& part : rule.address) part = source.byte();
    rule.prefix_length = source.below(129);
    if (source.flag()) rule.port = static_cast<std::uint16_t>(source.number());
    network.hosts.push_back(rule);
  }
  return network;
}

// As a program that uses the library could put one together, whatever build() would say to it.
Plan plan_from(Source& source) {
  Plan plan{.backend = source.text(),
            .spec_digest = source.text(),
            .command = source.texts(),
            .directory = source.text()};
  for (unsigned i = source.below(8); i > 0; --i)
    plan.view.push_back({.kind = static_cast<ViewEntry::Kind>(source.below(11)),
                         .path = "/" + source.text(),
                         .type = static_cast<hermetic::FileType>(source.below(3)),
                         .make_point = source.flag(),
                         .source = source.text(),
                         .text = source.text()});
  for (unsigned i = source.below(3); i > 0; --i)
    plan.publications.push_back({.path = source.text(),
                                 .destination = source.text(),
                                 .publish = static_cast<hermetic::Publish>(source.below(3)),
                                 .exceptions = source.texts()});
  for (unsigned i = source.below(4); i > 0; --i) {
    std::string name = source.text();
    plan.environment[std::move(name)] = source.text();
  }
  plan.network = network_from(source);
  plan.limits = limits_from(source);
  plan.hostname = source.text();
  for (unsigned i = source.below(6); i > 0; --i)
    plan.clauses.push_back({.clause = static_cast<hermetic::Clause>(source.below(8)),
                            .strength = static_cast<hermetic::Strength>(source.below(3)),
                            .mechanism = source.text(),
                            .reason = source.text(),
                            .given_up = source.flag()});
  return plan;
}

hermetic::SpecBuilder builder_from(Source& source) {
  hermetic::SpecBuilder builder(source.texts());
  for (unsigned i = source.below(5); i > 0; --i) {
    hermetic::Declaration declaration{.kind = static_cast<hermetic::TreeKind>(source.below(3)),
                                      .path = "/" + source.text()};
    for (const std::string& below : source.texts())
      declaration.exceptions.push_back(declaration.path + "/" + below);
    declaration.origin = {.source = source.text(), .line = 1, .column = 1};
    builder.declare(declaration);
  }
  if (source.flag()) builder.directory("/" + source.text());
  if (source.flag()) builder.env(source.text(), "value");
  if (source.flag()) builder.env("A", source.text());
  if (source.flag()) builder.hostname(source.text());
  if (source.flag()) builder.give_up(source.text());
  builder.network(network_from(source)).limits(limits_from(source));
  builder.caller_environment({}).lookup(hermetic::look_up_by_name);
  return builder;
}

// One line for each thing that is shown, whatever it is called.
std::ptrdiff_t lines_of(const Plan& plan) {
  std::set<std::string> names;
  for (const ViewEntry& entry : plan.view)
    for (hermetic::Components component(entry.path); component.next();)
      names.emplace(component.prefix());
  constexpr std::size_t kFields = 7;
  constexpr std::size_t kTitlesAndBlanks = 8;  // and the root, and the conclusion
  return static_cast<std::ptrdiff_t>(kFields + kTitlesAndBlanks + 1 + names.size() +
                                     plan.environment.size() + plan.clauses.size());
}

std::string without_colours(std::string text) {
  for (std::size_t begin = 0; (begin = text.find("\x1b[", begin)) != std::string::npos;) {
    const std::size_t end = text.find('m', begin);
    CHECK(end != std::string::npos && end - begin <= 4);  // ESC [ NN m
    text.erase(begin, end - begin + 1);
  }
  return text;
}

void check_for_people(const Plan& plan) {
  const std::string text = print_plan(plan, hermetic::Color::Never);
  std::string line;
  for (const char byte : text) {
    if (byte != '\n') {
      line += byte;
      continue;
    }
    CHECK(hermetic::printable(line) == line);
    line.clear();
  }
  CHECK(line.empty());
  CHECK(std::count(text.begin(), text.end(), '\n') == lines_of(plan));
  CHECK(without_colours(print_plan(plan, hermetic::Color::Always)) == text);
}

void check_for_programs(const Plan& plan) {
  const std::string text = plan_as_json(plan);
  CHECK(std::all_of(text.begin(), text.end(),
                    [](char byte) { return byte == '\n' || (byte >= ' ' && byte < 0x7f); }));
  const json document = json::parse(text, nullptr, false);
  CHECK(document.is_object());
  const auto says = [](const json& value, const std::string& expected) {
    return value == (hermetic::is_utf8(expected) ? expected : hermetic::printable(expected));
  };
  CHECK(says(document["directory"], plan.directory) && says(document["hostname"], plan.hostname));
  CHECK(document["command"].size() == plan.command.size());
  for (std::size_t i = 0; i < plan.command.size(); ++i)
    CHECK(says(document["command"][i], plan.command[i]));
  CHECK(document["view"].size() == plan.view.size());
  for (std::size_t i = 0; i < plan.view.size(); ++i)
    CHECK(says(document["view"][i]["path"], plan.view[i].path));
  CHECK(document["clauses"].size() == plan.clauses.size());
}

void check_plan(const Plan& plan) {
  check_for_people(plan);
  check_for_programs(plan);
}

void check_error(const hermetic::Error& error) {
  CHECK(hermetic::printable(error.message) == error.message);
  CHECK(hermetic::printable(error.hint) == error.hint);
}

void check_spec(const hermetic::Spec& spec) {
  for (const hermetic::Tree& tree : spec.trees())
    for (const auto operation : {hermetic::Operation::Read, hermetic::Operation::Write}) {
      const std::string text = explain(spec, tree.declaration.path, operation);
      CHECK(hermetic::printable(text) == text);
    }
  const hermetic::Result<Plan> plan = make_plan(spec, hermetic::model_capabilities());
  if (!plan) return check_error(plan.error());
  check_plan(*plan);
}

}  // namespace

// The first byte says what the others make: 'p' a plan, anything else a spec.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Source source(std::string_view(reinterpret_cast<const char*>(data), size));
  if (source.byte() == 'p') {
    check_plan(plan_from(source));
    return 0;
  }
  const hermetic::Result<hermetic::Spec> spec = builder_from(source).build();
  if (spec)
    check_spec(*spec);
  else
    check_error(spec.error());
  return 0;
}
