#include "hermetic/spec/listings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hermetic/spec/placed_path.h"
#include "hermetic/spec/spec_builder.h"
#include "tests/unit/spec/temp_dir.h"

namespace hermetic {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

SpecBuilder listed_on_host() {
  SpecBuilder builder({"true"});
  builder.caller_environment({});
  return builder;
}

std::string outcome_of_listed(const SpecBuilder& builder) {
  const Result<Spec> spec = builder.build();
  return spec ? "built" : to_string(spec.error());
}

std::vector<std::string> places_of(const Tree& tree) {
  std::vector<std::string> places;
  for (const ShownDirectory& listing : tree.listings) places.push_back(listing.place);
  return places;
}

class Listings : public ::testing::Test {
 protected:
  Listings() {
    root.directory("w/src/deep");
    root.file("w/file");
    root.link("w/link", "src");
    root.directory("tool");
    root.file("one");
  }

  // A tool in the input "w", which stands at /w.
  [[nodiscard]] SpecBuilder with(const std::string& at, const std::string& tool = "tool") const {
    return listed_on_host()
        .declare({.path = root / "w", .at = "/w", .origin = {"spec.yaml", 1, 1}})
        .declare({.path = root / tool, .at = at, .origin = {"spec.yaml", 2, 1}});
  }

  const TempDir root;
};

TEST_F(Listings, AreMadeInsideWhereAPlaceIsMissing) {
  const Spec spec = with("/w/src/new/tool").build().value();
  ASSERT_THAT(places_of(spec.trees()[1]), ElementsAre("/w/src"));
  EXPECT_EQ(spec.trees()[1].listings[0].source, root / "w/src");
  EXPECT_THAT(spec.trees()[1].listings[0].children,
              ElementsAre(Child{"deep", FileType::Directory, std::nullopt}));
}

TEST_F(Listings, AreNotNeededWhereAPlaceIsThere) {
  EXPECT_THAT(with("/w/src/deep").build().value().trees()[1].listings, IsEmpty());
  EXPECT_THAT(with("/w/file", "one").build().value().trees()[1].listings, IsEmpty());
  EXPECT_THAT(with("/v").build().value().trees()[1].listings, IsEmpty());
}

TEST_F(Listings, ReplaceWhatIsOfAnotherTypeAndLinksAtTheEnd) {
  EXPECT_THAT(places_of(with("/w/file").build().value().trees()[1]), ElementsAre("/w"));
  EXPECT_THAT(places_of(with("/w/src", "one").build().value().trees()[1]), ElementsAre("/w"));
  EXPECT_THAT(places_of(with("/w/link").build().value().trees()[1]), ElementsAre("/w"));
}

TEST_F(Listings, AreRefusedBehindALinkOrAFile) {
  EXPECT_THAT(outcome_of_listed(with("/w/link/tool")),
              AllOf(HasSubstr("spec.yaml:2:1: "), HasSubstr("cannot stand at '/w/link/tool'"),
                    HasSubstr("'/w/link' of input '" + root / "w" + "' at '/w'"),
                    HasSubstr("is a symbolic link to 'src'")));
  EXPECT_THAT(outcome_of_listed(with("/w/file/tool")), HasSubstr("is a file"));
}

TEST_F(Listings, AreNotMadeInWhatIsChangedInPlace) {
  const auto in_place = [&](const std::string& at, const std::string& tool) {
    return outcome_of_listed(
        listed_on_host()
            .declare({.kind = TreeKind::Output,
                      .path = root / "w",
                      .exceptions = {"/w/src"},
                      .publish = Publish::InPlace,
                      .at = "/w"})
            .declare({.path = root / tool, .at = at, .origin = {"spec.yaml", 2, 1}}));
  };
  EXPECT_EQ(in_place("/w/src", "tool"), "built");
  EXPECT_EQ(in_place("/w/src/new", "tool"), "built") << "the exception is private";
  EXPECT_THAT(in_place("/w/src", "one"),
              AllOf(HasSubstr("spec.yaml:2:1: "), HasSubstr("which is changed in place"),
                    HasSubstr("create it first")));
}

TEST_F(Listings, ShowARootBesideWhatEverySandboxHas) {
  root.file("image/etc/os-release");
  root.link("image/tmp", "/private/tmp");
  const Spec spec = listed_on_host().declare(as_root({.path = root / "image"})).build().value();
  EXPECT_THAT(places_of(spec.trees()[0]), ElementsAre("/", "/etc"));
}

TEST_F(Listings, RefuseARootWhoseEtcIsNoDirectory) {
  root.link("image/etc", "usr/etc");
  EXPECT_THAT(outcome_of_listed(listed_on_host().declare(as_root({.path = root / "image"}))),
              HasSubstr("its '/etc' is a symbolic link"));
}

TEST_F(Listings, RefuseACopiedRootWithADirectoryWhereAFileIsNeeded) {
  root.directory("image/etc/hosts");
  root.directory("image/opt/file");
  const SpecBuilder copied =
      listed_on_host().declare(as_root({.kind = TreeKind::Temp, .path = root / "image"}));
  EXPECT_THAT(outcome_of_listed(copied), HasSubstr("its '/etc/hosts' is a directory"));
  std::filesystem::remove(root / "image/etc/hosts");
  EXPECT_EQ(outcome_of_listed(copied), "built");
  EXPECT_THAT(
      outcome_of_listed(SpecBuilder(copied).declare({.path = root / "one", .at = "/opt/file"})),
      HasSubstr("'/opt/file' of temp '/' is a directory"));
}

TEST_F(Listings, RefuseAPlaceBehindALinkInACopiedRoot) {
  root.directory("image/usr/bin");
  root.link("image/bin", "usr/bin");
  const auto with_root = [&](const std::string& at) {
    return outcome_of_listed(listed_on_host()
                                 .declare(as_root({.kind = TreeKind::Temp, .path = root / "image"}))
                                 .declare({.path = root / "tool", .at = at}));
  };
  EXPECT_THAT(with_root("/bin/tool"), HasSubstr("'/bin' of temp '/' is a symbolic link"));
  EXPECT_EQ(with_root("/usr/bin/tool"), "built");
  EXPECT_EQ(with_root("/opt/tool"), "built");
}

}  // namespace
}  // namespace hermetic
