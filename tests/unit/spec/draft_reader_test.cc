// What a spec file cannot say: every kind of bad value, with the place and the remedy it is
// answered with.
#include "hermetic/spec/draft_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "hermetic/spec/loader.h"

namespace hermetic {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

struct Bad {
  std::string lines;  // after "version: 1"
  int line;
  int column;
  std::string_view message;
  std::string_view hint;
};

class BadSpec : public ::testing::TestWithParam<Bad> {};

TEST_P(BadSpec, IsRefusedWithFilePlaceValueAndRemedy) {
  const Bad& bad = GetParam();
  const Result<Project> project = parse_project("version: 1\n" + bad.lines + "\n", "h.yaml", "/w");
  ASSERT_FALSE(project) << bad.lines;
  const Error& error = project.error();
  EXPECT_EQ(error.kind, Error::Kind::InvalidSpec);
  EXPECT_EQ(to_string(error.origin), to_string(Origin{"h.yaml", bad.line, bad.column}))
      << to_string(error);
  EXPECT_THAT(error.message, HasSubstr(std::string(bad.message)));
  EXPECT_THAT(error.hint, AllOf(HasSubstr(std::string(bad.hint)), Not(IsEmpty())));
}

INSTANTIATE_TEST_SUITE_P(
    Keys, BadSpec,
    ::testing::Values(
        Bad{"inptus: [/usr]", 2, 1, "unknown key 'inptus' in the spec", "did you mean 'inputs'?"},
        Bad{"target: {}", 2, 1, "unknown key 'target'", "did you mean 'targets'?"},
        Bad{"frobnicate: 1", 2, 1, "unknown key 'frobnicate'", "known keys: command, directory"},
        Bad{"Command: [a]", 2, 1, "unknown key 'Command'", "did you mean 'command'?"},
        Bad{"limits: {memroy: 4G}", 2, 10, "unknown key 'memroy' in 'limits'", "'memory'?"},
        Bad{"process: {fork: true}", 2, 11, "unknown key 'fork' in 'process'", "allow_fork"},
        Bad{"environment: {CC: gcc}", 2, 15, "unknown key 'CC'", "below 'set'"},
        Bad{"inputs: [{path: /a, publish: merge}]", 2, 21, "unknown key 'publish' in 'inputs'",
            "path, except"},
        Bad{"temps: [{path: /a, publish: merge}]", 2, 20, "unknown key 'publish' in 'temps'",
            "path, except, type"},
        Bad{"inputs: [{pth: /a}]", 2, 11, "unknown key 'pth'", "did you mean 'path'?"},
        Bad{"inputs: [{except: [/a]}]", 2, 10, "no 'path'", "write {path:"},
        Bad{"command: [a]\ncommand: [b]", 3, 1, "duplicate key 'command', first at line 2",
            "remove one"}));

INSTANTIATE_TEST_SUITE_P(
    Types, BadSpec,
    ::testing::Values(
        Bad{"command: cc main.c", 2, 10, "'command' takes a list, not 'cc main.c'",
            "[\"/bin/sh\", \"-c\""},
        Bad{"command:", 2, 9, "'command' takes a list, not an empty value", "write a list"},
        Bad{"command: {a: b}", 2, 10, "'command' takes a list, not a mapping", "- "},
        Bad{"command: [a, [b]]", 2, 14, "'command' takes a single value, not a list", "one text"},
        Bad{"inputs: /usr", 2, 9, "'inputs' takes a list, not '/usr'", "write [/usr]"},
        Bad{"inputs: [[/usr]]", 2, 10, "not a list in its list", "write a path"},
        Bad{"inputs: [{path: /a, except: /a/b}]", 2, 29, "'except' takes a list", "write [/a/b]"},
        Bad{"directory: [/a]", 2, 12, "'directory' takes a single value, not a list", "one text"},
        Bad{"environment: [A]", 2, 14, "'environment' takes a mapping, not a list", "name: value"},
        Bad{"environment: {set: [A]}", 2, 20, "'environment.set' takes a mapping, not a list",
            "name: value"},
        Bad{"environment: {pass: A}", 2, 21, "'environment.pass' takes a list", "write [A]"},
        Bad{"environment: {set: {A: [b]}}", 2, 24, "'environment.set.A' takes a single value",
            "quote"},
        Bad{"environment: {set: {A: }}", 2, 24, "'environment.set.A' has an empty value",
            "\"\" for an empty"},
        Bad{"limits: [4G]", 2, 9, "'limits' takes a mapping, not a list", "name: value"},
        Bad{"limits: big", 2, 9, "'limits' cannot be 'big'", "write hermetic"},
        Bad{"limits: {memory: [4G]}", 2, 18, "'limits.memory' takes a single value", "one text"},
        Bad{"limits: {memory: }", 2, 18, "'limits.memory' has an empty value", "leave the key out"},
        Bad{"process: 5", 2, 10, "'process' takes a mapping, not '5'", "name: value"},
        Bad{"give_up: memory-limit", 2, 10, "'give_up' takes a list", "write [memory-limit]"},
        Bad{"network: {a: b}", 2, 10, "'network' takes a list, not a mapping", "- "}));

INSTANTIATE_TEST_SUITE_P(
    Booleans, BadSpec,
    ::testing::Values(
        Bad{"strict_outputs: yes", 2, 17, "takes true or false, not 'yes'", "write true or false"},
        Bad{"strict_outputs: no", 2, 17, "not 'no'", "write true or false"},
        Bad{"strict_outputs: on", 2, 17, "not 'on'", "write true or false"},
        Bad{"strict_outputs: True", 2, 17, "not 'True'", "lower case"},
        Bad{"strict_outputs: 0", 2, 17, "not '0'", "write true or false"},
        Bad{"strict_outputs: \"true\"", 2, 17, "not 'true'", "without quotes"},
        Bad{"strict_outputs:", 2, 16, "not an empty value", "write true or false"},
        Bad{"process: {allow_fork: no}", 2, 23, "'process.allow_fork' takes true", "write true"},
        Bad{"allow_unsandboxed: []", 2, 20, "not a list", "write true or false"}));

INSTANTIATE_TEST_SUITE_P(
    Quantities, BadSpec,
    ::testing::Values(
        Bad{"limits: {memory: 4Q}", 2, 18, "limits.memory: size '4Q' has an unknown unit",
            "64M or 4G"},
        Bad{"limits: {memory: -4G}", 2, 18, "size '-4G'", "64M or 4G"},
        Bad{"limits: {memory: 1.5G}", 2, 18, "size '1.5G'", "whole number"},
        Bad{"limits: {memory: 99999999999999999999G}", 2, 18, "larger than 4 EiB", "64M or 4G"},
        Bad{"limits: {memory: 0}", 2, 18, "is zero", "leave the key out"},
        Bad{"limits: {cpu_time: 60}", 2, 20, "limits.cpu_time: duration '60'", "90s"},
        Bad{"limits: {wall_time: 1w}", 2, 21, "duration '1w'", "1h30m"},
        Bad{"limits: {processes: 0777}", 2, 21, "'0777' starts with a zero", "1 to 4194304"},
        Bad{"limits: {processes: 1e3}", 2, 21, "'1e3' is not a whole number", "1 to 4194304"},
        Bad{"limits: {processes: 0x10}", 2, 21, "'0x10' is not a whole number", "whole number"},
        Bad{"limits: {processes: 0}", 2, 21, "'0' is out of range", "1 to 4194304"},
        Bad{"limits: {processes: 4194305}", 2, 21, "out of range", "1 to 4194304"},
        Bad{"limits: {open_files: no}", 2, 22, "'no' is not a whole number", "1 to 1048576"},
        Bad{"limits: {cpu_weight: 10001}", 2, 22, "out of range", "1 to 10000"},
        Bad{"process: {max_children: -1}", 2, 25, "process.max_children: number '-1'", "0 to"}));

INSTANTIATE_TEST_SUITE_P(
    Paths, BadSpec,
    ::testing::Values(
        Bad{"directory: src", 2, 12, "directory: relative path 'src'", "$here/src"},
        Bad{"directory: ./src", 2, 12, "relative path", "absolute path"},
        Bad{"directory: ''", 2, 12, "empty path", "absolute path"},
        Bad{"directory: $here/../x", 2, 12, "contains '..'", "symbolic links"},
        Bad{"directory: /a/../b", 2, 12, "'/a/../b' contains '..'", "symbolic links"},
        Bad{"directory: ~/src", 2, 12, "relative path '~/src'", "not expanded"},
        Bad{"directory: $HOME/src", 2, 12, "relative path '$HOME/src'", "only $here"},
        Bad{"directory: $hereabouts", 2, 12, "relative path", "only $here"},
        Bad{"inputs: [/usr, src]", 2, 16, "inputs: relative path 'src'", "$here/src"},
        Bad{"inputs: [/usr, ~]", 2, 16, "'inputs' has an empty value in its list", "\"~\""},
        Bad{"inputs:\n  - /usr\n  -", 4, 4, "'inputs' has an empty value", "remove it"},
        Bad{"inputs: [/usr, /usr/]", 2, 16,
            "'inputs' names '/usr' twice, first at line 2, column 10", "remove one"},
        Bad{"inputs: [{path: /a, except: [/a/b, /a//b]}]", 2, 36, "'except' names '/a/b' twice",
            "remove one"},
        Bad{"inputs: [{path: /a, except: [/b]}]", 2, 30, "exception '/b' is not below '/a'",
            "inside the tree"},
        Bad{"inputs: [{path: /a, except: [/a]}]", 2, 30, "exception '/a' is not below '/a'",
            "inside"},
        Bad{"inputs: [{path: /a, except: [b]}]", 2, 30, "except: relative path 'b'",
            "absolute path"},
        Bad{"outputs: [{path: /a, publish: in-place}]", 2, 31, "'publish' cannot be 'in-place'",
            "replace, merge, in_place"},
        Bad{"outputs: [{path: /a, type: dir}]", 2, 28, "'type' cannot be 'dir'",
            "directory, file"}));

INSTANTIATE_TEST_SUITE_P(
    Values, BadSpec,
    ::testing::Values(
        Bad{"command: []", 2, 10, "'command' is empty", "the program"},
        Bad{"command: ['', a]", 2, 11, "empty program name", "program first"},
        Bad{"command: [a, ~]", 2, 14, "'command' has an empty value", "\"~\" if you mean the text"},
        Bad{"command: [a, null]", 2, 14, "'command' has an empty value", "\"null\""},
        Bad{"command:\n  - a\n  -\n", 4, 4, "'command' has an empty value", "\"\" if you mean"},
        Bad{"command: [a, \"\\0\"]", 2, 14, "NUL character", "remove the escape"},
        Bad{"network: nowhere", 2, 10, "'network' cannot be 'nowhere'", "list of hosts"},
        Bad{"network: example.org", 2, 10, "'network' cannot be 'example.org'",
            "[example.org:443]"},
        Bad{"network: []", 2, 10, "empty list", "write none"},
        Bad{"network: [a.org, 10.1.2.3/8]", 2, 18, "host rule '10.1.2.3/8'", "10.0.0.0/8"},
        Bad{"network: [a.org, A.ORG.]", 2, 18, "'network' names 'a.org' twice", "remove one"},
        Bad{"network: [*.example.org]", 2, 12, "alias", "\"*.example.org\""},
        Bad{"environment: {set: {1A: b}}", 2, 21, "bad variable name '1A'", "digit"},
        Bad{"environment: {set: {\"A=B\": b}}", 2, 21, "bad variable name 'A=B'", "letters"},
        Bad{"environment: {pass: [A-B]}", 2, 22, "bad variable name 'A-B'", "letters"},
        Bad{"environment: {set: {A: b}, pass: [A]}", 2, 35,
            "'A' is named twice, first at line 2, column 21", "either set it or pass it"},
        Bad{"environment: {pass: [A, A]}", 2, 25, "'A' is named twice", "once"},
        Bad{"identity: admin", 2, 11, "'identity' cannot be 'admin'", "builder, root"},
        Bad{"hostname: -a", 2, 11, "bad hostname '-a'", "63 characters"},
        Bad{"hostname: a..b", 2, 11, "bad hostname 'a..b'", "letters"},
        Bad{"hostname: a_b", 2, 11, "bad hostname 'a_b'", "letters"},
        Bad{"hostname: " + std::string(64, 'a'), 2, 11, "bad hostname", "63 characters"},
        Bad{"hostname: ~", 2, 11, "bad hostname '~'", "letters"},
        Bad{"on_violation: ignore", 2, 15, "'on_violation' cannot be 'ignore'",
            "report, fail, kill"},
        Bad{"give_up: [Memory]", 2, 11, "bad clause name 'Memory'", "memory-limit"},
        Bad{"give_up: [a, a]", 2, 14, "'give_up' names 'a' twice", "remove one"}));

// The control: beside each bad value stands a good one that the same table would accept.
TEST(GoodSpec, IsNotRefused) {
  for (const char* line :
       {"inputs: [/usr]", "limits: {memory: 4G}", "strict_outputs: true", "command: [a, \"~\"]",
        "command: [a, '']", "network: [\"*.example.org\"]", "directory: /a", "hostname: a-b.c",
        "inputs: [{path: /a, except: [/a/b]}]", "process: {max_children: 0}", "give_up: [a-b]",
        "environment: {set: {A: b}, pass: [B]}", "outputs: [{path: /a, publish: in_place}]"}) {
    const Result<Project> project =
        parse_project(std::string("version: 1\n") + line + "\n", "h.yaml", "/w");
    EXPECT_TRUE(project) << to_string(project.error());
  }
}

}  // namespace
}  // namespace hermetic
