#include "hermetic/learn/observation.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <climits>
#include <cstring>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "hermetic/base/path.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/spec/lookup.h"

namespace hermetic {
namespace {

constexpr std::size_t kLargestText = std::size_t{1} << 20U;
constexpr std::size_t kLargestTexts = std::size_t{64} << 20U;

std::string without_dots(std::string_view text) {
  std::string path = "/";
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('/'), text.size());
    const std::string_view name = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (name.empty() || name == ".") continue;
    path = name == ".." ? std::string(parent_of(path)) : join(path, name);
  }
  return path;
}

class Links {
 public:
  // The path after its first link was followed; none if it has no link.
  std::optional<std::string> follow(const std::string& path) {
    for (Components component(path); component.next();) {
      const std::string prefix(component.prefix());
      const std::optional<std::string>& target = link_at(prefix);
      if (!target) continue;
      const std::string base =
          target->starts_with('/') ? *target : std::string(parent_of(prefix)) + "/" + *target;
      return without_dots(base + path.substr(prefix.size()));
    }
    return std::nullopt;
  }

 private:
  const std::optional<std::string>& link_at(const std::string& path) {
    const auto [known, fresh] = known_.try_emplace(path);
    if (!fresh) return known->second;
    std::array<char, PATH_MAX> text;
    const ssize_t size = ::readlink(path.c_str(), text.data(), text.size());
    if (size > 0) known->second = std::string(text.data(), static_cast<std::size_t>(size));
    return known->second;
  }

  std::unordered_map<std::string, std::optional<std::string>> known_;
};

std::string first_bytes(const std::string& path, std::size_t most) {
  // Not one that would wait for somebody else.
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  std::string bytes(most, '\0');
  const ssize_t size = file.is_open() ? ::read(file.get(), bytes.data(), bytes.size()) : 0;
  bytes.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return bytes;
}

template <class Value>
bool take(const std::string& bytes, std::size_t offset, Value& value) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof value) return false;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return true;
}

// The program that the kernel starts instead, or loads first; "" if there is none.
std::string interpreter_of(const std::string& path) {
  constexpr std::size_t kHead = 4096;
  const std::string bytes = first_bytes(path, kHead);
  if (bytes.starts_with("#!")) {
    const std::size_t begin = bytes.find_first_not_of(" \t", 2);
    if (begin == std::string::npos) return "";
    return bytes.substr(begin, bytes.find_first_of(" \t\n", begin) - begin);
  }
  Elf64_Ehdr header = {};
  if (!bytes.starts_with(ELFMAG) || !take(bytes, 0, header) ||
      header.e_ident[EI_CLASS] != ELFCLASS64)
    return "";
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment = {};
    if (!take(bytes, header.e_phoff + i * sizeof segment, segment)) return "";
    if (segment.p_type != PT_INTERP || segment.p_offset >= bytes.size()) continue;
    return bytes.substr(segment.p_offset).c_str();
  }
  return "";
}

