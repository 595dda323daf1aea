#include "hermetic/spec/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hermetic/spec/spec_builder.h"
#include "tests/unit/spec/temp_dir.h"

namespace hermetic {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;

Result<Project> parse(std::string_view text) { return parse_project(text, "h.yaml", "/w"); }

Draft draft(std::string_view text) {
  const Result<Project> project = parse(text);
  if (!project) ADD_FAILURE() << to_string(project.error());
  return project ? draft_of(*project, {}).value() : Draft{};
}

// The spec "version: 1" with one more line.
Draft with(const std::string& line) { return draft("version: 1\n" + line + "\n"); }

constexpr std::string_view kEverything = R"(version: 1
command: [cc, -c, main.c]
directory: $here
inputs:
  - /usr
  - path: $here
    except: [$here/out, $here/tmp]
outputs:
  - $here/out
  - {path: /w/cache, publish: in_place, type: directory}
  - {path: /w/log, publish: merge, type: file, except: [/w/log/old]}
temps: [/w/tmp, {path: /w/scratch, type: directory, except: [/w/scratch/keep]}]
network: ["*.example.org", 10.0.0.0/8:443]
environment: {set: {CC: gcc, EMPTY: ""}, pass: [TERM]}
limits: {memory: 4G, cpu_time: 1h, wall_time: 1h30m, processes: 128, file_size: 1G,
         open_files: 1024, disk_write: 10G, cpu_weight: 100, idle_time: 5m,
         disk_read_rate: 20M, disk_write_rate: 10M, network_bytes: 1G}
process: {max_children: 16, cpus: 2, nice: 7, kill_on_parent_exit: false, allow_fork: true, allow_exec: false}
identity: root
hostname: build-1.example
unix_sockets: [/run/server.sock, $here/own.sock]
on_violation: kill
strict_outputs: true
allow_nested_namespaces: false
own_uptime: true
allow_unsandboxed: true
give_up: [memory-limit, no-network]
)";

TEST(ParseProject, ReadsEveryKey) {
  const Draft all = draft(kEverything);
  EXPECT_THAT(all.command, ElementsAre("cc", "-c", "main.c"));
  EXPECT_EQ(all.directory, "/w");
  EXPECT_THAT(all.declarations, SizeIs(7));
  EXPECT_EQ(all.network, *NetworkPolicy::allow_hosts({"*.example.org", "10.0.0.0/8:443"}));
  EXPECT_THAT(all.environment.set, ElementsAre(Pair("CC", "gcc"), Pair("EMPTY", "")));
  EXPECT_THAT(all.environment.pass, ElementsAre("TERM"));
  const ResourceLimits limits{.memory_bytes = std::uint64_t{4} << 30U,
                              .cpu_time = 1h,
                              .wall_time = 90min,
                              .idle_time = 5min,
                              .processes = 128,
                              .file_size_bytes = std::uint64_t{1} << 30U,
                              .open_files = 1024,
                              .disk_write_bytes = std::uint64_t{10} << 30U,
                              .disk_read_rate = std::uint64_t{20} << 20U,
                              .disk_write_rate = std::uint64_t{10} << 20U,
                              .network_bytes = std::uint64_t{1} << 30U,
                              .cpu_weight = 100};
  EXPECT_EQ(all.limits, limits);
  EXPECT_EQ(all.process.max_children, 16U);
  EXPECT_EQ(all.process.cpus, 2U);
  EXPECT_EQ(all.process.nice, 7U);
  EXPECT_EQ(all.process.kill_on_parent_exit, false);
  EXPECT_EQ(all.process.allow_fork, true);
  EXPECT_EQ(all.process.allow_exec, false);
  EXPECT_EQ(all.identity, Identity::Root);
  EXPECT_EQ(all.hostname, "build-1.example");
  EXPECT_THAT(all.unix_sockets, SizeIs(2));
  EXPECT_THAT(all.unix_sockets, Contains("/run/server.sock"));
  EXPECT_EQ(all.on_violation, OnViolation::Kill);
  EXPECT_EQ(all.strict_outputs, true);
  EXPECT_EQ(all.allow_nested_namespaces, false);
  EXPECT_EQ(all.own_uptime, true);
  EXPECT_EQ(all.allow_unsandboxed, true);
  EXPECT_THAT(all.give_up, ElementsAre("memory-limit", "no-network"));
}

