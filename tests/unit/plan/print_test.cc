#include "hermetic/plan/print.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include <nlohmann/json.hpp>

#include "hermetic/plan/model.h"
#include "hermetic/spec/spec_builder.h"

namespace hermetic {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using std::chrono_literals::operator""s;

SpecBuilder usual_run(std::vector<std::string> command = {"make"}) {
  SpecBuilder builder(std::move(command));
  builder.input("/usr").output("/w/out").caller_environment({}).lookup(look_up_by_name);
  return builder;
}

Plan plan_of(const SpecBuilder& builder) {
  return make_plan(builder.build().value(), model_capabilities()).value();
}

// Everything that comes from outside, hostile.
Plan hostile_plan() {
  const std::string evil = "\x1b[31m\x07\n\xc2\x9b";
  Draft draft;
  Plan plan = plan_of(usual_run({"make", evil, "\xff"})
                          .input("/" + evil, {"/" + evil + "/x"})
                          .directory("/" + evil)
                          .env("A", evil));
  plan.backend = evil;
  plan.hostname = plan.spec_digest = evil;
  plan.environment[evil] = "value";
  plan.network = {.mode = NetworkPolicy::Mode::Hosts, .hosts = {{.name = evil}}};
  plan.clauses[0].mechanism = evil;
  plan.clauses[1] = {.clause = plan.clauses[1].clause, .reason = evil};
  plan.view.push_back({.kind = ViewEntry::Kind::Link, .path = "/l" + evil, .text = evil});
  return plan;
}

bool is_tame(const std::string& text) {
  for (const char byte : text)
    if ((static_cast<unsigned char>(byte) < 0x20 && byte != '\n') || byte == 0x7f) return false;
  return text.find("\xc2\x9b") == std::string::npos;
}

TEST(PrintPlan, ShowsEveryPart) {
  const std::string text = print_plan(
      plan_of(usual_run({"make", "a b", "it's"}).env("MODE", "x").limits({.wall_time = 90s})),
      Color::Never);
  EXPECT_THAT(text, AllOf(HasSubstr("make 'a b' 'it'\\''s'"), HasSubstr("wall_time 1m30s"),
                          HasSubstr("MODE=x"), HasSubstr("usr/  input, read only"),
                          HasSubstr("enforced  no-network"),
                          HasSubstr("hermetic: every clause that is needed is enforced")));
}

TEST(PrintPlan, HasNoEscapesWithoutColourWhateverItPrints) {
  EXPECT_TRUE(is_tame(print_plan(hostile_plan(), Color::Never)));
  EXPECT_FALSE(is_tame(print_plan(hostile_plan(), Color::Always))) << "the control: colours";
}

TEST(PrintPlan, ColoursCarryNoMeaningOfTheirOwn) {
  std::string coloured = print_plan(plan_of(usual_run()), Color::Always);
  for (std::size_t begin = 0; (begin = coloured.find('\x1b')) != std::string::npos;)
    coloured.erase(begin, coloured.find('m', begin) - begin + 1);
  EXPECT_EQ(coloured, print_plan(plan_of(usual_run()), Color::Never));
}

TEST(PrintPlan, ReportsWhatIsGivenUpOnlyWhereItIsMissing) {
  const SpecBuilder builder = usual_run().give_up("no-network");
  EXPECT_THAT(print_plan(plan_of(builder), Color::Never), Not(HasSubstr("given up")));
  Capabilities capabilities = model_capabilities();
  capabilities.clauses.erase(Clause::NoNetwork);
  const Plan weaker = make_plan(builder.build().value(), capabilities).value();
  EXPECT_THAT(
      print_plan(weaker, Color::Never),
      AllOf(HasSubstr("absent    no-network"), HasSubstr("(given up)"), HasSubstr("not hermetic")));
}

TEST(PlanAsJson, TellsProgramsTheSame) {
  const Plan plan = plan_of(usual_run({"sh", "-c", "a\nb"})
                                .input("/caf\xc3\xa9")
                                .limits({.memory_bytes = 4096, .cpu_time = 2s})
                                .network(NetworkPolicy::allow_hosts({"a.org:443"}).value())
                                .env("A", "tab\t"));
  const json document = json::parse(plan_as_json(plan));
  EXPECT_EQ(document["version"], 1);
  EXPECT_EQ(document["command"], (std::vector<std::string>{"sh", "-c", "a\nb"}));
  EXPECT_EQ(document["spec_digest"], "sha256:" + plan.spec_digest);
  EXPECT_EQ(document["environment"]["A"], "tab\t");
  EXPECT_EQ(document["limits"], (json{{"memory_bytes", 4096}, {"cpu_time_ms", 2000}}));
  EXPECT_EQ(document["network"], (json{{"mode", "hosts"}, {"hosts", {"a.org:443"}}}));
  EXPECT_EQ(document["hermetic"], plan.hermetic());
  EXPECT_EQ(document["clauses"].size(), plan.clauses.size());
  ASSERT_EQ(document["view"].size(), plan.view.size());
  for (std::size_t i = 0; i < plan.view.size(); ++i) {
    EXPECT_EQ(document["view"][i]["path"], plan.view[i].path);
    EXPECT_EQ(document["view"][i]["kind"], to_string(plan.view[i].kind));
    EXPECT_EQ(document["view"][i].contains("made"), plan.view[i].make_point);
  }
}

TEST(PlanAsJson, IsAsciiAndParsesWhateverItHolds) {
  const std::string text = plan_as_json(hostile_plan());
  EXPECT_TRUE(is_tame(text));
  for (const char byte : text) EXPECT_LT(static_cast<unsigned char>(byte), 0x80);
  const json document = json::parse(text);
  EXPECT_EQ(document["command"][2], "\\xff")
      << "bytes that are no text are shown as people see them";
  EXPECT_EQ(text.back(), '\n');
}

// No spec leads to such a plan, but a program that uses the library can put one together.
TEST(PlanAsJson, ParsesAlsoWhatNoSpecCanSay) {
  Plan plan = plan_of(usual_run());
  plan.publications = {
      {.path = "/w/out", .destination = "/\xff/out", .exceptions = {"/\xff/out/kept"}}};
  plan.directory = plan.hostname = "\xff";
  plan.environment["\xff"] = "value";
  const json document = json::parse(plan_as_json(plan));
  EXPECT_EQ(document["publications"][0]["except"][0], "/\\xff/out/kept");
  EXPECT_EQ(document["environment"]["\\xff"], "value");
}

TEST(Explain, NamesTheRuleAndWhereItWasWritten) {
  const Spec spec = usual_run()
                        .declare({.kind = TreeKind::Input,
                                  .path = "/w/src",
                                  .exceptions = {"/w/src/.git"},
                                  .origin = {"f.yaml", 7, 5}})
                        .build()
                        .value();
  const auto why = [&](std::string_view path, Operation operation) {
    return explain(spec, path, operation);
  };
  EXPECT_EQ(why("/w/src/a", Operation::Read), "/w/src/a may be read: input '/w/src' (f.yaml:7:5)");
  EXPECT_EQ(why("/w/src/a", Operation::Write),
            "/w/src/a may not be written: input '/w/src' (f.yaml:7:5)");
  EXPECT_EQ(why("/w/src/.git", Operation::Read),
            "/w/src/.git may not be read: an exception of input '/w/src' (f.yaml:7:5)");
  EXPECT_EQ(why("/w/out/a", Operation::Execute), "/w/out/a may be executed: output '/w/out'");
  EXPECT_EQ(why("/tmp/a", Operation::Write), "/tmp/a may be written: temp '/tmp' (built in)");
  EXPECT_EQ(why("/w", Operation::Read), "/w may be read: it only leads to declared paths");
  EXPECT_EQ(why("/dev/null", Operation::Write),
            "/dev/null may be written: every sandbox has its own");
  EXPECT_EQ(why("/home", Operation::Read), "/home may not be read: no declaration covers it");
  EXPECT_EQ(why("/\x1b", Operation::Read), "/\\x1b may not be read: no declaration covers it");
  EXPECT_EQ(explain(usual_run().strict_outputs().build().value(), "/w", Operation::Read),
            "/w may not be read: it only leads to declared paths, and strict outputs keep it from "
            "being listed");
}

}  // namespace
}  // namespace hermetic
