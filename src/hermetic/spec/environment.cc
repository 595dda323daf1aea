#include "hermetic/spec/environment.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "hermetic/base/text.h"

namespace hermetic {
namespace {

Result<void> check_name(const std::string& name) {
  if (is_variable_name(name)) return {};
  return invalid(fmt::format("'{}' is not a name of an environment variable", printable(name)),
                 "use letters, digits and underscores, and no digit first");
}

}  // namespace

bool is_variable_name(std::string_view name) {
  if (name.empty() || (name.front() >= '0' && name.front() <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  });
}

std::map<std::string, std::string> caller_environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    // The first of several wins, as in getenv(3).
    if (equals != std::string_view::npos)
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

std::map<std::string, std::string> passed_by_caller(const std::set<std::string>& names) {
  std::map<std::string, std::string> variables;
  for (const std::string& name : names)
    if (const char* value = std::getenv(name.c_str())) variables.emplace(name, value);
  return variables;
}

Result<std::map<std::string, std::string>> variables_of(
    const EnvironmentDraft& environment, Identity identity,
    const std::map<std::string, std::string>& caller) {
  std::map<std::string, std::string> variables = {
      {"HOME", "/tmp"},  // private and writable in every sandbox
      {"LANG", "C.UTF-8"}, {"PATH", "/usr/local/bin:/usr/bin:/bin"},
      {"TZ", "UTC"},       {"USER", std::string(to_string(identity))},
  };
  for (const std::string& name : environment.pass) {
    TRY(check_name(name));
    const auto value = caller.find(name);
    if (value != caller.end())
      variables[name] = value->second;
    else
      variables.erase(name);  // the caller does not know it, so the command does not
  }
  for (const auto& [name, value] : environment.set) {
    TRY(check_name(name));
    if (value.find('\0') != std::string::npos)
      return invalid(fmt::format("the value of {} contains a NUL byte", name));
    variables[name] = value;
  }
  return variables;
}

}  // namespace hermetic
