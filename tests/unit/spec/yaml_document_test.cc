#include "hermetic/spec/yaml_document.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

#include "hermetic/base/unique_fd.h"
#include "tests/unit/spec/property.h"
#include "tests/unit/spec/temp_dir.h"

namespace hermetic {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

YamlNode parsed(std::string_view text) {
  Result<YamlNode> root = parse_yaml(text, "t.yaml");
  if (!root) ADD_FAILURE() << to_string(root.error());
  return root ? *std::move(root) : YamlNode{};
}

std::string repeated(std::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

TEST(ParseYaml, KeepsOrderTextQuotesAndPlaces) {
  const YamlNode root = parsed("b: no\na:\n  - 'x'\n  - \"y\\tz\"\n  - |\n    block\n");
  ASSERT_EQ(root.kind, YamlNode::Kind::Mapping);
  ASSERT_THAT(root.entries, SizeIs(2));
  const YamlEntry& b = root.entries[0];
  EXPECT_EQ(b.key, "b");
  EXPECT_EQ(b.value.text, "no");
  EXPECT_FALSE(b.value.quoted);
  EXPECT_EQ(b.value.place, (Place{.line = 1, .column = 4}));
  const YamlEntry& a = root.entries[1];
  EXPECT_EQ(a.place, (Place{.line = 2, .column = 1}));
  ASSERT_EQ(a.value.kind, YamlNode::Kind::Sequence);
  ASSERT_THAT(a.value.items, SizeIs(3));
  EXPECT_EQ(a.value.items[0].text, "x");
  EXPECT_TRUE(a.value.items[0].quoted);
  EXPECT_EQ(a.value.items[1].text, "y\tz");
  EXPECT_EQ(a.value.items[1].place, (Place{.line = 4, .column = 5}));
  EXPECT_EQ(a.value.items[2].text, "block\n");
  EXPECT_TRUE(a.value.items[2].quoted);
}

TEST(ParseYaml, CountsColumnsInCharactersAndLinesByTheirLineFeeds) {
  const YamlNode root = parsed("größe: [é, b]\r\nx: y\r\n");
  EXPECT_EQ(root.entries[0].value.items[1].place, (Place{.line = 1, .column = 12}));
  EXPECT_EQ(root.entries[1].value.place, (Place{.line = 2, .column = 4}));
}

TEST(ParseYaml, ReadsJson) {
  const YamlNode root = parsed("{\n\t\"a\":[1,true,null,\"\\u00e9\\/\"],\n\t\"b\":{}}\n");
  ASSERT_THAT(root.entries, SizeIs(2));
  EXPECT_EQ(root.entries[0].value.items[1].text, "true");
  EXPECT_FALSE(root.entries[0].value.items[1].quoted);
  EXPECT_EQ(root.entries[0].value.items[3].text, "é/");
  EXPECT_THAT(root.entries[1].value.entries, IsEmpty());
}

TEST(ParseYaml, JoinsSurrogatePairsOfJsonAndKeepsTheFilesColumns) {
  const YamlNode root =
      parsed("{\"a\": [\"\\ud83d\\ude00\\uD83D\\uDE01\", \"b\"],\n \"c\": \"d\"}");
  EXPECT_EQ(root.entries[0].value.items[0].text, "\U0001F600\U0001F601");
  EXPECT_EQ(root.entries[0].value.items[1].place, (Place{.line = 1, .column = 36}));
  EXPECT_EQ(root.entries[1].value.place, (Place{.line = 2, .column = 7}));
}

TEST(ParseYaml, LeavesEscapedBackslashesAndOtherQuotesAlone) {
  EXPECT_EQ(parsed(R"({"a": "\\ud83d\\ude00"})").entries[0].value.text, R"(\ud83d\ude00)");
  EXPECT_EQ(parsed(R"(a: '\ud83d\ude00')").entries[0].value.text, R"(\ud83d\ude00)");
  // Not JSON as a whole: single quotes.
  EXPECT_EQ(parsed(R"({a: '\ud83d\ude00'})").entries[0].value.text, R"(\ud83d\ude00)");
}

TEST(ParseYaml, TakesWhatIsJustWithinTheLimits) {
  EXPECT_TRUE(parse_yaml(repeated("[", 32) + "a" + repeated("]", 32), "t.yaml"));
  EXPECT_TRUE(parse_yaml(repeated("{a: ", 32) + "b" + repeated("}", 32), "t.yaml"));
  EXPECT_TRUE(parse_yaml("[" + repeated("a,", 99'999) + "]", "t.yaml"));
  EXPECT_TRUE(parse_yaml("a: " + std::string(kLargestDocumentBytes - 3, 'x'), "t.yaml"));
  EXPECT_TRUE(parse_yaml("%YAML 1.2\n---\na: b\n...\n", "t.yaml"));
}

struct BadDocument {
  std::string text;
  int line;
  int column;
  std::string_view message;
  std::string_view hint;
};

class BadYaml : public ::testing::TestWithParam<BadDocument> {};

TEST_P(BadYaml, IsRefusedWithPlaceReasonAndRemedy) {
  const BadDocument& bad = GetParam();
  const Result<YamlNode> root = parse_yaml(bad.text, "t.yaml");
  ASSERT_FALSE(root);
  const Error& error = root.error();
  EXPECT_EQ(error.kind, Error::Kind::InvalidSpec);
  EXPECT_EQ(error.origin, (Origin{"t.yaml", bad.line, bad.column})) << to_string(error);
  EXPECT_THAT(error.message, HasSubstr(std::string(bad.message)));
  EXPECT_THAT(error.hint, HasSubstr(std::string(bad.hint)));
  EXPECT_THAT(error.hint, Not(IsEmpty()));
}

INSTANTIATE_TEST_SUITE_P(
    Characters, BadYaml,
    ::testing::Values(BadDocument{"a: caf\xE9\n", 1, 7, "byte \\xe9 is not valid UTF-8",
                                  "save the file as UTF-8"},
                      BadDocument{"é: x\nb: é\xC3", 2, 5, "byte \\xc3 is not valid UTF-8", "UTF-8"},
                      BadDocument{"a: \xC0\x80", 1, 4, "byte \\xc0 is not valid UTF-8", "UTF-8"},
                      BadDocument{"a: \xED\xA0\x80", 1, 4, "byte \\xed is not valid UTF-8",
                                  "UTF-8"},
                      BadDocument{std::string("a: b\0c", 6), 1, 5, "NUL byte", "plain UTF-8 text"},
                      BadDocument{"a: \x1b[1m", 1, 4, "U+001B", "\"\\u001b\" in double quotes"},
                      BadDocument{"a: \x7f", 1, 4, "U+007F", "double quotes"},
                      BadDocument{"a: \xC2\x9B", 1, 4, "U+009B", "double quotes"},
                      BadDocument{"a: \xE2\x80\xA8", 1, 4, "U+2028", "double quotes"},
                      BadDocument{"a: \xC2\x85", 1, 4, "U+0085", "double quotes"},
                      BadDocument{"a: \xEF\xBB\xBF", 1, 4, "U+FEFF", "remove it"},
                      BadDocument{"a: b\rc: d\n", 1, 5, "carriage return", "line feed"},
                      BadDocument{"\xEF\xBB\xBF"
                                  "a: b\n",
                                  1, 1, "byte order mark", "without a byte order mark"},
                      BadDocument{"\xFF\xFE"
                                  "a",
                                  1, 1, "UTF-16", "save the file as UTF-8"},
                      BadDocument{"\xFE\xFF", 1, 1, "UTF-16", "save"},
                      BadDocument{std::string("\0a\0:", 4), 1, 1, "UTF-16", "save"},
                      BadDocument{std::string("a\0:\0", 4), 1, 1, "UTF-16", "save"},
                      BadDocument{"a: \"x\\0y\"", 1, 4, "'x\\x00y' contains a NUL character",
                                  "remove the escape"},
                      BadDocument{"{\"a\": \"\\u0000\"}", 1, 7, "contains a NUL character",
                                  "remove the escape"}));

INSTANTIATE_TEST_SUITE_P(
    Surrogates, BadYaml,
    ::testing::Values(
        BadDocument{R"({"a": "\ud83d"})", 1, 8, "stands for no character", "whole surrogate pair"},
        BadDocument{R"({"a": "\ude00\ud83d"})", 1, 8, "stands for no character",
                    "whole surrogate pair"},
        // The good pair before it is not blamed.
        BadDocument{R"({"a": "\ud83d\ude00 \ud83d"})", 1, 21, "stands for no character",
                    "\\U0001f600"},
        BadDocument{"a: \"\\ud83d\\ude00\"", 1, 7, "stands for no character", "\\U0001f600"}));

INSTANTIATE_TEST_SUITE_P(
    Features, BadYaml,
    ::testing::Values(
        BadDocument{"", 1, 1, "empty document", "version: 1"},
        BadDocument{"# nothing\n", 1, 1, "empty document", "version: 1"},
        BadDocument{"---\n...\n", 2, 1, "empty document", "version: 1"},
        BadDocument{"a: b\n---\nc: d\n", 2, 1, "second document", "'targets'"},
        BadDocument{"a: &x b\n", 1, 4, "anchor '&x'", "write the value out"},
        BadDocument{"a: &x [b]\n", 1, 4, "anchor '&x'", "write the value out"},
        BadDocument{"a: &x {b: c}\n", 1, 4, "anchor '&x'", "write the value out"},
        BadDocument{"&x a: b\n", 1, 1, "anchor '&x'", "write the value out"},
        BadDocument{"a: *x\n", 1, 4, "alias '*x'", "quote text that starts with '*'"},
        BadDocument{"*x : b\n", 1, 1, "alias '*x'", "quote"},
        BadDocument{"a: *.example.org\n", 1, 5, "alias", "\"*.example.org\""},
        // The classic bomb ends at its first anchor.
        BadDocument{"a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n", 1, 4, "anchor '&a'",
                    "write the value out"},
        BadDocument{"a: !!python/object:os.system x\n", 1, 4, "tag '!!python/object:os.system'",
                    "remove it"},
        BadDocument{"a: !foo [b]\n", 1, 4, "tag '!foo'", "remove it"},
        BadDocument{"a: !!str 1\n", 1, 4, "tag '!!str'", "each key has its own type"},
        BadDocument{"a: ! x\n", 1, 4, "tag '!'", "remove it"},
        BadDocument{"%TAG ! tag:x,2000:\n---\na: b\n", 1, 1, "'%TAG'", "remove it"},
        BadDocument{"a: b\nc: d\na: e\n", 3, 1, "duplicate key 'a', first at line 1, column 1",
                    "remove one"},
        BadDocument{"{\"a\": 1, \"\\u0061\": 2}", 1, 10,
                    "duplicate key 'a', first at line 1, column 2", "remove one"},
        BadDocument{"? [a]\n: b\n", 1, 3, "key that is a list or a mapping", "plain name"},
        BadDocument{"{{a: b}: c}", 1, 2, "key that is a list or a mapping", "plain name"},
        BadDocument{"?\n: b\n", 1, 2, "empty key", "write a name"},
        BadDocument{"<<: {a: b}\n", 1, 1, "merge key '<<'", "'defaults'"}));

INSTANTIATE_TEST_SUITE_P(
    Sizes, BadYaml,
    ::testing::Values(
        BadDocument{repeated("[", 33) + repeated("]", 33), 1, 33, "deeper than 32",
                    "unclosed brackets"},
        BadDocument{repeated("[", 100'000), 1, 33, "deeper than 32", "unclosed brackets"},
        BadDocument{repeated("{a: ", 100'000), 1, 129, "deeper than 32", "unclosed brackets"},
        BadDocument{repeated("- ", 100'000), 1, 65, "deeper than 32", "unclosed brackets"},
        BadDocument{"[" + repeated("a,", 100'000) + "]", 1, 200'000, "more than 100000 values",
                    "split"},
        BadDocument{"a: " + std::string(kLargestDocumentBytes - 2, 'x'), 0, 0, "1048577 bytes",
                    "split"}));

INSTANTIATE_TEST_SUITE_P(
    Syntax, BadYaml,
    ::testing::Values(
        BadDocument{"a: b\n\tc: d\n", 2, 1, "tab character", "spaces, not tabs"},
        BadDocument{"a:\n\t- b\n", 2, 1, "cannot start any token", "spaces, not tabs"},
        BadDocument{"a: @b\n", 1, 4, "cannot start any token", "quote text"},
        BadDocument{"a: b: c\n", 1, 5, "mapping values are not allowed", "quote text"},
        BadDocument{"a: [b\n", 2, 1, "from line 1, column 4, did not find expected ',' or ']'",
                    "close the list"},
        BadDocument{"a: {b\n", 2, 1, "expected ',' or '}'", "close the mapping"},
        BadDocument{"a: \"b\n", 2, 1, "quoted scalar from line 1, column 4", "close the quotes"},
        BadDocument{"a: \"\\q\"\n", 1, 5, "unknown escape", "write a backslash"},
        BadDocument{"a: [::1]:80\n", 1, 5, "node content", "\"[::1]:8080\""},
        BadDocument{"a: b\nc\n", 3, 1, "expected ':'", "key: value"},
        BadDocument{"]", 1, 1, "not valid YAML", "starts with '['"}));

TEST(ReadDocument, ReadsARegularFile) {
  const TempDir folder;
  EXPECT_EQ(*read_document(folder.file("f", "a: b\n")), "a: b\n");
}

TEST(ReadDocument, RefusesAHugeFileWithoutReadingIt) {
  const TempDir folder;
  const std::string file = folder.file("f");
  std::filesystem::resize_file(file,
                               1'000'000'000'000);  // sparse; reading it would take minutes
  const Result<std::string> text = read_document(file);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().kind, Error::Kind::InvalidSpec);
  EXPECT_EQ(text.error().origin.source, file);
  EXPECT_THAT(text.error().message, HasSubstr("1000000000000 bytes is larger than the 1 MiB"));
  EXPECT_THAT(text.error().hint, HasSubstr("split"));
}

TEST(ReadDocument, TakesOneMebibyteAndNoByteMore) {
  const TempDir folder;
  EXPECT_TRUE(read_document(folder.file("f", std::string(kLargestDocumentBytes, 'x'))));
  EXPECT_FALSE(read_document(folder.file("f", std::string(kLargestDocumentBytes + 1, 'x'))));
}

TEST(ReadDocument, RefusesDirectoriesFifosAndDevices) {
  const TempDir folder;
  EXPECT_THAT(read_document(folder.path()).error().message, HasSubstr("directory"));
  EXPECT_THAT(read_document(folder.path()).error().hint, HasSubstr("/hermetic.yaml"));
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(read_document(folder / "fifo").error().message, HasSubstr("neither a regular file"));
  EXPECT_THAT(read_document("/dev/zero").error().message, HasSubstr("neither a regular file"));
  EXPECT_THAT(read_document("/dev/zero").error().hint, HasSubstr("- < /dev/zero"));
}

TEST(ReadDocument, SaysWhatTheSystemSays) {
  const TempDir folder;
  const Error error = read_document(folder / "none").error();
  EXPECT_EQ(error.kind, Error::Kind::InvalidSpec);
  EXPECT_EQ(error.os_error, ENOENT);
  EXPECT_THAT(error.message, HasSubstr("No such file or directory"));
  EXPECT_THAT(error.hint, HasSubstr("'-' for standard input"));
  EXPECT_EQ(read_document("/dev/fd/987654").error().os_error, EBADF);
  EXPECT_EQ(read_document(std::string("a\0b", 3)).error().kind, Error::Kind::InvalidSpec);
}

TEST(ReadDocument, ReadsAStreamUpToTheCap) {
  std::array<int, 2> ends = {-1, -1};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  ASSERT_EQ(::write(writer.get(), "a: b", 4), 4);
  writer.reset();
  EXPECT_EQ(*read_document("/dev/fd/" + std::to_string(reader.get())), "a: b");

  const UniqueFd endless(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  const Result<std::string> text = read_document("/dev/fd/" + std::to_string(endless.get()));
  ASSERT_FALSE(text);
  EXPECT_THAT(text.error().message, HasSubstr("larger than the 1 MiB"));
}

TEST(ParseYamlProperty, NoTextMakesItCrash) {
  check_property(2000, []() {
    const auto pieces = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
        "a", ": ", "\n", "- ", "[", "]", "{", "}", ",", "\"", "'", "\\u", "d83d", "\\", "&a", "*a",
        "!", "|\n", "  ", "\t", "#", "? ", "---\n", "...\n", "%", "é", "\r\n", "<<", "~"));
    std::string text;
    for (const std::string& piece : pieces) text += piece;
    const Result<YamlNode> root = parse_yaml(text, "t.yaml");
    if (!root) {
      RC_ASSERT(root.error().origin.line > 0);
      RC_ASSERT(!root.error().hint.empty());
    }
  });
}

}  // namespace
}  // namespace hermetic