TEST(ParseProject, ReadsDeclarationsWithTheirDetailsAndOrigins) {
  const std::vector<Declaration> all = draft(kEverything).declarations;
  ASSERT_THAT(all, SizeIs(7));
  EXPECT_EQ(all[0].kind, TreeKind::Input);
  EXPECT_EQ(all[0].path, "/usr");
  EXPECT_EQ(all[0].origin, (Origin{"h.yaml", 5, 5}));
  EXPECT_EQ(all[1].path, "/w");
  EXPECT_THAT(all[1].exceptions, ElementsAre("/w/out", "/w/tmp"));
  EXPECT_EQ(all[1].origin, (Origin{"h.yaml", 6, 11}));
  EXPECT_EQ(all[2].kind, TreeKind::Output);
  EXPECT_EQ(all[2].publish, Publish::Replace);
  EXPECT_EQ(all[2].type, FileType::Unknown);
  EXPECT_EQ(all[3].publish, Publish::InPlace);
  EXPECT_EQ(all[3].type, FileType::Directory);
  EXPECT_EQ(all[4].publish, Publish::Merge);
  EXPECT_EQ(all[4].type, FileType::File);
  EXPECT_THAT(all[4].exceptions, ElementsAre("/w/log/old"));
  EXPECT_EQ(all[5].kind, TreeKind::Temp);
  EXPECT_EQ(all[6].type, FileType::Directory);
}

TEST(ParseProject, RemembersWhereValuesWereWritten) {
  const std::map<std::string, Origin> origins = draft(kEverything).origins;
  for (const char* key :
       {"command", "directory", "network", "limits.memory", "limits.cpu_weight", "identity",
        "process.max_children", "process.allow_exec", "hostname", "unix_sockets", "on_violation",
        "strict_outputs", "allow_nested_namespaces", "own_uptime", "allow_unsandboxed", "give_up",
        "give_up.memory-limit", "environment.CC", "environment.TERM"})
    EXPECT_THAT(origins, Contains(Key(key)));
  EXPECT_EQ(origins.at("directory"), (Origin{"h.yaml", 3, 12}));
  EXPECT_EQ(origins.at("limits.memory"), (Origin{"h.yaml", 15, 18}));
}

TEST(ParseProject, ReadsJson) {
  const Draft json = draft(
      "{\n\t\"version\": 1,\n\t\"command\": [\"a\", "
      "\"\\ud83d\\ude00\"],\n\t\"strict_outputs\":true}");
  EXPECT_THAT(json.command, ElementsAre("a", "\U0001F600"));
  EXPECT_EQ(json.strict_outputs, true);
}

TEST(ParseProject, SaysNothingThatTheFileDoesNotSay) {
  const Draft empty = draft("version: 1\n");
  EXPECT_THAT(empty.command, IsEmpty());
  EXPECT_FALSE(empty.directory || empty.network || empty.identity || empty.strict_outputs);
  EXPECT_EQ(empty.limits, ResourceLimits{});
  EXPECT_THAT(empty.origins, IsEmpty());
}

TEST(ParseProject, TypesAScalarByItsKeyAndNotByYaml) {
  EXPECT_THAT(with("command: [no, 0777, 1e3, 2026-01-01, true, 1:30, 0x1F, .inf]").command,
              ElementsAre("no", "0777", "1e3", "2026-01-01", "true", "1:30", "0x1F", ".inf"));
  EXPECT_THAT(
      with("environment: {set: {A: no, B: 0777, C: ~, D: null, E: '', F: 1.0}}").environment.set,
      ElementsAre(Pair("A", "no"), Pair("B", "0777"), Pair("C", "~"), Pair("D", "null"),
                  Pair("E", ""), Pair("F", "1.0")));
  EXPECT_EQ(with("limits: {processes: \"12\"}").limits.processes, 12U);
  EXPECT_EQ(with("hostname: no").hostname, "no");
}

TEST(ParseProject, PutsTheFolderOfTheFileForHereAtTheStartOfAPath) {
  EXPECT_EQ(with("directory: $here").directory, "/w");
  EXPECT_EQ(with("directory: $here/").directory, "/w");
  EXPECT_EQ(with("directory: $here//a/./b/").directory, "/w/a/b");
  EXPECT_EQ(with("directory: /a/$here").directory, "/a/$here");
  EXPECT_THAT(with("command: [$here/run, $here/x]").command, ElementsAre("/w/run", "$here/x"));
  EXPECT_EQ(parse_project("version: 1\ndirectory: $here/a", "h.yaml", "/")->defaults.directory,
            "/a");
}

