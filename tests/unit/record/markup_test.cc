#include "hermetic/record/markup.h"

#include <gtest/gtest.h>

#include <string>

#include "hermetic/base/text.h"
#include "tests/unit/record/report_samples.h"

namespace hermetic {
namespace {

TEST(Markup, WhatCannotBeSeenIsSpelledOut) {
  EXPECT_EQ(visible("a\xe2\x80\x8f\xe2\x80\x8bz"), "a\\u{200f}\\u{200b}z");
  EXPECT_EQ(visible("\xd8\x9c\xef\xbb\xbf\xc2\xad"), "\\u{61c}\\u{feff}\\u{ad}");
  EXPECT_EQ(visible("\xef\xbf\xbe\xf4\x8f\xbf\xbf"), "\\u{fffe}\\u{10ffff}");
  EXPECT_EQ(visible("\xe2\x80\xae\x1b[0m\n\xff"), "\\xe2\\x80\\xae\\x1b[0m\\n\\xff");
  EXPECT_EQ(visible("gr\xc3\xbc\xc3\x9f \xf0\x9f\x9a\x80"), "gr\xc3\xbc\xc3\x9f \xf0\x9f\x9a\x80");
}

TEST(Markup, OfHtmlAndXmlNothingCanEndItsPlace) {
  EXPECT_EQ(markup_text("</a b='c' d=\"e\">&lt;"),
            "&lt;/a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;lt;");
  for (const std::string& text : samples::hostile_texts()) {
    const std::string safe = markup_text(text);
    EXPECT_TRUE(is_utf8(safe));
    EXPECT_EQ(safe.find_first_of("<>\"'\n\r\t\x1b"), std::string::npos) << safe;
  }
}

TEST(Markup, MarkdownPhrases) {
  EXPECT_EQ(markdown_text("plain words, (and) more."), "plain words, (and) more.");
  EXPECT_EQ(markdown_text("a|b*c_d`e\\"), "a\\|b\\*c\\_d\\`e\\\\");
  EXPECT_EQ(markdown_text("<b>&@x"), "&#60;b&#62;&#38;&#64;x");
  EXPECT_EQ(markdown_text("https://a www.b 1.5"), "https\\://a www\\.b 1.5");
  EXPECT_EQ(markdown_text("1. a"), "1\\. a");
  EXPECT_EQ(markdown_text("12) a"), "12\\) a");
  EXPECT_EQ(markdown_text("- a - b"), "\\- a - b");
  EXPECT_EQ(markdown_text("files: two\nlines"), "files: two\\\\nlines");
}

TEST(Markup, MarkdownNames) {
  EXPECT_EQ(markdown_code(""), "");
  EXPECT_EQ(markdown_code("a*b<c>"), "`a*b<c>`");
  EXPECT_EQ(markdown_code("a`b``c"), "```a`b``c```");
  EXPECT_EQ(markdown_code("`a"), "`` `a ``");
  EXPECT_EQ(markdown_code(" a"), "`  a `");
  EXPECT_EQ(markdown_code("a|\\`b"), "<code>a&#124;&#92;&#96;b</code>");
}

TEST(Markup, ShortTextsStayAndLongOnesSayWhatIsMissing) {
  EXPECT_EQ(shortened("abc", 3), "abc");
  EXPECT_EQ(shortened("abcdef", 3), "abc… (3 bytes more)");
  EXPECT_EQ(shortened("a\xc3\xbc"
                      "b",
                      2),
            "a… (3 bytes more)");  // not in the middle of a character
}

}  // namespace
}  // namespace hermetic
