#include "hermetic/task/batch_results.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <map>
#include <tuple>

#include <nlohmann/json.hpp>

#include "hermetic/base/file_text.h"
#include "hermetic/base/file_tree.h"
#include "hermetic/base/path.h"
#include "hermetic/base/text.h"
#include "hermetic/record/bounded_json.h"

namespace hermetic::task {
namespace {

using nlohmann::json;

constexpr std::string_view kMaking = ".making-";  // before the name of a folder
constexpr const char* kResults = "results.jsonl";
constexpr const char* kFormer = "former.jsonl";
constexpr std::string_view kBegin = "{\"attempts\":";  // of every line: keys are sorted

std::optional<Failure> failure_named(const std::string& name) {
  for (const Failure failure :
       {Failure::None, Failure::Command, Failure::Timeout, Failure::OutOfMemory, Failure::Limit,
        Failure::Violation, Failure::Signal, Failure::Infra})
    if (to_string(failure) == name) return failure;
  return std::nullopt;
}

std::optional<std::string> text_at(const json& line, const char* key) {
  if (!line.contains(key) || !line[key].is_string()) return std::nullopt;
  return line[key].get<std::string>();
}

bool is_digest(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::optional<BatchResult> parse_result(std::string_view text) {
  const json line = parse_bounded_json(text);
  if (!line.is_object() || !text_at(line, "task_id")) return std::nullopt;
  BatchResult result{.line = std::string(text)};
  if (!line.contains("number") || !line["number"].is_number_unsigned()) return std::nullopt;
  result.number = line["number"].get<std::size_t>();
  result.digest = text_at(line, "digest").value_or("");
  const std::optional<Failure> failure = failure_named(text_at(line, "failure").value_or(""));
  if (!is_digest(result.digest) || !failure) return std::nullopt;
  result.failure = *failure;
  if (*failure == Failure::Infra) return result;
  result.denied = line.contains("violations") && line["violations"].is_number_unsigned() &&
                  line["violations"] != 0U;
  result.folder = text_at(line, "folder").value_or("");
  if (result.folder.empty() || result.folder.find('/') != std::string::npos) return std::nullopt;
  if (line.contains("durations")) result.durations = durations_in(line["durations"]);
  return result;
}

// It belongs to a task that stands elsewhere now.
void renumber(BatchResult& result, std::size_t number) {
  if (result.number == number) return;
  json line = parse_bounded_json(result.line);
  line["number"] = number;
  result.number = number;
  result.line = line.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string lines_of(const std::vector<BatchResult>& results) {
  std::string text;
  for (const BatchResult& result : results) text += result.line + "\n";
  return text;
}

std::string lines_of(const std::vector<std::optional<BatchResult>>& results) {
  std::string text;
  for (const std::optional<BatchResult>& result : results)
    if (result) text += result->line + "\n";
  return text;
}

}  // namespace

Result<std::vector<BatchResult>> parse_results(std::string_view text, const std::string& file) {
  std::vector<BatchResult> results;
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    ++number;
    std::optional<BatchResult> result = parse_result(line);
    const bool is_torn = !result && end == std::string_view::npos &&
                         (line.starts_with(kBegin) || kBegin.starts_with(line));
    if (is_torn) break;
    if (!result)
      return invalid("the line is no result of a batch",
                     "name another folder with --out; nothing was changed here", {file, number, 1});
    results.push_back(std::move(*result));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return results;
}

Result<BatchResults> BatchResults::open(const OwnPlace& place) {
  const std::string name(place.name());
  if (::mkdirat(place.directory(), name.c_str(), 0755) != 0 && errno != EEXIST)
    return system_error(fmt::format("cannot make '{}'", printable(place.path())), errno);
  BatchResults results(place.path());
  results.directory_ = TRY(open_directory(place.directory(), name));
  if (::flock(results.directory_.get(), LOCK_EX | LOCK_NB) != 0)
    return unsupported(fmt::format("another batch works in '{}'", printable(place.path())),
                       "wait for it, or choose another folder");
  results.text_ = TRY(results.read_if_there(kResults));
  results.found_ = TRY(parse_results(results.text_, results.file()));
  const std::string former = TRY(results.read_if_there(kFormer));
  results.former_ = TRY(parse_results(former, results.former_file()));
  TRY(results.remove_unfinished());
  return results;
}

bool BatchResults::is_there(const std::string& name) const {
  struct stat status = {};
  return ::fstatat(directory_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

Result<std::string> BatchResults::read_if_there(const std::string& name) const {
  struct stat status = {};
  if (::fstatat(directory_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
    return std::string();
  // What it leads to is replaced by nobody here.
  if (S_ISLNK(status.st_mode))
    return invalid(fmt::format("'{}/{}' is a link", printable(folder_), name),
                   "name another folder with --out; nothing was changed here");
  return read_whole_file(fmt::format("/proc/self/fd/{}/{}", directory_.get(), name));
}

// What a batch that was killed has not finished. Nobody else is here.
Result<void> BatchResults::remove_unfinished() const {
  for (const std::string& name : TRY(names_in(directory_.get())))
    if (name.starts_with(kMaking)) TRY(remove_tree(directory_.get(), name));
  return {};
}

Result<void> BatchResults::write(const std::string& name, std::string_view text) const {
  return write_file_in(directory_.get(), name, text, join(folder_, name));
}

// Each place gets the result of equal work, if there is one. Returns those that are left over. Of
// equal work one is as good as the other; but what could not be set up is the last choice.
std::vector<BatchResult> BatchResults::assign(std::vector<BatchResult> found,
                                              const std::vector<Wanted>& wanted) {
  std::ranges::stable_sort(found, {}, [](const BatchResult& result) {
    return std::tuple(result.failure == Failure::Infra, result.number);
  });
  std::map<std::string_view, std::deque<BatchResult*>> by_digest;
  for (BatchResult& result : found) by_digest[result.digest].push_back(&result);
  std::set<const BatchResult*> taken;
  results_.assign(wanted.size(), std::nullopt);
  for (std::size_t place = 0; place < wanted.size(); ++place) {
    const auto same = by_digest.find(wanted[place].digest);
    if (same == by_digest.end() || same->second.empty()) continue;
    taken.insert(same->second.front());
    results_[place] = *same->second.front();
    same->second.pop_front();
    renumber(*results_[place], wanted[place].number);
  }
  std::vector<BatchResult> others;
  for (const BatchResult& result : found)
    if (!taken.contains(&result) && result.failure != Failure::Infra)  // of which nothing came
      others.push_back(result);
  return others;
}

// What is moved from one file to the other is in both for a moment, and never in none.
Result<void> BatchResults::resume(const std::vector<Wanted>& wanted) {
  std::set<std::string> former;
  for (const BatchResult& result : former_) former.insert(result.folder);
  std::vector<BatchResult> all = std::move(found_);
  for (const BatchResult& result : all) folders_.insert(result.folder);
  for (const BatchResult& result : former_)
    if (folders_.insert(result.folder).second) all.push_back(result);
  // What somebody has removed is not done any more.
  std::erase_if(all, [this](const BatchResult& result) {
    return !result.folder.empty() && !is_there(result.folder + "/manifest.json");
  });
  const std::vector<BatchResult> others = assign(std::move(all), wanted);
  std::string former_text = lines_of(former_);
  for (const BatchResult& result : others) {
    if (former.contains(result.folder)) continue;
    former_text += result.line + "\n";
    ++set_aside_;
  }
  if (set_aside_ != 0) TRY(write(kFormer, former_text));
  if (const std::string text = lines_of(results_); text != text_) TRY(write(kResults, text));
  text_.clear();
  former_.clear();
  if (const std::string text = lines_of(others); text != former_text) {
    if (!text.empty())
      TRY(write(kFormer, text));
    else if (::unlinkat(directory_.get(), kFormer, 0) != 0 && errno != ENOENT)
      return system_error(fmt::format("cannot remove '{}'", printable(former_file())), errno);
  }
  appending_ = UniqueFd(::openat(directory_.get(), kResults,
                                 O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!appending_.is_open())
    return system_error(fmt::format("cannot write '{}'", printable(file())), errno);
  return {};
}

std::string BatchResults::new_folder(std::size_t number, const std::string& task_id) {
  const std::string usual = fmt::format("{:06}-{}", number, task_id);
  std::string name = usual;
  // A former result may have it, or somebody who is not of this batch.
  for (unsigned i = 2; folders_.contains(name) || is_there(name); ++i)
    name = fmt::format("{}-{}", usual, i);
  folders_.insert(name);
  return name;
}

Result<OwnFolder> BatchResults::make(const std::string& name) const {
  const std::string making = std::string(kMaking) + name;
  OwnFolder folder{.path = join(folder_, making), .descriptor = {}};
  if (::mkdirat(directory_.get(), making.c_str(), 0755) != 0)
    return system_error(fmt::format("cannot make '{}'", printable(folder.path)), errno);
  folder.descriptor = TRY(open_directory(directory_.get(), making));
  return folder;
}

void BatchResults::give_up(const std::string& name) const {
  (void)remove_tree(directory_.get(), std::string(kMaking) + name);
}

Result<void> BatchResults::append(std::string_view text) {
  struct stat status = {};
  const auto failed = [&] {
    const int os_error = errno;
    (void)::ftruncate(appending_.get(), status.st_size);  // half a line helps nobody
    return system_error(fmt::format("cannot write '{}'", printable(file())), os_error,
                        "what is in it stays; the same command goes on from there");
  };
  if (::fstat(appending_.get(), &status) != 0)
    return system_error(fmt::format("cannot look at '{}'", printable(file())), errno);
  while (!text.empty()) {
    const ssize_t size = ::write(appending_.get(), text.data(), text.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return failed();
    text.remove_prefix(static_cast<std::size_t>(size));
  }
  return {};
}

Result<void> BatchResults::add(std::size_t place, BatchResult result) {
  const std::string& folder = result.folder;
  const std::string making = std::string(kMaking) + folder;
  const int directory = directory_.get();
  if (!folder.empty() && ::renameat(directory, making.c_str(), directory, folder.c_str()) != 0)
    return system_error(fmt::format("cannot make '{}'", printable(join(folder_, folder))), errno);
  in_order_ = false;
  if (Result<void> written = append(result.line + "\n"); !written) {
    if (!folder.empty()) (void)remove_tree(directory, folder);
    return written;
  }
  results_[place] = std::move(result);
  return {};
}

Result<void> BatchResults::finish() {
  if (in_order_) return {};
  TRY(write(kResults, lines_of(results_)));
  in_order_ = true;
  return {};
}

}  // namespace hermetic::task