TEST(ParseProject, ReadsThePresetOfLimits) {
  const ResourceLimits limits = with("limits: hermetic").limits;
  EXPECT_EQ(limits, ResourceLimits::hermetic());
  EXPECT_EQ(limits.memory_bytes, std::uint64_t{4} << 30U);
  EXPECT_EQ(limits.cpu_time, std::chrono::hours(1));
  EXPECT_EQ(limits.processes, 128U);
  EXPECT_EQ(with("limits: {}").limits, ResourceLimits{});
}

TEST(ParseProject, ReadsTheModesOfTheNetwork) {
  EXPECT_EQ(with("network: none").network->mode, NetworkPolicy::Mode::None);
  EXPECT_EQ(with("network: loopback").network->mode, NetworkPolicy::Mode::Loopback);
  EXPECT_EQ(with("network: host").network->mode, NetworkPolicy::Mode::Host);
  EXPECT_EQ(with("network: [host]").network->mode, NetworkPolicy::Mode::Hosts);
}

struct BadFile {
  std::string lines;  // after "version: 1"
  int line;
  int column;
  std::string_view message;
  std::string_view hint;
};

class BadProject : public ::testing::TestWithParam<BadFile> {};

TEST_P(BadProject, IsRefusedWithFilePlaceValueAndRemedy) {
  const BadFile& bad = GetParam();
  const Result<Project> project = parse("version: 1\n" + bad.lines + "\n");
  ASSERT_FALSE(project) << bad.lines;
  const Error& error = project.error();
  EXPECT_EQ(error.kind, Error::Kind::InvalidSpec);
  EXPECT_EQ(to_string(error.origin), to_string(Origin{"h.yaml", bad.line, bad.column}))
      << to_string(error);
  EXPECT_THAT(error.message, HasSubstr(std::string(bad.message)));
  EXPECT_THAT(error.hint, AllOf(HasSubstr(std::string(bad.hint)), Not(IsEmpty())));
}

INSTANTIATE_TEST_SUITE_P(
    All, BadProject,
    ::testing::Values(
        BadFile{"targets: {a: {}}\ncommand: [b]", 3, 1, "'command' stands beside 'targets'",
                "below 'defaults'"},
        BadFile{"targets: {a: {}}\nfoo: 1", 3, 1, "unknown key 'foo' in a file with targets",
                "version"},
        BadFile{"defaults: {}", 2, 1, "'defaults' without 'targets'", "add 'targets'"},
        BadFile{"targets: {}", 2, 10, "'targets' is empty", "add a target"},
        BadFile{"targets: [a]", 2, 10, "'targets' takes a mapping, not a list", "name: value"},
        BadFile{"targets: {a: }", 2, 14, "target 'a' takes a mapping, not an empty value",
                "{} for nothing"},
        BadFile{"targets: {a b: {}}", 2, 11, "bad target name 'a b'", "letters"},
        BadFile{"targets: {-a: {}}", 2, 11, "bad target name '-a'", "letters"},
        BadFile{"targets: {a: {comand: [b]}}", 2, 15, "unknown key 'comand' in target 'a'",
                "'command'?"},
        BadFile{"targets: {a: {version: 1}}", 2, 15, "unknown key 'version' in target 'a'",
                "known keys"},
        BadFile{"defaults: {limits: {memory: x}}\ntargets: {a: {}}", 2, 29, "size 'x'", "64M"},
        BadFile{"defaults: [a]\ntargets: {a: {}}", 2, 11, "'defaults' takes a mapping, not a list",
                "key: value"},
        BadFile{"targets:\n  a: {}\n  a: {}", 4, 3, "duplicate key 'a', first at line 3, column 3",
                "remove one"}));

TEST(ParseProject, ChecksTheVersionBeforeAnythingElse) {
  const auto error = [](std::string_view text) { return to_string(parse(text).error()); };
  EXPECT_EQ(error("inptus: []\n"),
            "h.yaml:1:1: the key 'version' is missing\n  hint: add 'version: 1'");
  EXPECT_EQ(error("inptus: []\nversion: 2\n"),
            "h.yaml:2:10: unknown version '2'\n  hint: write 'version: 1', the only one so far");
  EXPECT_THAT(error("version: 1.0\n"), HasSubstr("unknown version '1.0'"));
  EXPECT_THAT(error("version:\n"), HasSubstr("'version' has an empty value"));
  EXPECT_THAT(error("- a\n"), HasSubstr("a spec is a mapping, not a list"));
  EXPECT_THAT(error("hello\n"), HasSubstr("a spec is a mapping, not 'hello'"));
}

