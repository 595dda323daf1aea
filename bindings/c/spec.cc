#include "bindings/c/spec.h"

#include <unistd.h>

#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/c/failure.h"
#include "hermetic/base/current_directory.h"
#include "hermetic/spec/environment.h"
#include "hermetic/spec/loader.h"
#include "hermetic/spec/presets.h"

namespace hermetic::c {
namespace {

std::vector<std::string> list_of(const char* const* texts) {
  std::vector<std::string> list;
  for (; texts != nullptr && *texts != nullptr; ++texts) list.emplace_back(*texts);
  return list;
}

std::optional<std::string_view> target_of(const char* target) {
  return target == nullptr ? std::nullopt : std::optional<std::string_view>(target);
}

Result<std::string> folder_of(const char* here) {
  if (here != nullptr) return std::string(here);
  return current_directory();
}

Result<Draft> parse(const char* text, std::size_t size, const char* file_name, const char* here,
                    const char* target) {
  (void)TRY(needed(text, "text"));
  const std::string folder = TRY(folder_of(here));
  const Project project = TRY(parse_project(std::string_view(text, size),
                                            file_name == nullptr ? "spec" : file_name, folder));
  return draft_of(project, target_of(target));
}

// A value of an enumeration in C, as that of the one in C++ that stands in the same place.
template <class Enum>
Result<Enum> one_of(int value, std::initializer_list<Enum> values, const char* name) {
  if (value < 0 || static_cast<std::size_t>(value) >= values.size())
    return invalid(std::string(name) + " is none of its values");
  return std::data(values)[value];
}

Result<Declaration> declaration_of(int kind, const char* path, const char* const* except, int type,
                                   int publish, const char* origin) {
  Declaration declared;
  declared.kind = TRY(one_of(kind, {TreeKind::Input, TreeKind::Output, TreeKind::Temp}, "kind"));
  declared.path = TRY(needed_text(path, "path"));
  declared.exceptions = list_of(except);
  declared.publish =
      TRY(one_of(publish, {Publish::Replace, Publish::Merge, Publish::InPlace}, "publish"));
  declared.type =
      TRY(one_of(type, {FileType::Unknown, FileType::Directory, FileType::File}, "type"));
  declared.origin = {.source = origin == nullptr ? "" : origin};
  return declared;
}

// Passed, so that the built-in minimum does not come in for those that are not there.
Result<void> make_exact(hermetic_draft& draft, const char* const* variables) {
  std::map<std::string, std::string> exact;
  for (const std::string& variable : list_of(variables)) {
    const std::size_t equals = variable.find('=');
    if (equals == std::string::npos || equals == 0)
      return invalid("a variable is not of the form NAME=VALUE");
    exact[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  draft.draft.environment = {};
  for (const char* name : {"HOME", "LANG", "PATH", "TZ", "USER"})
    draft.draft.environment.pass.insert(name);
  for (const auto& [name, value] : exact) draft.draft.environment.pass.erase(name);
  draft.draft.environment.set = std::move(exact);
  draft.caller.emplace();
  return {};
}

Result<Spec> build(const hermetic_draft& draft) {
  SpecBuilder builder(draft.draft);
  if (draft.caller) builder.caller_environment(*draft.caller);
  return builder.build();
}

// Of functions that change a draft: 0.
template <class Body>
int change(hermetic_error** error, hermetic_draft* draft, Body&& body) noexcept {
  return guarded<int>(error, -1, [&]() -> Result<int> {
    hermetic_draft* changed = TRY(needed(draft, "draft"));
    TRY(body(*changed));
    return 0;
  });
}

}  // namespace
}  // namespace hermetic::c

namespace c = hermetic::c;
using hermetic::Draft;
using hermetic::Project;
using hermetic::Result;

extern "C" {

hermetic_draft* hermetic_draft_new(hermetic_error** error) {
  return c::guarded<hermetic_draft*>(
      error, nullptr, []() -> Result<hermetic_draft*> { return new hermetic_draft; });
}

hermetic_draft* hermetic_draft_from_text(const char* text, size_t size, const char* file_name,
                                         const char* here, const char* target,
                                         hermetic_error** error) {
  return c::guarded<hermetic_draft*>(error, nullptr, [&]() -> Result<hermetic_draft*> {
    Draft draft = TRY(c::parse(text, size, file_name, here, target));
    return new hermetic_draft{.draft = std::move(draft)};
  });
}

hermetic_draft* hermetic_draft_from_file(const char* path, const char* target,
                                         hermetic_error** error) {
  return c::guarded<hermetic_draft*>(error, nullptr, [&]() -> Result<hermetic_draft*> {
    const std::string file = TRY(c::needed_text(path, "path"));
    const Project project = TRY(hermetic::load_project(file));
    Draft draft = TRY(hermetic::draft_of(project, c::target_of(target)));
    return new hermetic_draft{.draft = std::move(draft)};
  });
}

int hermetic_draft_add_defaults(hermetic_draft* draft, const char* directory,
                                hermetic_error** error) {
  return c::change(error, draft, [&](hermetic_draft& to) -> Result<void> {
    const std::string folder = TRY(c::folder_of(directory));
    to.draft = hermetic::overlay(hermetic::default_draft(to.draft, folder), to.draft);
    return {};
  });
}

int hermetic_draft_overlay_text(hermetic_draft* draft, const char* text, size_t size,
                                const char* file_name, const char* here, hermetic_error** error) {
  return c::change(error, draft, [&](hermetic_draft& to) -> Result<void> {
    const Draft top = TRY(c::parse(text, size, file_name, here, nullptr));
    to.draft = hermetic::overlay(std::move(to.draft), top);
    return {};
  });
}

int hermetic_draft_set_command(hermetic_draft* draft, const char* const* command,
                               hermetic_error** error) {
  return c::change(error, draft, [&](hermetic_draft& to) -> Result<void> {
    (void)TRY(c::needed(command, "command"));
    to.draft.command = c::list_of(command);
    return {};
  });
}

int hermetic_draft_set_directory(hermetic_draft* draft, const char* path, hermetic_error** error) {
  return c::change(error, draft, [&](hermetic_draft& to) -> Result<void> {
    to.draft.directory = TRY(c::needed_text(path, "path"));
    return {};
  });
}

int hermetic_draft_declare(hermetic_draft* draft, int kind, const char* path,
                           const char* const* except, int type, int publish, const char* origin,
                           hermetic_error** error) {
  return c::change(error, draft, [&](hermetic_draft& to) -> Result<void> {
    hermetic::Declaration declared =
        TRY(c::declaration_of(kind, path, except, type, publish, origin));
    to.draft.declarations.push_back(std::move(declared));
    return {};
  });
}

int hermetic_draft_place(hermetic_draft* draft, const char* at, hermetic_error** error) {
  return c::change(error, draft, [&](hermetic_draft& to) -> Result<void> {
    std::string place = TRY(c::needed_text(at, "at"));
    if (to.draft.declarations.empty())
      return hermetic::invalid("nothing was declared that could stand at a place");
    hermetic::Declaration& last = to.draft.declarations.back();
    if (last.kind == hermetic::TreeKind::Temp) {
      last.over = {last.path};
      last.path = place;
    }
    last.at = std::move(place);
    return {};
  });
}

int hermetic_draft_set_variable(hermetic_draft* draft, const char* name, const char* value,
                                hermetic_error** error) {
  return c::change(error, draft, [&](hermetic_draft& to) -> Result<void> {
    std::string variable = TRY(c::needed_text(name, "name"));
    std::string text = TRY(c::needed_text(value, "value"));
    to.draft.environment.set.insert_or_assign(std::move(variable), std::move(text));
    return {};
  });
}

int hermetic_draft_pass_variable(hermetic_draft* draft, const char* name, hermetic_error** error) {
  return c::change(error, draft, [&](hermetic_draft& to) -> Result<void> {
    std::string variable = TRY(c::needed_text(name, "name"));
    to.draft.environment.pass.insert(std::move(variable));
    return {};
  });
}

int hermetic_draft_set_exact_environment(hermetic_draft* draft, const char* const* variables,
                                         hermetic_error** error) {
  return c::change(error, draft, [&](hermetic_draft& to) -> Result<void> {
    (void)TRY(c::needed(variables, "variables"));
    return c::make_exact(to, variables);
  });
}

void hermetic_draft_free(hermetic_draft* draft) { delete draft; }

hermetic_spec* hermetic_spec_build(const hermetic_draft* draft, hermetic_error** error) {
  return c::guarded<hermetic_spec*>(error, nullptr, [&]() -> Result<hermetic_spec*> {
    const hermetic_draft* built = TRY(c::needed(draft, "draft"));
    hermetic::Spec spec = TRY(c::build(*built));
    return new hermetic_spec{.spec = std::move(spec)};
  });
}

hermetic_spec* hermetic_spec_from_yaml(const char* text, const char* file_name, const char* target,
                                       hermetic_error** error) {
  return c::guarded<hermetic_spec*>(error, nullptr, [&]() -> Result<hermetic_spec*> {
    (void)TRY(c::needed(text, "text"));
    hermetic_draft draft;
    draft.draft = TRY(c::parse(text, std::strlen(text), file_name, nullptr, target));
    hermetic::Spec spec = TRY(c::build(draft));
    return new hermetic_spec{.spec = std::move(spec)};
  });
}

char* hermetic_spec_canonical(const hermetic_spec* spec, hermetic_error** error) {
  return c::guarded<char*>(error, nullptr, [&]() -> Result<char*> {
    const hermetic_spec* shown = TRY(c::needed(spec, "spec"));
    return c::give_text(shown->spec.canonical());
  });
}

char* hermetic_spec_digest(const hermetic_spec* spec, hermetic_error** error) {
  return c::guarded<char*>(error, nullptr, [&]() -> Result<char*> {
    const hermetic_spec* shown = TRY(c::needed(spec, "spec"));
    return c::give_text(shown->spec.digest());
  });
}

void hermetic_spec_free(hermetic_spec* spec) { delete spec; }
}
