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

struct BadDraft {
  std::string lines;  // after "version: 1"
  int line;
  int column;
  std::string_view message;
  std::string_view hint;
};

class BadSpec : public ::testing::TestWithParam<BadDraft> {};

TEST_P(BadSpec, IsRefusedWithFilePlaceValueAndRemedy) {
  const BadDraft& bad = GetParam();
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
        BadDraft{"inptus: [/usr]", 2, 1, "unknown key 'inptus' in the spec",
                 "did you mean 'inputs'?"},
        BadDraft{"target: {}", 2, 1, "unknown key 'target'", "did you mean 'targets'?"},
        BadDraft{"frobnicate: 1", 2, 1, "unknown key 'frobnicate'",
                 "known keys: command, directory"},
        BadDraft{"Command: [a]", 2, 1, "unknown key 'Command'", "did you mean 'command'?"},
        BadDraft{"limits: {memroy: 4G}", 2, 10, "unknown key 'memroy' in 'limits'", "'memory'?"},
        BadDraft{"process: {fork: true}", 2, 11, "unknown key 'fork' in 'process'", "allow_fork"},
        BadDraft{"environment: {CC: gcc}", 2, 15, "unknown key 'CC'", "below 'set'"},
        BadDraft{"inputs: [{path: /a, publish: merge}]", 2, 21, "unknown key 'publish' in 'inputs'",
                 "path, at, except"},
        BadDraft{"temps: [{path: /a, publish: merge}]", 2, 20, "unknown key 'publish' in 'temps'",
                 "path, at, except, type"},
        BadDraft{"inputs: [{pth: /a}]", 2, 11, "unknown key 'pth'", "did you mean 'path'?"},
        BadDraft{"inputs: [{except: [/a]}]", 2, 10, "no 'path'", "write {path:"},
        BadDraft{"command: [a]\ncommand: [b]", 3, 1, "duplicate key 'command', first at line 2",
                 "remove one"}));

INSTANTIATE_TEST_SUITE_P(
    Types, BadSpec,
    ::testing::Values(
        BadDraft{"command: cc main.c", 2, 10, "'command' takes a list, not 'cc main.c'",
                 "[\"/bin/sh\", \"-c\""},
        BadDraft{"command:", 2, 9, "'command' takes a list, not an empty value", "write a list"},
        BadDraft{"command: {a: b}", 2, 10, "'command' takes a list, not a mapping", "- "},
        BadDraft{"command: [a, [b]]", 2, 14, "'command' takes a single value, not a list",
                 "one text"},
        BadDraft{"inputs: /usr", 2, 9, "'inputs' takes a list, not '/usr'", "write [/usr]"},
        BadDraft{"inputs: [[/usr]]", 2, 10, "not a list in its list", "write a path"},
        BadDraft{"inputs: [{path: /a, except: /a/b}]", 2, 29, "'except' takes a list",
                 "write [/a/b]"},
        BadDraft{"directory: [/a]", 2, 12, "'directory' takes a single value, not a list",
                 "one text"},
        BadDraft{"environment: [A]", 2, 14, "'environment' takes a mapping, not a list",
                 "name: value"},
        BadDraft{"environment: {set: [A]}", 2, 20, "'environment.set' takes a mapping, not a list",
                 "name: value"},
        BadDraft{"environment: {pass: A}", 2, 21, "'environment.pass' takes a list", "write [A]"},
        BadDraft{"environment: {set: {A: [b]}}", 2, 24, "'environment.set.A' takes a single value",
                 "quote"},
        BadDraft{"environment: {set: {A: }}", 2, 24, "'environment.set.A' has an empty value",
                 "\"\" for an empty"},
        BadDraft{"limits: [4G]", 2, 9, "'limits' takes a mapping, not a list", "name: value"},
        BadDraft{"limits: big", 2, 9, "'limits' cannot be 'big'", "write hermetic"},
        BadDraft{"limits: {memory: [4G]}", 2, 18, "'limits.memory' takes a single value",
                 "one text"},
        BadDraft{"limits: {memory: }", 2, 18, "'limits.memory' has an empty value",
                 "leave the key out"},
        BadDraft{"process: 5", 2, 10, "'process' takes a mapping, not '5'", "name: value"},
        BadDraft{"give_up: memory-limit", 2, 10, "'give_up' takes a list", "write [memory-limit]"},
        BadDraft{"network: {a: b}", 2, 10, "'network' takes a list, not a mapping", "- "}));

