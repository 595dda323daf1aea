#include "hermetic/backends/linux/lower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "hermetic/backends/linux/kernel.h"
#include "hermetic/backends/linux/landlock_rules.h"
#include "hermetic/backends/linux/seccomp_filter.h"
#include "hermetic/plan/model.h"
#include "hermetic/spec/spec_builder.h"

namespace hermetic::linux_backend {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Plan plan_of(SpecBuilder builder) {
  const Spec spec = builder.lookup(look_up_by_name).caller_environment({}).build().value();
  return make_plan(spec, model_capabilities()).value();
}

SpecBuilder compile() {
  return SpecBuilder({"cc", "main.c"})
      .input("/w", {"/w/out"})
      .output("/w/out")
      .temp("/scratch")
      .directory("/w");
}

Facts facts_of(const Plan& plan) {
  Facts facts;
  facts.user = facts.group = 4242;
  facts.landlock_abi = 7;
  facts.devices = {{.path = "/dev/null", .device = 5, .inode = 6}};
  for (const Publication& publication : plan.publications)
    facts.staging[publication.path] = {
        .path = "/staged" + publication.path, .device = 1, .inode = 2};
  return facts;
}

std::vector<std::string> lines_of(const Plan& plan, const Facts& facts) {
  std::vector<std::string> lines;
  const std::string text = print_script(lower(plan, facts));
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

// Where a step that starts like this stands; the number of steps if there is none.
std::size_t place_of(const std::vector<std::string>& lines, std::string_view start) {
  const auto found = std::find_if(lines.begin(), lines.end(),
                                  [&](const std::string& line) { return line.starts_with(start); });
  return static_cast<std::size_t>(found - lines.begin());
}

// A place that is missing in the root is made in a listing of it: the host's own is not touched.
TEST(Lower, MakesPlacesInARootOfItsOwnAndNeverInTheHosts) {
  const Lookup lookup = [](std::string_view path) {
    Result<Found> found = look_up_by_name(path);
    if (path == "/out") found->existing_path = "/";
    return found;
  };
  const Spec spec = SpecBuilder({"true"})
                        .input("/", {"/out"})
                        .output("/out")
                        .lookup(lookup)
                        .caller_environment({})
                        .build()
                        .value();
  const Plan plan = make_plan(spec, model_capabilities()).value();
  const std::vector<std::string> lines = lines_of(plan, facts_of(plan));
  EXPECT_THAT(lines, Not(Contains(HasSubstr("binding / to"))));
  EXPECT_LT(place_of(lines, "mounting tmpfs on /proc"),
            place_of(lines, "making the directory out"));
}

TEST(Lower, SealsAfterTheInputsAndOpensOnlyOutputsAndTempsAgain) {
  const Plan plan = plan_of(compile());
  const std::vector<std::string> lines = lines_of(plan, facts_of(plan));
  const std::size_t seal = place_of(lines, "adding attributes 0x7 to . and below");
  ASSERT_LT(seal, lines.size());
  EXPECT_LT(place_of(lines, "binding /w to w"), seal);
  EXPECT_LT(place_of(lines, "binding /staged/w/out to w/out"), seal);
  EXPECT_GT(place_of(lines, "making w/out writable"), seal);
  std::vector<std::string> opened;
  for (const std::string& line : lines)
    if (line.ends_with(" writable")) opened.push_back(line);
  EXPECT_THAT(opened,
              ::testing::UnorderedElementsAre("making w/out writable", "making scratch writable",
                                              "making tmp writable"));
}

TEST(Lower, LeavesTheHostBeforeItGivesUpItsPowers) {
  const Plan plan = plan_of(compile());
  const std::vector<std::string> lines = lines_of(plan, facts_of(plan));
  const std::vector<std::string_view> order = {"writing '1000 4242 1\\n' to /proc/self/uid_map",
                                               "making mounts private",
                                               "mounting tmpfs on /proc",
                                               "changing the root",
                                               "entering the second user namespace",
                                               "enforcing Landlock",
                                               "dropping all capabilities",
                                               "moving a descriptor to 0",
                                               "closing descriptors from 4 on"};
  for (std::size_t i = 1; i < order.size(); ++i)
    EXPECT_LT(place_of(lines, order[i - 1]), place_of(lines, order[i])) << order[i];
  EXPECT_TRUE(lines.back().starts_with("closing descriptors")) << lines.back();
}

TEST(Lower, MakesDevicesReadOnlyAndNeverCoversThemWithNodev) {
  const Plan plan = plan_of(compile());
  const std::vector<std::string> lines = lines_of(plan, facts_of(plan));
  EXPECT_GT(place_of(lines, "binding /dev/null to dev/null"),
            place_of(lines, "adding attributes 0x7 to ."));
  EXPECT_THAT(lines, Contains("adding attributes 0xb to dev/null and below"));
}

TEST(Lower, MakesNothingInTheHostsOwnRoot) {
  const Plan plan = plan_of(SpecBuilder({"cc"})
                                .input("/", {"/secret", "/w"})
                                .declare({.kind = TreeKind::Temp,
                                          .path = "/w",
                                          .exceptions = {"/w/key"},
                                          .type = FileType::Directory}));
  Plan with_files = plan;
  int files = 0;
  for (ViewEntry& entry : with_files.view) {
    const bool hidden = entry.kind == ViewEntry::Kind::Hidden && entry.path != "/sys";
    if (hidden) entry.type = FileType::File;
    files += hidden ? 1 : 0;
  }
  const std::vector<std::string> lines = lines_of(with_files, facts_of(with_files));
  int made = 0;
  for (const std::string& line : lines)
    if (line.starts_with("making the file dev/.hermetic")) ++made;
  EXPECT_EQ(files, 2);
  EXPECT_EQ(made, files);
  EXPECT_LT(place_of(lines, "mounting tmpfs on dev"), place_of(lines, "making the file dev/.h"));
  EXPECT_THAT(lines, Each(Not(HasSubstr("making the file .hermetic"))));
}

TEST(LandlockRules, LetAListingBeReadThatStandsForAnInput) {
  Plan plan = plan_of(SpecBuilder({"cc"}).input("/w").output("/out").strict_outputs());
  for (ViewEntry& entry : plan.view)
    if (entry.path == "/w") entry.kind = ViewEntry::Kind::Listing;
  const auto reads = [&](std::string_view path) {
    for (const LandlockRule& rule : landlock_rules(plan, 7))
      if (rule.path == path && (rule.rights & kLandlockReadDirectory) != 0) return true;
    return false;
  };
  EXPECT_TRUE(reads("/w"));
  for (ViewEntry& entry : plan.view)
    if (entry.path == "/w") entry.source.clear();
  EXPECT_FALSE(reads("/w")) << "it only leads somewhere";
}

TEST(Lower, WithOlderMountCallsRemountsWhatIsReadOnly) {
  const Plan plan = plan_of(compile());
  Facts facts = facts_of(plan);
  facts.classic_mounts = true;
  facts.mounts = MountTable::parse("1 0 8:1 / / rw\n2 1 8:2 / /w/sub rw,nosuid,noexec\n").value();
  const std::vector<std::string> lines = lines_of(plan, facts);
  EXPECT_THAT(lines, Contains("binding /w to w by mount(2)"));
  EXPECT_THAT(lines, Contains("remounting w with flags 0x7"));
  EXPECT_THAT(lines, Contains("remounting w/sub with flags 0xf")) << "what is locked is said again";
  EXPECT_THAT(lines, Each(Not(HasSubstr("adding attributes"))));
}

TEST(Lower, RaisesLoopbackOnlyIfItIsAskedFor) {
  const Plan none = plan_of(compile());
  EXPECT_THAT(lines_of(none, facts_of(none)), Not(Contains("bringing up the loopback interface")));
  const Plan loopback = plan_of(compile().network({.mode = NetworkPolicy::Mode::Loopback}));
  EXPECT_THAT(lines_of(loopback, facts_of(loopback)),
              Contains("bringing up the loopback interface"));
}

// The files are those of the namespace which the script runs in: of the host's, they would be the
// host's.
TEST(Lower, ChangesSettingsOfANetworkOfItsOwnOnly) {
  using Mode = NetworkPolicy::Mode;
  for (const char* line :
       {"writing 'reno' to /proc/sys/net/ipv4/tcp_congestion_control, if that is possible",
        "writing '0' to /proc/sys/net/ipv6/conf/lo/disable_ipv6, if that is possible"}) {
    for (const Mode mode : {Mode::None, Mode::Host}) {
      const Plan plan = plan_of(compile().network({.mode = mode}));
      EXPECT_THAT(lines_of(plan, facts_of(plan)), Not(Contains(line)));
    }
    const Plan loopback = plan_of(compile().network({.mode = Mode::Loopback}));
    EXPECT_THAT(lines_of(loopback, facts_of(loopback)), Contains(line));
  }
}

TEST(Lower, GivesTheCommandsWordsAndVariablesToInit) {
  const Plan plan = plan_of(compile().env("CC", "gcc"));
  const LoweredScript script = lower(plan, facts_of(plan));
  EXPECT_STREQ(script.argv[1], "main.c");
  EXPECT_EQ(script.argv[2], nullptr);
  EXPECT_STREQ(script.envp[0], "CC=gcc");
  EXPECT_EQ(script.envp.back(), nullptr);
  EXPECT_TRUE(script.init_message.ends_with(std::string("/w\0\0\0", 5)));
}

TEST(LandlockRules, LeaveReadingToTheWholeRootAndWritingToOutputsAndTemps) {
  const std::vector<LandlockRule> rules = landlock_rules(plan_of(compile()), 7);
  for (const LandlockRule& rule : rules) {
    if (rule.kind != LandlockRule::Kind::Path) continue;
    const bool writes = (rule.rights & kLandlockWriteFile) != 0;
    EXPECT_EQ(writes, rule.path != "/") << rule.path;
    EXPECT_EQ(rule.rights & kLandlockMakeBlockDevice, 0U) << rule.path;
  }
  EXPECT_EQ(rules.front().kind, LandlockRule::Kind::Begin);
  EXPECT_EQ(rules.back().kind, LandlockRule::Kind::Enforce);
}

TEST(LandlockRules, DoNotReadAStrictOutput) {
  const Plan plan = plan_of(SpecBuilder({"cc"}).input("/w").output("/out").strict_outputs());
  for (const LandlockRule& rule : landlock_rules(plan, 7)) {
    const bool above =
        rule.kind == LandlockRule::Kind::Path && (rule.path == "/out" || rule.path == "/");
    if (!above) continue;
    EXPECT_EQ(rule.rights & kLandlockReadFile, 0U) << rule.path;
  }
}

TEST(LandlockRules, HandleNoMoreThanTheKernelKnows) {
  EXPECT_EQ(landlock_rules(plan_of(compile()), 1).front().rights, kLandlockAbi1);
  EXPECT_EQ(landlock_rules(plan_of(compile()), 5).front().scope, 0U);
  EXPECT_THAT(landlock_rules(plan_of(compile()), 0), IsEmpty());
  EXPECT_THAT(landlock_rules(plan_of(compile().allow_nested_namespaces()), 7), IsEmpty());
}

TEST(SeccompFilter, DiffersWithWhatTheSpecAllows) {
  const auto size = [](const SpecBuilder& builder) {
    return seccomp_filter(plan_of(builder), 7).size();
  };
  const std::size_t usual = size(compile());
  EXPECT_LT(size(compile().allow_nested_namespaces()), usual);
  EXPECT_GT(size(compile().process({.allow_fork = false})), usual);
  EXPECT_GT(size(compile().process({.allow_exec = false})), usual);
  EXPECT_LT(usual, kMostFilterInstructions);
}

}  // namespace
}  // namespace hermetic::linux_backend