TEST(ParseProject, QuotesNothingThatCouldTalkToTheTerminal) {
  const Error error = parse("version: 1\n\"\\e[31m" + std::string(200, 'x') + "\": 1\n").error();
  EXPECT_THAT(error.message,
              AllOf(HasSubstr("\\x1b[31m"), HasSubstr("..."), Not(HasSubstr("\x1b"))));
  EXPECT_LT(error.message.size(), 200U);
}

constexpr std::string_view kTargets = R"(version: 1
defaults:
  inputs: [/usr]
  limits: {memory: 1G, processes: 10}
  environment: {set: {A: x, B: y}}
targets:
  compile:
    command: [cc]
    limits: {memory: 2G}
    environment: {set: {A: z}}
  run:
    command: [./a.out]
)";

TEST(DraftOf, LaysTheTargetOverTheDefaults) {
  const Project project = parse(kTargets).value();
  EXPECT_EQ(project.file, "h.yaml");
  const Draft compile = draft_of(project, "compile").value();
  EXPECT_THAT(compile.command, ElementsAre("cc"));
  EXPECT_THAT(compile.declarations, SizeIs(1));
  EXPECT_EQ(compile.limits.memory_bytes, std::uint64_t{2} << 30U);
  EXPECT_EQ(compile.limits.processes, 10U);
  EXPECT_THAT(compile.environment.set, ElementsAre(Pair("A", "z"), Pair("B", "y")));
  EXPECT_EQ(compile.origins.at("limits.memory").line, 9);
  EXPECT_EQ(draft_of(project, "run")->limits.memory_bytes, std::uint64_t{1} << 30U);
}

TEST(DraftOf, NeedsANameAmongSeveralTargetsOnly) {
  const Project several = parse(kTargets).value();
  EXPECT_EQ(to_string(draft_of(several, {}).error()),
            "h.yaml: the file has several targets\n  hint: name one of: compile, run");
  EXPECT_EQ(draft_of(several, "complie").error().hint, "did you mean 'compile'?");
  EXPECT_EQ(draft_of(several, "zzzzz").error().message, "no target 'zzzzz'");
  EXPECT_EQ(draft_of(several, "zzzzz").error().hint, "name one of: compile, run");

  const Project one = parse("version: 1\ntargets: {a: {command: [b]}}\n").value();
  EXPECT_THAT(draft_of(one, {})->command, ElementsAre("b"));
  EXPECT_THAT(draft_of(one, "a")->command, ElementsAre("b"));

  const Project none = parse("version: 1\ncommand: [b]\n").value();
  EXPECT_THAT(draft_of(none, {})->command, ElementsAre("b"));
  EXPECT_EQ(draft_of(none, "a").error().hint, "leave the target out");
}

TEST(LoadProject, TakesTheRealFolderOfTheFileForHere) {
  const TempDir folder;
  const std::string bad_file = folder.file("real/bad.yaml", "version: 1\ninptus: []\n");
  folder.file("real/good.yaml", "version: 1\ndirectory: $here/a\n");
  folder.link("link", "real");

  const Result<Project> good = load_project(folder / "link/../link/good.yaml");
  ASSERT_TRUE(good) << to_string(good.error());
  EXPECT_EQ(good->defaults.directory, folder / "real/a");
  EXPECT_THAT(to_string(load_project(bad_file).error()),
              StartsWith(bad_file + ":2:1: unknown key 'inptus'"));
  EXPECT_EQ(load_project(folder / "none.yaml").error().kind, Error::Kind::InvalidSpec);
}

