#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "hermetic/base/path.h"
#include "hermetic/learn/generalise.h"
#include "hermetic/learn/secrets.h"
#include "tests/unit/learn/world.h"
#include "tests/unit/spec/property.h"

namespace hermetic {
namespace {

// A run made of numbers: whatever it did, its spec allows, and no secret.
World world_from(const std::vector<std::uint32_t>& numbers) {
  static const std::vector<std::string> directories = {
      "/p/app",        "/p/app/src",    "/p/app/src/deep",
      "/p/app/out",    "/p/app/out/in", "/p/other",
      "/srv/data",     "/srv/data/x",   "/etc",
      "/etc/conf.d",   "/home/u",       "/home/u/.cache/c",
      "/home/u/lib",   "/usr/lib",      "/opt/tool/bin",
      "/opt/tool/lib", "/tmp",          "/tmp/t",
      "/home/u/.ssh",  "/var/tmp",      "/p/app/node_modules/m"};
  static const std::vector<std::string> names = {"a", "b", "c", "d", "e", ".env", "id_rsa", "k y"};
  World world;
  for (const std::uint32_t number : numbers) {
    const std::string& directory = directories[number % directories.size()];
    const std::string path = join(directory, names[number / 32 % names.size()]);
    const bool made = directory.starts_with("/p/app/out");
    if (made) {
      world.makes("/p/app/out", FileType::Directory);
      if (directory == "/p/app/out/in") world.makes("/p/app/out/in", FileType::Directory);
    }
    switch (number / 1024 % 8) {
      case 0:
      case 1: made ? world.makes(path) : world.reads(path); break;
      case 2: made ? world.makes(path) : world.runs(path); break;
      case 3: made ? world.makes_and_removes(path) : world.changes(path); break;
      case 4: world.makes(path); break;
      case 5: world.makes_and_removes(path); break;
      case 6: world.probes(path); break;
      case 7: made ? world.makes(path) : world.lists(directory); break;
    }
    if (number / 8192 % 4 == 0) world.has(join(directory, ".netrc"));
  }
  return world;
}

bool is_private_of_user(const std::string& path) {
  return is_within(path, "/tmp") || is_within(path, "/home/u/.cache");
}

// A temp starts empty: what is there on the host is not seen.
bool shows(const Spec& spec, const std::string& path) {
  const Decision decision = spec.decide(path, Operation::Read);
  return decision.allowed && decision.tree->declaration.kind != TreeKind::Temp;
}

TEST(Generalise, WhatWasNeededIsAllowedAndSecretsAreNot) {
  check_property(3000, [] {
    const World world = world_from(draw_numbers(24));
    const Results results = *number_below(2) == 0 ? Results::OneByOne : Results::InPlace;
    const Learned learned = world.learned(results);
    const Result<Spec> spec = spec_of(learned);
    if (!spec) RC_FAIL(to_string(spec.error()) + "\n" + spec_text(learned, kProject));
    RC_TAG(learned.trees.size());
    for (const SeenPath& seen : world.seen().paths) {
      const std::string shown = seen.path + "\n" + spec_text(learned, kProject);
      if (is_secret_path(seen.path)) {
        // Everybody on the host has what is in the system's directories.
        if (seen.absent_before || is_private_of_user(seen.path) || is_within(seen.path, "/usr"))
          continue;
        if (shows(*spec, seen.path)) RC_FAIL("a secret can be read: " + shown);
        continue;
      }
      if (is_private_of_user(seen.path)) continue;
      const bool listed = seen.type == FileType::Directory;
      if (seen.is_needed() && !listed && !spec->can_read(seen.path))
        RC_FAIL("cannot be read: " + shown);
      if (seen.written && seen.exists() && !spec->can_write(seen.path))
        RC_FAIL("cannot be written: " + shown);
    }
    const Surroundings surroundings = world.surroundings();
    for (const SeenPath& seen : world.seen().paths)
      for (const Surroundings::Entry& entry : surroundings.list(std::string(parent_of(seen.path))))
        if (entry.name == ".netrc" && !is_private_of_user(seen.path) &&
            !is_within(seen.path, "/usr") && !is_within(seen.path, "/p/app/out") &&
            shows(*spec, join(parent_of(seen.path), entry.name)))
          RC_FAIL("a secret beside " + seen.path + "\n" + spec_text(learned, kProject));
  });
}

}  // namespace
}  // namespace hermetic
