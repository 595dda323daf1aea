#include "hermetic/learn/generalise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hermetic/learn/earlier.h"
#include "tests/unit/learn/world.h"

namespace hermetic {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// "input /usr", "output /p/app/out (merge)", with "-path" for each exception.
std::vector<std::string> trees_of(const Learned& learned) {
  std::vector<std::string> list;
  for (const LearnedTree& tree : learned.trees) {
    std::string text(to_string(tree.declaration.kind));
    text += " " + tree.declaration.path;
    if (tree.declaration.publish != Publish::Replace)
      text += " (" + std::string(to_string(tree.declaration.publish)) + ")";
    if (tree.declaration.made_by_command) text += " made";
    if (!tree.declaration.over.empty()) text += " over";
    for (const std::string& exception : tree.declaration.exceptions) text += " -" + exception;
    list.push_back(text);
  }
  return list;
}

TEST(Generalise, SystemDirectoriesAreDeclaredAsAWhole) {
  World world;
  world.runs("/usr/bin/cc").reads("/usr/include/stdio.h").reads("/lib64/ld.so");
  EXPECT_THAT(trees_of(world.learned()), ElementsAre("input /lib64", "input /usr"));
}

TEST(Generalise, FewFilesAreNamedAndManyAreTheirDirectory) {
  World world;
  world.reads("/srv/a/1").reads("/srv/a/2").reads("/srv/a/3");
  EXPECT_THAT(trees_of(world.learned()),
              ElementsAre("input /srv/a/1", "input /srv/a/2", "input /srv/a/3"));
  world.reads("/srv/a/4");
  EXPECT_THAT(trees_of(world.learned()), ElementsAre("input /srv/a"));
}

TEST(Generalise, ManyDirectoriesAreTheOneAbove) {
  World world;
  for (const char* name : {"a", "b", "c", "d"}) world.lists("/srv/data/" + std::string(name));
  EXPECT_THAT(trees_of(world.learned()), ElementsAre("input /srv/data"));
}

TEST(Generalise, WhatHoldsEverythingIsNeverDeclaredAsAWhole) {
  World world;
  world.lists("/").lists("/etc").lists(kHome).lists("/home");
  for (const char* name : {"a", "b", "c", "d", "e"}) world.reads("/etc/" + std::string(name));
  for (const std::string& tree : trees_of(world.learned()))
    EXPECT_THAT(tree, HasSubstr("input /etc/"));
  EXPECT_THAT(world.learned().notes, Contains(HasSubstr("/home/u")));
}

TEST(Generalise, ADirectoryThatIsOnlyPassedThroughIsNotNeeded) {
  World world;
  world.add("/srv/www", FileType::Directory).read = true;
  EXPECT_THAT(trees_of(world.learned()), IsEmpty());
}

TEST(Generalise, TheProjectIsDeclaredLessResultsAndSecrets) {
  World world;
  world.reads("/p/app/Makefile").lists("/p/app/src").reads("/p/app/a").reads("/p/app/b");
  world.reads("/p/app/c").makes("/p/app/out", FileType::Directory).makes("/p/app/out/x.o");
  world.has("/p/app/.env").has("/p/app/deep/below/id_rsa").has("/p/app/.git/config");
  EXPECT_THAT(trees_of(world.learned()),
              ElementsAre("input /p/app -/p/app/.env -/p/app/.git -/p/app/deep/below/id_rsa "
                          "-/p/app/out",
                          "output /p/app/out made"));
}

TEST(Generalise, ASecretThatIsReadIsLeftOutAndSaidSo) {
  World world;
  world.reads("/home/u/.ssh/config").reads("/p/app/server.key");
  EXPECT_THAT(trees_of(world.learned()), ElementsAre("temp /p/app -/p/app/server.key"));
  EXPECT_THAT(world.learned().withheld, ElementsAre("/home/u/.ssh/config", "/p/app/server.key"));
  EXPECT_THAT(spec_text(world.learned(), kProject), HasSubstr("\n  # - $here/server.key\n"));
}

TEST(Generalise, InstallationsAreRecognised) {
  World world;
  world.runs("/home/u/.pyenv/versions/3.12/bin/python3");
  world.reads("/home/u/.pyenv/versions/3.12/lib/python3.12/os.py");
  world.reads("/p/app/venv/pyvenv.cfg").reads("/p/app/venv/lib/x.py");
  world.reads("/p/app/node_modules/left-pad/index.js").reads("/opt/tool/lib/t.so");
  EXPECT_THAT(trees_of(world.learned()),
              ElementsAre("input /home/u/.pyenv/versions/3.12", "input /opt/tool",
                          "input /p/app/node_modules", "input /p/app/venv"));
}

TEST(Generalise, ADirectoryThatIsMadeIsAnOutputAndOneThatIsGoneATemp) {
  World world;
  world.makes("/p/app/out", FileType::Directory).makes("/p/app/out/a").makes("/p/app/out/b");
  world.makes_and_removes("/p/app/work").makes_and_removes("/p/app/work/x");
  EXPECT_THAT(trees_of(world.learned()),
              ElementsAre("output /p/app/out made", "temp /p/app/work made"));
}

TEST(Generalise, FewResultsAmongSourcesAreFilesAndManyAreInPlace) {
  World world;
  world.reads("/p/app/main.c").makes("/p/app/main.o");
  EXPECT_THAT(trees_of(world.learned()),
              ElementsAre("input /p/app/main.c", "output /p/app/main.o made"));
  EXPECT_THAT(trees_of(world.learned(Results::InPlace)), ElementsAre("output /p/app (in_place)"));
  world.makes("/p/app/a.o").makes("/p/app/b.o").makes("/p/app/c.o").has("/p/app/.env");
  EXPECT_THAT(trees_of(world.learned()), ElementsAre("output /p/app (in_place) -/p/app/.env"));
}

TEST(Generalise, WhatIsReplacedByRenamingNeedsItsDirectory) {
  World world;
  world.changes("/p/app/data", true).makes_and_removes("/p/app/data.tmp");
  EXPECT_THAT(trees_of(world.learned()), ElementsAre("output /p/app/data made"));
  EXPECT_THAT(trees_of(world.learned(Results::InPlace)), ElementsAre("output /p/app (in_place)"));
}

TEST(Generalise, WhatWasUsedBeforeItWasReplacedIsThereFromTheStart) {
  World world;
  world.changes("/p/app/data", true);
  SeenPath& list = world.add("/p/app/list", FileType::File);
  list.written = list.read = list.opened = list.replaced = list.used_before = true;
  EXPECT_THAT(trees_of(world.learned()),
              ElementsAre("output /p/app/data made", "output /p/app/list"));
}

TEST(Generalise, FilesThatComeAndGoAmongSourcesHaveAPrivateDirectory) {
  World world;
  for (const char* name : {"a", "b", "c", "d"}) world.reads("/p/app/" + std::string(name));
  for (const char* name : {"1", "2", "3", "4"})
    world.makes_and_removes("/p/app/tmp." + std::string(name));
  EXPECT_THAT(trees_of(world.learned()),
              ElementsAre("input /p/app -/p/app/tmp.1", "temp /p/app/tmp.1 made"));
  world.makes("/p/app/result");
  EXPECT_THAT(trees_of(world.learned()),
              ElementsAre("input /p/app -/p/app/result", "output /p/app/result made"));
}

TEST(Generalise, BesideTooManyFilesNothingIsMadeByTheCommand) {
  World world;
  world.makes("/srv/out/result");
  EXPECT_THAT(trees_of(world.learned()), ElementsAre("output /srv/out/result made"));
  for (int i = 0; i < 4100; ++i) world.has("/srv/out/" + std::to_string(i));
  EXPECT_THAT(trees_of(world.learned()), ElementsAre("output /srv/out/result"));
}

TEST(Generalise, SecretsThatTheRunMadeItselfAreResults) {
  World world;
  for (const char* name : {"a", "b", "c", "d"}) world.makes("/p/app/" + std::string(name) + ".o");
  world.makes("/p/app/.env.o.cmd").has("/p/app/.env");
  EXPECT_THAT(trees_of(world.learned()), ElementsAre("output /p/app (in_place) -/p/app/.env"));
}

TEST(Generalise, ResultsBesideOtherFilesAreMerged) {
  World world;
  for (const char* name : {"a", "b", "c", "d"}) world.makes("/srv/out/" + std::string(name));
  EXPECT_THAT(trees_of(world.learned()), ElementsAre("output /srv/out"));
  world.has("/srv/out/old");
  EXPECT_THAT(trees_of(world.learned()), ElementsAre("output /srv/out (merge)"));
}

TEST(Generalise, WhatIsChangedIsChangedInPlaceAndWhatIsCutReplaced) {
  World world;
  world.changes("/srv/log").changes("/srv/report", true);
  EXPECT_THAT(trees_of(world.learned()),
              ElementsAre("output /srv/report made", "output /srv/log (in_place)"));
}

TEST(Generalise, ThePrivateTmpAndTheUsersStateNeedNothing) {
  World world;
  world.makes("/tmp/x").makes_and_removes("/tmp/y").makes("/home/u/.cache/pip/z");
  world.reads("/home/u/.cache/something/old").changes("/home/u/.node_repl_history");
  EXPECT_THAT(trees_of(world.learned()), IsEmpty());
  EXPECT_THAT(world.learned().variables, IsEmpty());
  // But for a result that the command line names.
  world.observation.command = {"cc", "-o", "/tmp/x"};
  EXPECT_THAT(trees_of(world.learned()), ElementsAre("output /tmp/x made"));
}

TEST(Generalise, CachesThatAreKnownByNameCanBeReadAndChanged) {
  World world;
  world.reads("/home/u/.npm/_cacache/index").makes("/home/u/.npm/_logs/1");
  world.runs("/home/u/.cargo/bin/cargo").reads("/home/u/.cargo/registry/cache/a");
  world.has("/home/u/.cargo/credentials.toml").changes("/home/u/.node_repl_history");
  EXPECT_THAT(trees_of(world.learned()),
              ElementsAre("input /home/u/.cargo -/home/u/.cargo/credentials.toml "
                          "-/home/u/.cargo/registry",
                          "temp /home/u/.cargo/registry over", "temp /home/u/.npm over",
                          "temp /home/u/.node_repl_history"));
  EXPECT_EQ(world.learned().variables.at("HOME").value, kHome);
  world.observation.environment = {{"CARGO_HOME", "/srv/cargo"}};
  world.reads("/srv/cargo/registry/index");
  EXPECT_THAT(trees_of(world.learned()), Contains("temp /srv/cargo/registry over"));
}

TEST(Generalise, AnotherRunIsAddedAndTheSameOneChangesNothing) {
  World world;
  world.reads("/srv/a").makes("/p/app/out", FileType::Directory).reads("/p/app/main.c");
  world.observation.environment = {{"MODE", "fast"}};
  world.observation.mentioned = {"MODE"};
  const std::string first = spec_text(world.learned(), kProject);
  World other;
  other.reads("/srv/b").lists("/p/app/out").changes("/p/app/out/log").reads("/p/app/server.key");
  other.observation.command = {"make", "test"};
  other.observation.earlier = read_earlier(first, "text", kProject).value();
  // What is not on this host is left out.
  other.observation.earlier.trees.push_back({.path = "/srv/a"});
  const std::string both = spec_text(other.learned(), kProject);
  EXPECT_THAT(trees_of(other.learned()),
              ElementsAre("input /srv/a", "input /srv/b", "output /p/app/out made"));
  EXPECT_THAT(both, HasSubstr("command: [make]\n"));
  EXPECT_THAT(both, HasSubstr("MODE: fast"));
  EXPECT_THAT(both, HasSubstr("  # - $here/server.key\n"));
  other.observation.earlier = read_earlier(both, "text", kProject).value();
  other.observation.earlier.trees.push_back({.path = "/srv/a"});
  EXPECT_EQ(spec_text(other.learned(), kProject), both);
  EXPECT_FALSE(read_earlier(first + "limits: {memory: 1G}\n", "text", kProject));
}

TEST(Generalise, BytecodeIsNotKept) {
  World world;
  world.makes("/p/app/__pycache__", FileType::Directory).makes("/p/app/__pycache__/a.pyc");
  world.reads("/p/app/a.py");
  EXPECT_THAT(trees_of(world.learned()), ElementsAre("input /p/app/a.py"));
  EXPECT_EQ(world.learned().variables.at("PYTHONDONTWRITEBYTECODE").value, "1");
}

TEST(Generalise, VariablesAreTakenForAReasonAndSecretsNever) {
  World world;
  world.observation.environment = {
      {"CC", "clang"},       {"MODE", "fast"},          {"OTHER", "1"}, {"API_TOKEN", "x"},
      {"TOOLS", "/srv/kit"}, {"PATH", "/bin:/srv/kit"}, {"TERM", "vt"}};
  world.observation.mentioned = {"MODE", "API_TOKEN", "TERM"};
  EXPECT_EQ(world.learned().variables.count("OTHER"), 0U);
  world.observation.asked = {"OTHER"};
  world.runs("/srv/kit/tool");
  std::vector<std::string> names;
  for (const auto& [name, variable] : world.learned().variables) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("CC", "MODE", "OTHER", "PATH", "TOOLS"));
  EXPECT_EQ(world.learned().variables.at("PATH").value, "/bin:/srv/kit:/usr/local/bin:/usr/bin");
  EXPECT_THAT(world.learned().notes, Contains(HasSubstr("API_TOKEN")));
}

