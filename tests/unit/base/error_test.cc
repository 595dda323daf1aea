#include "hermetic/base/error.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace hermetic {
namespace {

TEST(Origin, IsPrintedAsPlaceOrAsPhrase) {
  EXPECT_EQ(to_string(Origin{"hermetic.yaml", 3, 7}), "hermetic.yaml:3:7");
  EXPECT_EQ(to_string(Origin{"--input"}), "--input");
  EXPECT_EQ(to_string(Origin{}), "");
}

TEST(Origin, CannotTalkToTheTerminal) {
  EXPECT_EQ(to_string(Origin{"\x1b[2J.yaml", 1, 1}), "\\x1b[2J.yaml:1:1");
  EXPECT_EQ(to_string(Origin{"\x1b[2J.yaml"}), "\\x1b[2J.yaml");
}

TEST(Error, SaysWhereWhatAndWhatToDo) {
  EXPECT_EQ(to_string(invalid("unknown key 'inptus'", "did you mean 'inputs'?", {"f", 3, 7})),
            "f:3:7: unknown key 'inptus'\n  hint: did you mean 'inputs'?");
  EXPECT_EQ(to_string(unsupported("no user namespaces")), "no user namespaces");
}

TEST(Error, KeepsTheKindsApart) {
  EXPECT_EQ(invalid("").kind, Error::Kind::InvalidSpec);
  EXPECT_EQ(unsupported("").kind, Error::Kind::Unsupported);
  EXPECT_EQ(system_error("", EPERM).kind, Error::Kind::System);
}

TEST(Error, EndsWithTheCauseThatTheSystemGave) {
  const Error error = system_error("cannot open '/x'", ENOENT, "create it");
  EXPECT_EQ(error.os_error, ENOENT);
  EXPECT_EQ(to_string(error), "cannot open '/x': No such file or directory\n  hint: create it");
}

}  // namespace
}  // namespace hermetic
