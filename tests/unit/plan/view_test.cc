#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "hermetic/plan/plan.h"
#include "tests/unit/spec/property.h"
#include "tests/unit/spec/random_spec.h"
#include "tests/unit/spec/temp_dir.h"

namespace hermetic {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Kind = ViewEntry::Kind;

SpecBuilder by_name() {
  SpecBuilder builder({"true"});
  builder.caller_environment({}).lookup(look_up_by_name);
  return builder;
}

// "input /usr", "made output /w/out", "link /bin -> usr/bin", without what every sandbox has.
std::vector<std::string> shown(const Spec& spec, std::string_view below = "/") {
  std::vector<std::string> lines;
  for (const ViewEntry& entry : view_of(spec)) {
    const bool usual = entry.path == "/dev" || entry.path == "/proc" || entry.path == "/tmp" ||
                       is_within(entry.path, "/etc");
    if ((usual && below == "/") || !is_within(entry.path, below)) continue;
    std::string line = entry.make_point ? "made " : "";
    line += std::string(to_string(entry.kind)) + " " + entry.path;
    if (entry.kind == Kind::Link) line += " -> " + entry.text;
    lines.push_back(line);
  }
  return lines;
}

const ViewEntry* nearest(const std::vector<ViewEntry>& view, std::string_view path, bool strictly) {
  const ViewEntry* best = nullptr;
  for (const ViewEntry& entry : view)
    if (strictly ? is_strictly_within(path, entry.path) : is_within(path, entry.path))
      if (best == nullptr || entry.path.size() > best->path.size()) best = &entry;
  return best;
}

bool is_private(Kind kind) {
  return kind == Kind::Directory || kind == Kind::Output || kind == Kind::Temp ||
         kind == Kind::Listing;
}

TEST(View, ShowsTreesAndTheWayToThem) {
  EXPECT_THAT(shown(by_name().input("/usr").input("/w/src").output("/w/out").build().value()),
              ElementsAre("made input /usr", "made directory /w", "made output /w/out",
                          "made input /w/src"));
}

TEST(View, HidesExceptionsAndPutsTreesInThem) {
  EXPECT_THAT(
      shown(by_name().input("/w", {"/w/.git", "/w/out"}).output("/w/out/bin").build().value()),
      ElementsAre("made input /w", "hidden /w/.git", "listing /w/out", "made output /w/out/bin"));
}

TEST(View, AnInputInsideAShownInputNeedsNoEntry) {
  EXPECT_THAT(shown(by_name().input("/w").input("/w/a/b").build().value()),
              ElementsAre("made input /w"));
  EXPECT_THAT(shown(by_name().input("/w", {"/w/a"}).input("/w/a/b").build().value()),
              ElementsAre("made input /w", "listing /w/a", "made input /w/a/b"));
}

TEST(View, HasTheBuiltInTreesAlsoInsideAnInputOfEverything) {
  const std::vector<ViewEntry> view = view_of(by_name().input("/").build().value());
  std::map<std::string, Kind> kinds;
  for (const ViewEntry& entry : view) kinds[entry.path] = entry.kind;
  EXPECT_EQ(kinds, (std::map<std::string, Kind>{{"/", Kind::Input},
                                                {"/dev", Kind::Devices},
                                                {"/proc", Kind::Processes},
                                                {"/sys", Kind::Hidden},
                                                {"/tmp", Kind::Temp}}));
}

TEST(View, AnExceptionInsideWhatIsHiddenAnywayNeedsNoEntry) {
  EXPECT_THAT(shown(by_name().input("/", {"/sys/class"}).build().value()),
              ElementsAre("input /", "hidden /sys"));
}

TEST(View, HasFilesThatSayWhoTheCommandIs) {
  const auto text_of = [](const Spec& spec, std::string_view path) {
    for (const ViewEntry& entry : view_of(spec))
      if (entry.path == path && entry.kind == Kind::File) return entry.text;
    return std::string("no such file");
  };
  const Spec builder = by_name().hostname("box").build().value();
  EXPECT_THAT(text_of(builder, "/etc/passwd"), HasSubstr("builder:x:1000:1000:"));
  EXPECT_THAT(text_of(builder, "/etc/group"), HasSubstr("builder:x:1000:"));
  EXPECT_THAT(text_of(builder, "/etc/hosts"), HasSubstr("127.0.0.1 box"));
  EXPECT_EQ(text_of(builder, "/etc/resolv.conf"), "");
  const Spec root = by_name().identity(Identity::Root).build().value();
  EXPECT_THAT(text_of(root, "/etc/passwd"),
              AllOf(HasSubstr("root:x:0:0:"), Not(HasSubstr("builder"))));
  EXPECT_EQ(text_of(by_name().input("/etc/passwd").build().value(), "/etc/passwd"), "no such file")
      << "the host's own was asked for";
}

TEST(View, AnExceptionForABuiltInFileGivesTheBuiltInOne) {
  EXPECT_THAT(shown(by_name().input("/etc", {"/etc/passwd"}).build().value(), "/etc"),
              ElementsAre("made input /etc", "file /etc/passwd"));
}

TEST(View, PutsNoFileWhereTheHostHasNoPlaceForIt) {
  const Lookup lookup = [](std::string_view path) -> Result<Found> {
    Found found = look_up_by_name(path).value();
    if (path == "/etc/hosts") found.existing_path = "/etc";
    return found;
  };
  const SpecBuilder builder = by_name().input("/etc", {"/etc/hosts"}).lookup(lookup);
  EXPECT_THAT(shown(builder.build().value(), "/etc"), ElementsAre("made input /etc"));
}

TEST(View, ShowsTheLinksThatLeadToDeclaredPaths) {
  const TempDir root;
  root.directory("real/bin");
  root.link("bin", "real/bin");
  const Spec spec = SpecBuilder({"true"}).input(root / "bin").build().value();
  EXPECT_THAT(shown(spec, root.path()),
              ElementsAre("made directory " + root.path(), "made link " + root / "bin -> real/bin",
                          "made directory " + root / "real", "made input " + root / "real/bin"));
}

TEST(View, ALinkThatTheHostShowsAnywayIsNotMade) {
  const TempDir root;
  root.directory("w/real");
  root.link("w/link", "real");
  const Spec spec = SpecBuilder({"true"}).input(root / "w").input(root / "w/link").build().value();
  EXPECT_THAT(shown(spec, root / "w"), ElementsAre("made input " + root / "w"));
  root.link("in", "w/link");
  const Spec in_place = SpecBuilder({"true"}).output(root / "w", Publish::InPlace).build().value();
  EXPECT_THAT(shown(in_place, root / "w"), ElementsAre("made in_place " + root / "w"));
}

TEST(View, MakesAMissingPlaceInAPrivateListing) {
  const TempDir root;
  root.directory("w/src");
  root.directory("w/secret");
  root.file("w/main.c");
  root.link("w/latest", "src");
  const Spec spec = SpecBuilder({"true"})
                        .input(root / "w", {root / "w/out", root / "w/secret"})
                        .output(root / "w/out")
                        .build()
                        .value();
  EXPECT_THAT(shown(spec, root / "w"),
              ElementsAre("made listing " + root / "w", "made link " + root / "w/latest -> src",
                          "made input " + root / "w/main.c", "made output " + root / "w/out",
                          "made hidden " + root / "w/secret", "made input " + root / "w/src"));
}

TEST(View, AListingInsideAnInputCoversOnlyThatDirectory) {
  const TempDir root;
  root.directory("w/a/b");
  root.directory("w/c");
  const Spec spec = SpecBuilder({"true"})
                        .temp(root / "w/a/new")
                        .input(root / "w", {root / "w/a/new"})
                        .build()
                        .value();
  EXPECT_THAT(shown(spec, root / "w"),
              ElementsAre("made input " + root / "w", "listing " + root / "w/a",
                          "made input " + root / "w/a/b", "made temp " + root / "w/a/new"));
}

TEST(View, HoldsTheObjectsThatWereChecked) {
  const TempDir root;
  root.file("in/f");
  const Spec spec = SpecBuilder({"true"})
                        .input(root / "in", {root / "in/new"})
                        .temp(root / "in/new")
                        .output(root.directory("place"), Publish::InPlace)
                        .build()
                        .value();
  for (const ViewEntry& entry : view_of(spec)) {
    const bool host = entry.kind == Kind::Input || entry.kind == Kind::OutputInPlace;
    EXPECT_EQ(entry.object != nullptr, host) << entry.path;
    struct stat status = {};
    ASSERT_EQ(::stat(entry.path.c_str(), &status) == 0 || !host, true) << entry.path;
    EXPECT_EQ(entry.inode, host ? status.st_ino : 0) << entry.path;
    EXPECT_EQ(entry.source == entry.path, host || entry.kind == Kind::Listing) << entry.path;
  }
}

// Where decide() and the view agree on every path, whatever enforces the view enforces decide().
TEST(ViewProperty, ShowsWhatDecideAllows) {
  check_property(10'000, [] {
    const Result<Spec> spec = builder_of(declarations_from(draw_numbers(5))).build();
    RC_PRE(spec.has_value());
    const std::vector<ViewEntry> view = view_of(*spec);
    for (const std::string& path : asked_paths()) {
      using Because = Decision::Because;
      const Decision decision = spec->decide(path, Operation::Read);
      const ViewEntry* entry = nearest(view, path, false);
      // A directory on the way inside a temp or an output is part of it.
      for (const ViewEntry* above = entry; above != nullptr && above->kind == Kind::Directory;) {
        above = nearest(view, above->path, true);
        if (above != nullptr && above->kind != Kind::Directory && above->kind != Kind::Listing)
          entry = above;
      }
      const bool here = entry != nullptr && entry->path == path;
      const auto is_declared = [&](TreeKind kind) {
        return decision.because == Because::Declared && decision.tree->declaration.kind == kind;
      };
      const bool nothing =
          decision.because == Because::Excepted || decision.because == Because::Undeclared;
      bool agree = false;
      switch (entry == nullptr ? Kind::Directory : entry->kind) {
        case Kind::Input: agree = is_declared(TreeKind::Input); break;
        case Kind::Output:
        case Kind::OutputInPlace: agree = is_declared(TreeKind::Output); break;
        case Kind::Temp: agree = is_declared(TreeKind::Temp); break;
        case Kind::Hidden: agree = nothing; break;
        case Kind::Directory:
        case Kind::Listing:
          agree = here || path == "/" ? decision.because == Because::OnTheWay : nothing;
          break;
        case Kind::File: agree = !here || decision.because == Because::BuiltIn; break;
        case Kind::Devices:
        case Kind::Processes: agree = decision.because == Because::BuiltIn; break;
        case Kind::Link: break;
      }
      if (!agree)
        RC_FAIL(path + " is " + std::string(entry == nullptr ? "nothing" : to_string(entry->kind)));
    }
  });
}

