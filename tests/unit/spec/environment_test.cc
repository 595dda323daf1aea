#include "hermetic/spec/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>

namespace hermetic {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Key;
using ::testing::Not;
using ::testing::Pair;

using Variables = std::map<std::string, std::string>;

Variables variables(const EnvironmentDraft& draft, const Variables& caller = {},
                    Identity identity = Identity::Builder) {
  return variables_of(draft, identity, caller).value();
}

TEST(Environment, IsMinimalAndFixedByDefault) {
  const Variables expected = {{"HOME", "/tmp"},
                              {"LANG", "C.UTF-8"},
                              {"PATH", "/usr/local/bin:/usr/bin:/bin"},
                              {"TZ", "UTC"},
                              {"USER", "builder"}};
  EXPECT_EQ(variables({}, {{"HOME", "/home/me"}, {"SSH_AUTH_SOCK", "/run/x"}}), expected);
  EXPECT_EQ(variables({}, {}, Identity::Root)["USER"], "root");
}

TEST(Environment, PassesOnlyWhatIsNamed) {
  const EnvironmentDraft draft{.pass = {"CC", "HOME"}};
  const Variables result = variables(draft, {{"CC", "gcc"}, {"CXX", "g++"}, {"HOME", "/home/me"}});
  EXPECT_THAT(result, Contains(Pair("CC", "gcc")));
  EXPECT_THAT(result, Contains(Pair("HOME", "/home/me")));
  EXPECT_THAT(result, Not(Contains(Key("CXX"))));
}

TEST(Environment, WhatTheCallerDoesNotKnowIsNotPassedEvenIfThereIsADefault) {
  const EnvironmentDraft draft{.pass = {"CC", "TZ"}};
  EXPECT_THAT(variables(draft), Not(Contains(Key("CC"))));
  EXPECT_THAT(variables(draft), Not(Contains(Key("TZ"))));
}

TEST(Environment, WhatIsSetIsStrongerThanWhatIsPassed) {
  const EnvironmentDraft draft{.set = {{"CC", "clang"}, {"PATH", ""}}, .pass = {"CC"}};
  EXPECT_THAT(variables(draft, {{"CC", "gcc"}}), Contains(Pair("CC", "clang")));
  EXPECT_THAT(variables(draft), Contains(Pair("PATH", "")));
}

TEST(Environment, RefusesNamesThatAreNone) {
  for (const char* name : {"", "1A", "A=B", "A B", "A-B", "\xc3\xa9"}) {
    const Result<Variables> set = variables_of({.set = {{name, ""}}}, Identity::Builder, {});
    const Result<Variables> pass = variables_of({.pass = {name}}, Identity::Builder, {});
    ASSERT_FALSE(set) << name;
    ASSERT_FALSE(pass) << name;
    EXPECT_THAT(set.error().message, HasSubstr("is not a name"));
    EXPECT_THAT(set.error().hint, HasSubstr("letters, digits and underscores"));
  }
  EXPECT_TRUE(variables_of({.set = {{"_a1", ""}}}, Identity::Builder, {}));
}

TEST(Environment, RefusesNulBytesInValues) {
  const EnvironmentDraft draft{.set = {{"A", std::string("x\0y", 3)}}};
  EXPECT_THAT(variables_of(draft, Identity::Builder, {}).error().message, HasSubstr("NUL byte"));
}

TEST(CallerEnvironment, IsTheProcessesOwn) {
  ASSERT_EQ(::setenv("HERMETIC_TEST_VARIABLE", "a=b", 1), 0);
  EXPECT_THAT(caller_environment(), Contains(Pair("HERMETIC_TEST_VARIABLE", "a=b")));
  ::unsetenv("HERMETIC_TEST_VARIABLE");
  EXPECT_THAT(caller_environment(), Not(Contains(Key("HERMETIC_TEST_VARIABLE"))));
}

}  // namespace
}  // namespace hermetic
