#include "cli/options.h"

#include <fmt/format.h>

#include <algorithm>

#include "hermetic/base/text.h"

namespace hermetic::cli {
namespace {

const Option* find_option(const Subcommand& subcommand, std::string_view name) {
  const auto found = std::find_if(subcommand.options.begin(), subcommand.options.end(),
                                  [&](const Option& option) { return option.name == name; });
  return found == subcommand.options.end() ? nullptr : &*found;
}

Error unknown_option(const Subcommand& subcommand, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Option& option : subcommand.options) names.push_back(option.name);
  const std::string_view near = closest(name, names);
  return invalid(
      fmt::format("unknown option '{}' of 'hermetic {}'", printable(name), subcommand.name),
      near.empty() ? fmt::format("see 'hermetic {} --help'", subcommand.name)
                   : fmt::format("did you mean '{}'?", near));
}

}  // namespace

bool Arguments::has(std::string_view name) const {
  return std::any_of(options.begin(), options.end(),
                     [&](const Given& given) { return given.name == name; });
}

std::string Arguments::last(std::string_view name) const {
  std::string value;
  for (const Given& given : options)
    if (given.name == name) value = given.value;
  return value;
}

Result<Arguments> parse_arguments(const Subcommand& subcommand, std::span<char* const> words) {
  Arguments arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--") {
      arguments.command.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      break;
    }
    if (!word.starts_with('-') || word == "-") {
      arguments.words.emplace_back(word);
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const Option* option = find_option(subcommand, name);
    if (option == nullptr) return unknown_option(subcommand, name);
    std::string value;
    if (option->value.empty()) {
      if (equals != std::string_view::npos)
        return invalid(fmt::format("option '{}' takes no value", name));
    } else if (equals != std::string_view::npos) {
      value = word.substr(equals + 1);
    } else if (i + 1 < words.size() && std::string_view(words[i + 1]) != "--") {
      value = words[++i];
    } else {
      return invalid(fmt::format("option '{}' needs a value", name),
                     fmt::format("{} {}", name, option->value));
    }
    arguments.options.push_back({option->name, std::move(value)});
  }
  return arguments;
}

std::string help_for(const Subcommand& subcommand) {
  std::string text = fmt::format("usage: hermetic {} {}\n\n{}\n", subcommand.name,
                                 subcommand.synopsis, subcommand.summary);
  if (!subcommand.options.empty()) text += "\noptions:\n";
  for (const Option& option : subcommand.options) {
    const std::string left =
        fmt::format("{}{}{}", option.name, option.value.empty() ? "" : " ", option.value);
    text += left.size() <= 28 ? fmt::format("  {:<28}  {}\n", left, option.help)
                              : fmt::format("  {}\n  {:<28}  {}\n", left, "", option.help);
  }
  return text;
}

}  // namespace hermetic::cli