TEST(ViewProperty, PutsParentsFirstAndMakesPlacesExactlyWhereNothingIs) {
  check_property(10'000, [] {
    const std::vector<std::uint32_t> missing = draw_numbers(4);
    const Lookup lookup = [&](std::string_view path) -> Result<Found> {
      Found found = look_up_by_name(path).value();
      for (const std::uint32_t number : missing) {
        const std::string& hole = declarable_paths()[number % declarable_paths().size()];
        if (hole != "/" && is_within(found.existing_path, hole))
          found.existing_path = std::string(parent_of(hole));
      }
      return found;
    };
    const std::vector<Declaration> declarations = declarations_from(draw_numbers(5));
    const bool placed = std::ranges::any_of(
        declarations, [](const Declaration& declaration) { return !declaration.at.empty(); });
    const Result<Spec> spec = builder_of(declarations).lookup(lookup).build();
    RC_PRE(spec.has_value());
    const std::vector<ViewEntry> view = view_of(*spec);
    for (std::size_t i = 0; i < view.size(); ++i) {
      const ViewEntry& entry = view[i];
      if (i > 0) RC_ASSERT(PathOrder{}(view[i - 1].path, entry.path));
      if (entry.path == "/") continue;
      const ViewEntry* above = nearest(view, entry.path, true);
      const bool made = above == nullptr || is_private(above->kind);
      RC_LOG() << entry.path << " below " << (above == nullptr ? "nothing" : above->path) << "\n";
      RC_ASSERT(entry.make_point == made);
      // Where no place is made there is one on the host; a host without a /tmp is none.
      // A lookup by name does not know what stands elsewhere.
      if (!made && entry.path != "/tmp" && !placed) RC_ASSERT(lookup(entry.path).value().exists());
      // A place is made in a directory that is itself in the view.
      if (made && parent_of(entry.path) != "/")
        RC_ASSERT((above != nullptr && above->path == parent_of(entry.path)));
      if (above != nullptr) RC_ASSERT(above->type == FileType::Directory);
    }
  });
}

}  // namespace
}  // namespace hermetic