void look(SeenPath& seen) {
  struct stat status = {};
  seen.link = ::lstat(seen.path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
  if (::stat(seen.path.c_str(), &status) == 0)
    seen.type = S_ISDIR(status.st_mode) ? FileType::Directory : FileType::File;
  // An attempt that could not succeed has changed nothing.
  const std::string parent(parent_of(seen.path));
  if (seen.written && ::faccessat(AT_FDCWD, parent.c_str(), W_OK, AT_EACCESS) != 0 &&
      ::faccessat(AT_FDCWD, seen.path.c_str(), W_OK, AT_EACCESS) != 0) {
    seen.written = seen.replaced = false;
    seen.read = true;
  }
}

using Paths = std::map<std::string, SeenPath, PathOrder>;

SeenPath& at(Paths& paths, const std::string& path) {
  const auto [place, fresh] = paths.try_emplace(path);
  if (fresh) place->second.path = path;
  return place->second;
}

// What is asked of a name is asked of whatever it leads to.
void add_where_it_leads(Paths& paths, Links& links, const SeenPath& asked) {
  std::optional<std::string> next = links.follow(asked.path);
  for (int followed = 0; next && followed < kMostLinks; ++followed) {
    SeenPath& seen = at(paths, *next);
    const bool fresh = !seen.read && !seen.written && !seen.executed;
    if (fresh) seen.absent_before = asked.absent_before;
    seen.read = seen.read || asked.read;
    seen.opened = seen.opened || asked.opened;
    seen.executed = seen.executed || asked.executed;
    seen.written = seen.written || asked.written;
    seen.replaced = seen.replaced || asked.replaced;
    seen.used_before = seen.used_before || asked.used_before;
    if (fresh) look(seen);
    next = links.follow(*next);
  }
}

bool is_name_character(char character) {
  return std::isalnum(static_cast<unsigned char>(character)) != 0 || character == '_';
}

bool introduces_variable(std::string_view before) {
  for (const std::string_view mark : {"$", "${", "$(", "env.", "\"", "'", "ENV{"})
    if (before.ends_with(mark)) return true;
  return false;
}

void find_variables(std::string_view text, const std::map<std::string, std::string>& environment,
                    std::set<std::string>& found) {
  for (std::size_t i = 0; i < text.size();) {
    if (!is_name_character(text[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && is_name_character(text[end])) ++end;
    const std::string_view name = text.substr(i, end - i);
    if (introduces_variable(text.substr(0, i)))
      if (const auto known = environment.find(std::string(name)); known != environment.end())
        found.insert(known->first);
    i = end;
  }
}

}  // namespace

void AddressCollector::on_event(const Event& event) {
  if (event.kind == Event::Kind::Network && event.endpoint) {
    const Endpoint& endpoint = *event.endpoint;
    const Reached side{endpoint.name.empty() ? endpoint.address : endpoint.name, endpoint.port};
    if (event.act == "resolve")
      names.insert(endpoint.name);
    else if (event.act == "listen" || event.act == "bind")
      listened.insert(side);  // port 0: the kernel chooses one
    else if (!side.host.empty() && side.port != 0)
      reached.insert(side);
  }
  next_.on_event(event);
}

const SeenPath* find_seen(const Observation& observation, std::string_view path) {
  const auto place = std::lower_bound(observation.paths.begin(), observation.paths.end(), path,
                                      [](const SeenPath& seen, std::string_view wanted) {
                                        return compare_paths(seen.path, wanted) < 0;
                                      });
  return place != observation.paths.end() && place->path == path ? &*place : nullptr;
}

std::vector<SeenPath> see(const std::vector<AskedPath>& asked) {
  Paths paths;
  for (const AskedPath& one : asked) {
    SeenPath& seen = at(paths, one.path);
    seen.absent_before = one.absent;
    seen.opened = one.opened;
    seen.replaced = one.replaced;
    seen.used_before = one.used_before;
    seen.read = seen.read || one.operation == Operation::Read;
    seen.written = seen.written || one.operation == Operation::Write;
    seen.executed = seen.executed || one.operation == Operation::Execute;
  }
  Links links;
  std::vector<SeenPath> pending;
  for (auto& [path, seen] : paths) {
    look(seen);
    pending.push_back(seen);
  }
  while (!pending.empty()) {
    const SeenPath seen = std::move(pending.back());
    pending.pop_back();
    if (!seen.exists()) continue;
    add_where_it_leads(paths, links, seen);
    if (!seen.executed || seen.type != FileType::File) continue;
    const std::string interpreter = interpreter_of(seen.path);
    if (!interpreter.starts_with('/')) continue;
    SeenPath& program = at(paths, without_dots(interpreter));
    if (program.executed) continue;
    program.read = program.executed = true;
    look(program);
    pending.push_back(program);
  }
  std::vector<SeenPath> list;
  for (auto& [path, seen] : paths) list.push_back(std::move(seen));
  return list;
}

std::set<std::string> mentioned_variables(const std::vector<SeenPath>& paths,
                                          const std::string& directory,
                                          const std::vector<std::string>& command,
                                          const std::map<std::string, std::string>& environment) {
  std::set<std::string> found;
  for (const std::string& word : command) find_variables(word, environment, found);
  std::size_t total = 0;
  for (const SeenPath& seen : paths) {
    if (!seen.is_needed() || seen.type != FileType::File || !is_within(seen.path, directory))
      continue;
    if (total > kLargestTexts) break;
    const std::string text = first_bytes(seen.path, kLargestText);
    total += text.size();
    if (text.find('\0') == std::string::npos) find_variables(text, environment, found);
  }
  return found;
}

}  // namespace hermetic
