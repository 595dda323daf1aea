#include "hermetic/task/host_environment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <climits>

#include "hermetic/base/file_text.h"
#include "hermetic/base/file_tree.h"
#include "hermetic/base/text.h"

namespace hermetic::task {
namespace {

// The interpreter itself, beside what starts it: Python looks for pyvenv.cfg one level above.
constexpr const char* kInterpreter = ".python";
constexpr const char* kUnshare = "/usr/bin/unshare";

Error refused(std::string_view doing, const std::string& path) {
  return system_error(fmt::format("cannot {} '{}'", doing, printable(path)), errno);
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos;
       at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

bool needs_no_quotes(const std::string& path) {
  return std::ranges::all_of(path, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '/' || c == '.' || c == '_' || c == '-' || c == '+';
  });
}

std::string quoted(const std::string& path) { return "'" + replaced(path, "'", R"('\'')") + "'"; }

// The kernel reads 255 bytes of the first line, ends the name at a space, and older ones read 127.
std::string with_interpreter(const std::string& text, const std::string& inside,
                             const std::string& target) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string rest = text.substr(end);
  const std::string line = text.substr(0, end);
  const std::string direct = replaced(line, inside, target);
  if (needs_no_quotes(target) && direct.size() < 127) return direct + rest;
  const std::string program = replaced(line.substr(2), inside, target);
  // For the shell the first word is 'exec', for Python all of it is a text.
  return fmt::format("#!/bin/sh\n'''exec' {} \"$0\" \"$@\"\n' '''{}", quoted(program), rest);
}

Result<void> rewrite(const std::string& path, const std::string& inside,
                     const std::string& target) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0) return refused("look at", path);
  constexpr off_t kLongestScript = 1 << 20;
  if (!S_ISREG(status.st_mode) || status.st_size > kLongestScript) return {};
  const std::string text = TRY(read_whole_file(path));
  const std::size_t end = text.find('\n');
  const std::string first = text.substr(0, end);
  const bool is_script = first.starts_with("#!" + inside + "/bin/python");
  const bool is_binary = text.find('\0') != std::string::npos;
  std::string changed = is_script ? with_interpreter(text, inside, target) : text;
  if (!is_script && !is_binary && text.find(inside) != std::string::npos) {
    // What a shell would read as something else is not there at all.
    if (!needs_no_quotes(target)) return remove_tree(AT_FDCWD, path);
    changed = replaced(text, inside, target);
  }
  if (changed == text) return {};
  TRY(remove_tree(AT_FDCWD, path));
  TRY(write_file_whole(path, changed));
  return ::chmod(path.c_str(), status.st_mode & 0777U) == 0 ? Result<void>()
                                                            : refused("set the mode of", path);
}

// Where the names of the interpreter in an environment lead in the end.
Result<std::string> interpreter_of(const std::string& programs) {
  std::string name = "python";
  for (int i = 0; i < 8; ++i) {
    std::array<char, PATH_MAX> text = {};
    const std::string path = fmt::format("{}/{}", programs, name);
    if (::readlink(path.c_str(), text.data(), text.size() - 1) < 0) return refused("read", path);
    name = text.data();
    if (name.starts_with('/')) return name;
  }
  return system_error(fmt::format("'{}/python' leads nowhere", printable(programs)), ELOOP);
}

// All names of the interpreter lead to a script that first leaves the network behind. Fails closed:
// without a namespace of its own nothing is started.
Result<void> close_network(const std::string& programs, const std::string& target) {
  if (::access(kUnshare, X_OK) != 0)
    return unsupported(fmt::format("the interpreter of '{}' cannot be started without a network: "
                                   "there is no {}",
                                   printable(programs), kUnshare),
                       "install util-linux");
  const std::string interpreter = TRY(interpreter_of(programs));
  const std::string real = fmt::format("{}/{}", programs, kInterpreter);
  if (::symlink(interpreter.c_str(), real.c_str()) != 0) return refused("make", real);
  const UniqueFd directory = TRY(open_directory(AT_FDCWD, programs));
  for (const std::string& name : TRY(names_in(directory.get()))) {
    if (!name.starts_with("python") || ::unlinkat(directory.get(), name.c_str(), 0) != 0) continue;
    if (::symlinkat("python", directory.get(), name.c_str()) != 0) return refused("make", name);
  }
  const std::string start = programs + "/python";
  if (::unlink(start.c_str()) != 0) return refused("replace", start);
  TRY(write_file_whole(
      start, fmt::format("#!/bin/sh\n"
                         "# Starts Python without a network; what it may do else is up to its "
                         "caller.\n"
                         "exec {} --user --map-current-user --net -- {} \"$@\"\n",
                         kUnshare, quoted(fmt::format("{}/bin/{}", target, kInterpreter)))));
  return ::chmod(start.c_str(), 0755) == 0 ? Result<void>() : refused("set the mode of", start);
}

Result<void> fill(const std::string& environment, const std::string& inside,
                  const std::string& making, const std::string& target, CallersNetwork network) {
  TRY(copy_tree(AT_FDCWD, environment, AT_FDCWD, making));
  const std::string programs = making + "/bin";
  const UniqueFd directory = TRY(open_directory(AT_FDCWD, programs));
  for (const std::string& name : TRY(names_in(directory.get())))
    TRY(rewrite(fmt::format("{}/{}", programs, name), inside, target));
  const std::string settings = making + "/pyvenv.cfg";
  const std::string text = TRY(read_whole_file(settings));
  TRY(write_file_whole(settings, replaced(text, inside, target)));
  return network == CallersNetwork::Closed ? close_network(programs, target) : Result<void>();
}

}  // namespace

Result<void> show_environment(const std::string& environment, const std::string& inside,
                              const std::string& target, CallersNetwork network) {
  if (is_present(target)) return {};
  const std::string making = target + ".making";
  TRY(remove_tree(AT_FDCWD, making));
  TRY(fill(environment, inside, making, target, network));
  return ::rename(making.c_str(), target.c_str()) == 0 ? Result<void>() : refused("make", target);
}

}  // namespace hermetic::task