TEST(DraftFromEnvironment, ReadsItsFourVariablesAndNoOthers) {
  const Draft all = draft_from_environment({{"HERMETIC_MEMORY", "64M"},
                                            {"HERMETIC_CPU_TIME", "90s"},
                                            {"HERMETIC_PROCESSES", "7"},
                                            {"HERMETIC_NETWORK", "example.org:443,10.0.0.0/8"},
                                            {"HERMETIC_DEBUG", "1"},
                                            {"HERMETIC", "off"},
                                            {"PATH", "/bin"}})
                        .value();
  EXPECT_EQ(all.limits.memory_bytes, std::uint64_t{64} << 20U);
  EXPECT_EQ(all.limits.cpu_time, 90s);
  EXPECT_EQ(all.limits.processes, 7U);
  EXPECT_EQ(all.network, *NetworkPolicy::allow_hosts({"10.0.0.0/8", "example.org:443"}));
  EXPECT_EQ(to_string(all.origins.at("limits.memory")), "HERMETIC_MEMORY");
  EXPECT_EQ(draft_from_environment({{"HERMETIC_NETWORK", "loopback"}})->network->mode,
            NetworkPolicy::Mode::Loopback);
  EXPECT_THAT(draft_from_environment({{"PATH", "/bin"}})->origins, IsEmpty());
}

TEST(DraftFromEnvironment, NamesTheVariableOfABadValue) {
  const auto error = [](const std::string& name, const std::string& value) {
    const Error result = draft_from_environment({{name, value}}).error();
    EXPECT_THAT(result.hint, Not(IsEmpty()));
    return to_string(result);
  };
  EXPECT_THAT(error("HERMETIC_MEMORY", "4Q"),
              StartsWith("HERMETIC_MEMORY: size '4Q' has an unknown unit"));
  EXPECT_THAT(error("HERMETIC_CPU_TIME", "60"), StartsWith("HERMETIC_CPU_TIME: duration '60'"));
  EXPECT_THAT(error("HERMETIC_PROCESSES", "0"), StartsWith("HERMETIC_PROCESSES: number '0'"));
  EXPECT_THAT(error("HERMETIC_NETWORK", "a.org,"), StartsWith("HERMETIC_NETWORK: empty host rule"));
  EXPECT_THAT(error("HERMETIC_NETWORK", "*"), StartsWith("HERMETIC_NETWORK: host rule '*'"));
  EXPECT_THAT(error("HERMETIC_MEMORY", ""), StartsWith("HERMETIC_MEMORY: the variable is empty"));
}

// What the documentation shows is read by the same loader that its readers will use.

std::filesystem::path source_folder() {
  const char* folder = std::getenv("HERMETIC_SOURCE_DIR");
  return folder != nullptr ? folder : ".";
}

std::string content(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// The text between "```yaml" and "```", each as a file of its own.
std::vector<std::string> yaml_blocks(std::string_view text) {
  constexpr std::string_view kOpening = "```yaml\n";
  std::vector<std::string> blocks;
  while (true) {
    const std::size_t begin = text.find(kOpening);
    if (begin == std::string_view::npos) return blocks;
    text.remove_prefix(begin + kOpening.size());
    const std::string block(text.substr(0, text.find("```")));
    blocks.push_back(block.starts_with("version:") ? block : "version: 1\n" + block);
    text.remove_prefix(block.size());
  }
}

TEST(SpecReference, ShowsOnlyWhatTheLoaderReads) {
  const std::vector<std::string> blocks =
      yaml_blocks(content(source_folder() / "docs/reference/spec.md"));
  EXPECT_THAT(blocks, SizeIs(::testing::Ge(12U)));
  for (const std::string& block : blocks) {
    const Result<Project> project = parse_project(block, "spec.md", "/here");
    EXPECT_TRUE(project) << to_string(project.error()) << "\nin\n" << block;
  }
}

class Example : public ::testing::TestWithParam<const char*> {};

TEST_P(Example, HasOnlyTargetsThatBuild) {
  const Result<Project> project = load_project(source_folder() / GetParam() / "hermetic.yaml");
  ASSERT_TRUE(project) << to_string(project.error());
  std::vector<std::optional<std::string>> targets = {std::nullopt};
  if (!project->targets.empty()) targets.clear();
  for (const auto& [name, draft] : project->targets) targets.emplace_back(name);
  for (const std::optional<std::string>& target : targets) {
    const Result<Draft> draft = draft_of(*project, target);
    ASSERT_TRUE(draft) << to_string(draft.error());
    EXPECT_FALSE(draft->command.empty());
    const Result<Spec> spec = SpecBuilder(*draft).build();
    EXPECT_TRUE(spec) << target.value_or("the file") << ": " << to_string(spec.error());
  }
}

INSTANTIATE_TEST_SUITE_P(All, Example,
                         ::testing::Values("examples/hello", "examples/targets", "examples/network",
                                           "examples/limits"));

}  // namespace
}  // namespace hermetic