INSTANTIATE_TEST_SUITE_P(
    Booleans, BadSpec,
    ::testing::Values(
        BadDraft{"strict_outputs: yes", 2, 17, "takes true or false, not 'yes'",
                 "write true or false"},
        BadDraft{"strict_outputs: no", 2, 17, "not 'no'", "write true or false"},
        BadDraft{"strict_outputs: on", 2, 17, "not 'on'", "write true or false"},
        BadDraft{"strict_outputs: True", 2, 17, "not 'True'", "lower case"},
        BadDraft{"strict_outputs: 0", 2, 17, "not '0'", "write true or false"},
        BadDraft{"strict_outputs: \"true\"", 2, 17, "not 'true'", "without quotes"},
        BadDraft{"strict_outputs:", 2, 16, "not an empty value", "write true or false"},
        BadDraft{"process: {allow_fork: no}", 2, 23, "'process.allow_fork' takes true",
                 "write true"},
        BadDraft{"allow_unsandboxed: []", 2, 20, "not a list", "write true or false"}));

INSTANTIATE_TEST_SUITE_P(
    Quantities, BadSpec,
    ::testing::Values(
        BadDraft{"limits: {memory: 4Q}", 2, 18, "limits.memory: size '4Q' has an unknown unit",
                 "64M or 4G"},
        BadDraft{"limits: {memory: -4G}", 2, 18, "size '-4G'", "64M or 4G"},
        BadDraft{"limits: {memory: 1.5G}", 2, 18, "size '1.5G'", "whole number"},
        BadDraft{"limits: {memory: 99999999999999999999G}", 2, 18, "larger than 4 EiB",
                 "64M or 4G"},
        BadDraft{"limits: {memory: 0}", 2, 18, "is zero", "leave the key out"},
        BadDraft{"limits: {cpu_time: 60}", 2, 20, "limits.cpu_time: duration '60'", "90s"},
        BadDraft{"limits: {wall_time: 1w}", 2, 21, "duration '1w'", "1h30m"},
        BadDraft{"limits: {processes: 0777}", 2, 21, "'0777' starts with a zero", "1 to 4194304"},
        BadDraft{"limits: {processes: 1e3}", 2, 21, "'1e3' is not a whole number", "1 to 4194304"},
        BadDraft{"limits: {processes: 0x10}", 2, 21, "'0x10' is not a whole number",
                 "whole number"},
        BadDraft{"limits: {processes: 0}", 2, 21, "'0' is out of range", "1 to 4194304"},
        BadDraft{"limits: {processes: 4194305}", 2, 21, "out of range", "1 to 4194304"},
        BadDraft{"limits: {open_files: no}", 2, 22, "'no' is not a whole number", "1 to 1048576"},
        BadDraft{"limits: {cpu_weight: 10001}", 2, 22, "out of range", "1 to 10000"},
        BadDraft{"process: {max_children: -1}", 2, 25, "process.max_children: number '-1'",
                 "0 to"}));

