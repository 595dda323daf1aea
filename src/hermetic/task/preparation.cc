#include "hermetic/task/preparation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "hermetic/base/file_text.h"
#include "hermetic/base/text.h"
#include "hermetic/engine/execute.h"
#include "hermetic/run/event.h"
#include "hermetic/spec/presets.h"
#include "hermetic/spec/spec_builder.h"

namespace hermetic::task {
namespace {

// The end of what was said, line by line.
std::string last_lines(std::string_view text) {
  constexpr std::size_t kMost = 2000;
  if (text.size() > kMost) text.remove_prefix(text.size() - kMost);
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines += "\n  " + printable(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

Result<void> make_private_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return system_error(fmt::format("cannot make '{}'", printable(path)), errno);
}

Result<std::string> run(const Preparation& preparation, SpecBuilder builder, Backend& backend) {
  for (const std::string& directory : toolchain_directories()) builder.input(directory);
  for (const std::string& input : preparation.inputs) builder.input(input);
  for (const auto& [name, text] : preparation.texts) builder.input(preparation.place + "/" + name);
  for (const auto& [path, directory] : preparation.scratch) builder.temp_over(path, {directory});
  builder.network(preparation.network).caller_environment({});
  const Spec spec = TRY(builder.build());
  RunOptions options;
  options.standard_input = -1;
  options.capture_bytes = std::size_t{1} << 20U;
  Silence events;
  const Finished finished = TRY(execute(spec, backend, options, events));
  if (finished.outcome.success()) return finished.outcome.standard_output.text;
  return unsupported(fmt::format("cannot make {}:{}", preparation.what,
                                 last_lines(finished.outcome.standard_error.text)),
                     "nothing else was run");
}

}  // namespace

Result<std::string> prepare(const Preparation& preparation, Backend& backend) {
  SpecBuilder builder(preparation.command);
  if (preparation.tree.empty()) return run(preparation, std::move(builder), backend);
  // An empty directory to begin with, if there is nothing else.
  const std::string empty = preparation.place + "/empty";
  const std::string changes = preparation.place + "/changes";
  TRY(make_private_directory(empty));
  TRY(make_private_directory(changes));
  for (const auto& [name, text] : preparation.texts)
    TRY(write_file_whole(preparation.place + "/" + name, text));
  builder.directory(preparation.tree)
      .temp_over(preparation.tree, preparation.over.empty() ? std::vector{empty} : preparation.over,
                 changes);
  const std::string said = TRY(run(preparation, std::move(builder), backend));
  if (::rename((changes + "/upper").c_str(), (preparation.place + "/upper").c_str()) != 0)
    return system_error(fmt::format("cannot keep '{}'", printable(preparation.place)), errno);
  for (const std::string& done : {changes, empty}) (void)::rmdir(done.c_str());
  for (const auto& [name, text] : preparation.texts)
    (void)::unlink((preparation.place + "/" + name).c_str());
  return said;
}

std::vector<std::string> values_of(std::string_view facts, std::string_view key) {
  std::vector<std::string> values;
  while (!facts.empty()) {
    const std::size_t end = std::min(facts.find('\n'), facts.size());
    const std::string_view line = facts.substr(0, end);
    facts.remove_prefix(std::min(end + 1, facts.size()));
    if (line.starts_with(key) && line.size() > key.size() && line[key.size()] == ' ')
      values.emplace_back(line.substr(key.size() + 1));
  }
  return values;
}

std::string fact(std::string_view facts, std::string_view key) {
  return fmt::format("{}", fmt::join(values_of(facts, key), " "));
}

}  // namespace hermetic::task