TEST(Generalise, TheHomeDirectoryIsPassedOnlyIfFilesOfItAreNeeded) {
  World world;
  EXPECT_EQ(world.learned().variables.count("HOME"), 0U);
  world.reads("/home/u/.gitconfig").makes("/home/u/.cache/git/x");
  EXPECT_EQ(world.learned().variables.at("HOME").value, kHome);
  EXPECT_THAT(trees_of(world.learned()),
              ElementsAre("input /home/u/.gitconfig", "temp /home/u/.cache"));
}

TEST(Generalise, NamesStandForTheirAddresses) {
  World world;
  world.observation.names = {"example.org"};
  world.observation.reached = {{"192.0.2.1", 443}, {"192.0.2.53", 53}, {"127.0.0.1", 9090}};
  EXPECT_THAT(world.learned().hosts, ElementsAre("127.0.0.1:9090", "example.org:443"));
  world.observation.reached = {{"192.0.2.53", 53}};
  EXPECT_EQ(world.learned().network, "") << "nobody was reached";
}

TEST(Generalise, OwnServersNeedLoopbackAndOthersAreNamed) {
  World world;
  EXPECT_EQ(world.learned().network, "");
  world.observation.listened = {{"127.0.0.1", 8080}};
  world.observation.reached = {{"127.0.0.1", 8080}};
  EXPECT_EQ(world.learned().network, "loopback");
  world.observation.reached = {{"127.0.0.1", 9090}};
  EXPECT_EQ(world.learned().network, "hosts") << "a server of somebody else";
  world.observation.listened.insert({"127.0.0.1", 0});
  EXPECT_EQ(world.learned().network, "loopback") << "the kernel chose the port";
  world.observation.reached.insert({"example.org", 443});
  world.observation.reached.insert({"2001:db8::1", 80});
  world.observation.reached.insert({"192.0.2.53", 53});
  EXPECT_EQ(world.learned().network, "hosts");
  EXPECT_THAT(world.learned().hosts, ElementsAre("[2001:db8::1]:80", "example.org:443"));
  const Result<Spec> spec = spec_of(world.learned());
  ASSERT_TRUE(spec) << to_string(spec.error());
  EXPECT_TRUE(spec->can_reach("example.org", 443));
}

TEST(Generalise, WhereNothingIsDeclaredNothingIsStarted) {
  World world;
  world.runs("/bin/true");
  EXPECT_EQ(world.learned().directory, "/");
  world.probes("/p/app/x");
  EXPECT_EQ(world.learned().directory, kProject);
  EXPECT_THAT(trees_of(world.learned()), ElementsAre("input /bin", "temp /p/app"));
  world.reads("/p/app/x");
  EXPECT_THAT(trees_of(world.learned()), ElementsAre("input /bin", "input /p/app/x"));
  EXPECT_EQ(world.learned().directory, kProject);
}

}  // namespace
}  // namespace hermetic