INSTANTIATE_TEST_SUITE_P(
    Paths, BadSpec,
    ::testing::Values(
        BadDraft{"directory: src", 2, 12, "directory: relative path 'src'", "$here/src"},
        BadDraft{"directory: ./src", 2, 12, "relative path", "absolute path"},
        BadDraft{"directory: ''", 2, 12, "empty path", "absolute path"},
        BadDraft{"directory: $here/../x", 2, 12, "contains '..'", "symbolic links"},
        BadDraft{"directory: /a/../b", 2, 12, "'/a/../b' contains '..'", "symbolic links"},
        BadDraft{"directory: ~/src", 2, 12, "relative path '~/src'", "not expanded"},
        BadDraft{"directory: $HOME/src", 2, 12, "relative path '$HOME/src'", "only $here"},
        BadDraft{"directory: $hereabouts", 2, 12, "relative path", "only $here"},
        BadDraft{"inputs: [/usr, src]", 2, 16, "inputs: relative path 'src'", "$here/src"},
        BadDraft{"inputs: [/usr, ~]", 2, 16, "'inputs' has an empty value in its list", "\"~\""},
        BadDraft{"inputs:\n  - /usr\n  -", 4, 4, "'inputs' has an empty value", "remove it"},
        BadDraft{"inputs: [/usr, /usr/]", 2, 16,
                 "'inputs' names '/usr' twice, first at line 2, column 10", "remove one"},
        BadDraft{"inputs: [{path: /a, except: [/a/b, /a//b]}]", 2, 36,
                 "'except' names '/a/b' twice", "remove one"},
        BadDraft{"inputs: [{path: /a, except: [/b]}]", 2, 30, "exception '/b' is not below '/a'",
                 "inside the tree"},
        BadDraft{"inputs: [{path: /a, except: [/a]}]", 2, 30, "exception '/a' is not below '/a'",
                 "inside"},
        BadDraft{"inputs: [{path: /a, except: [b]}]", 2, 30, "except: relative path 'b'",
                 "absolute path"},
        BadDraft{"outputs: [{path: /a, publish: in-place}]", 2, 31,
                 "'publish' cannot be 'in-place'", "replace, merge, in_place"},
        BadDraft{"outputs: [{path: /a, type: dir}]", 2, 28, "'type' cannot be 'dir'",
                 "directory, file"}));

INSTANTIATE_TEST_SUITE_P(
    Values, BadSpec,
    ::testing::Values(
        BadDraft{"command: []", 2, 10, "'command' is empty", "the program"},
        BadDraft{"command: ['', a]", 2, 11, "empty program name", "program first"},
        BadDraft{"command: [a, ~]", 2, 14, "'command' has an empty value",
                 "\"~\" if you mean the text"},
        BadDraft{"command: [a, null]", 2, 14, "'command' has an empty value", "\"null\""},
        BadDraft{"command:\n  - a\n  -\n", 4, 4, "'command' has an empty value",
                 "\"\" if you mean"},
        BadDraft{"command: [a, \"\\0\"]", 2, 14, "NUL character", "remove the escape"},
        BadDraft{"network: nowhere", 2, 10, "'network' cannot be 'nowhere'", "list of hosts"},
        BadDraft{"network: example.org", 2, 10, "'network' cannot be 'example.org'",
                 "[example.org:443]"},
        BadDraft{"network: []", 2, 10, "empty list", "write none"},
        BadDraft{"network: [a.org, 10.1.2.3/8]", 2, 18, "host rule '10.1.2.3/8'", "10.0.0.0/8"},
        BadDraft{"network: [a.org, A.ORG.]", 2, 18, "'network' names 'a.org' twice", "remove one"},
        BadDraft{"network: [*.example.org]", 2, 12, "alias", "\"*.example.org\""},
        BadDraft{"environment: {set: {1A: b}}", 2, 21, "bad variable name '1A'", "digit"},
        BadDraft{"environment: {set: {\"A=B\": b}}", 2, 21, "bad variable name 'A=B'", "letters"},
        BadDraft{"environment: {pass: [A-B]}", 2, 22, "bad variable name 'A-B'", "letters"},
        BadDraft{"environment: {set: {A: b}, pass: [A]}", 2, 35,
                 "'A' is named twice, first at line 2, column 21", "either set it or pass it"},
        BadDraft{"environment: {pass: [A, A]}", 2, 25, "'A' is named twice", "once"},
        BadDraft{"identity: admin", 2, 11, "'identity' cannot be 'admin'", "builder, root"},
        BadDraft{"hostname: -a", 2, 11, "bad hostname '-a'", "63 characters"},
        BadDraft{"hostname: a..b", 2, 11, "bad hostname 'a..b'", "letters"},
        BadDraft{"hostname: a_b", 2, 11, "bad hostname 'a_b'", "letters"},
        BadDraft{"hostname: " + std::string(64, 'a'), 2, 11, "bad hostname", "63 characters"},
        BadDraft{"hostname: ~", 2, 11, "bad hostname '~'", "letters"},
        BadDraft{"on_violation: ignore", 2, 15, "'on_violation' cannot be 'ignore'",
                 "report, fail, kill"},
        BadDraft{"give_up: [Memory]", 2, 11, "bad clause name 'Memory'", "memory-limit"},
        BadDraft{"give_up: [a, a]", 2, 14, "'give_up' names 'a' twice", "remove one"}));

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
