#include "hermetic/task/python_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hermetic::task {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Lockfile parsed(std::string_view text) {
  const Result<Lockfile> lockfile = parse_lockfile(text, "lock.txt");
  if (lockfile) return *lockfile;
  ADD_FAILURE() << to_string(lockfile.error());
  return {};
}

// "line: message" of what is refused.
std::string refusal(std::string_view text) {
  const Result<Lockfile> lockfile = parse_lockfile(text, "lock.txt");
  if (lockfile) return "accepted";
  EXPECT_EQ(lockfile.error().origin.source, "lock.txt");
  EXPECT_FALSE(lockfile.error().hint.empty());
  return std::to_string(lockfile.error().origin.line) + ": " + lockfile.error().message;
}

TEST(Lockfiles, ArePins) {
  const Lockfile lockfile = parsed("one==1.0\ntwo == 2.0\n\nthree===3\n");
  EXPECT_THAT(lockfile.names, ElementsAre("one", "two", "three"));
  EXPECT_FALSE(lockfile.has_hashes);
  EXPECT_EQ(lockfile.text, "one==1.0\ntwo == 2.0\nthree===3\n");
}

TEST(Lockfiles, MayBeEmpty) {
  EXPECT_THAT(parsed("").names, IsEmpty());
  EXPECT_EQ(parsed("# nothing\n   \n\r\n").text, "");
}

TEST(Lockfiles, MayEndWithoutANewline) { EXPECT_THAT(parsed("a==1").names, ElementsAre("a")); }

TEST(Lockfiles, HaveHashes) {
  const Lockfile lockfile = parsed(
      "one==1.0 \\\n    --hash=sha256:0123 \\\n\t--hash=sha256:4567\n"
      "two==2 --hash=sha256:89ab  --hash=sha256:cdef\n");
  EXPECT_THAT(lockfile.names, ElementsAre("one", "two"));
  EXPECT_TRUE(lockfile.has_hashes);
  EXPECT_EQ(lockfile.text,
            "one==1.0 --hash=sha256:0123 --hash=sha256:4567\n"
            "two==2 --hash=sha256:89ab --hash=sha256:cdef\n");
}

TEST(Lockfiles, AreReadFromWindowsToo) {
  const Lockfile lockfile = parsed("one==1.0 \\\r\n  --hash=sha256:01\r\n# x\r\ntwo==2\r\n");
  EXPECT_THAT(lockfile.names, ElementsAre("one", "two"));
  EXPECT_TRUE(lockfile.has_hashes);
  EXPECT_EQ(lockfile.text, "one==1.0 --hash=sha256:01\ntwo==2\n");
}

TEST(Lockfiles, HaveExtrasAndMarkers) {
  const Lockfile lockfile =
      parsed("one[a,b]==1.0 ; python_version >= \"3.8\" and sys_platform == 'linux'\n");
  EXPECT_THAT(lockfile.names, ElementsAre("one[a,b]"));
  EXPECT_EQ(lockfile.text,
            "one[a,b]==1.0 ; python_version >= \"3.8\" and sys_platform == 'linux'\n");
}

TEST(Lockfiles, HaveCommentsThatNobodyElseReads) {
  const Lockfile lockfile = parsed(
      "# -*- coding: utf-7 -*-\none==1.0 # via two, gr\xc3\xb6\xc3\x9f"
      "er\n  # goes on \\\n"
      "two==2\t# x\n#\x0c-e evil\n");
  EXPECT_THAT(lockfile.names, ElementsAre("one", "two"));
  EXPECT_EQ(lockfile.text, "one==1.0\ntwo==2\n");
}

TEST(Lockfiles, NameTheLineThatIsNotPinned) {
  EXPECT_EQ(refusal("a==1\n\n# x\nb\n"), "4: 'b' is not pinned");
  for (const char* line :
       {"b>=1", "b==1.*", "b", "b @ https://example.org/b.whl", "https://example.org/b==1.whl",
        "./b==1.whl", "b~=1", "==1", "b c==1", "b==${VERSION}", "git+file:///x@y#egg=b==1"})
    EXPECT_THAT(refusal(line), HasSubstr("is not pinned")) << line;
}

// To pip the second of them would continue the line.
TEST(Lockfiles, HaveNoBackslashThatStays) {
  EXPECT_THAT(refusal("a==1\\\\\nb==2\n"), HasSubstr("1: 'a==1"));
}

TEST(Lockfiles, AreQuotedInPart) { EXPECT_LT(refusal(std::string(100'000, 'a')).size(), 1000U); }

TEST(Lockfiles, HaveNoOptions) {
  for (const char* line :
       {"-e .", "-r other.txt", "--index-url https://example.org", "--find-links=/x", "-c x",
        "--extra-index-url=x", "--pre", "  -r other.txt"})
    EXPECT_THAT(refusal(line), HasSubstr("is an option")) << line;
  for (const char* line :
       {"a==1 --index-url=https://example.org", "a==1 -r other.txt", "a==1\t--config-settings=x",
        "a==1 --hash=sha256:01 -e", "a==1 --hash=sha256:01;x"})
    EXPECT_THAT(refusal(line), HasSubstr("other than a hash")) << line;
}

TEST(Lockfiles, ContinueWithHashesOnly) {
  EXPECT_EQ(refusal("a==1 \\\nb==2\n"), "2: 'b==2' does not belong to a requirement");
  // A backslash alone: nothing was begun.
  EXPECT_THAT(refusal("\\\n--hash=sha256:01\n"), HasSubstr("is an option"));
  EXPECT_EQ(parsed("a==1 \\\n\\\n--hash=sha256:01\n").text, "a==1 --hash=sha256:01\n");
  EXPECT_THAT(refusal("a==1 \\\n-r other.txt\n"), HasSubstr("2: '-r other.txt' has an option"));
}

// What pip takes for the end of a line and we do not: each would hide a line from us.
TEST(Lockfiles, HideNoLineFromUs) {
  for (const char* end :
       {"\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9", "\r"})
    EXPECT_THAT(refusal(std::string("a==1") + end + "-e evil\n"), HasSubstr("in another way"));
  EXPECT_THAT(refusal("\xff\xfe"
                      "a==1"),
              HasSubstr("in another way"));  // UTF-16, says pip
  EXPECT_THAT(refusal(std::string_view("a==1\0b", 6)), HasSubstr("in another way"));
}

}  // namespace
}  // namespace hermetic::task
