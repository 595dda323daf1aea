// Answers questions about paths by trying, from inside a sandbox: one line of standard input is a
// question, one line of standard output its answer. Everything that a question makes is removed
// before the next one.
//
//   question  "read PATH", "write PATH", "execute PATH", "change PATH",
//             "move PATH"
//   answer    "yes", "no ERRNO", or "absent ERRNO": nothing is there and nothing can be made there
//
// Needs no C library inside: it is linked statically, and is the only file that a spec must show.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

// Not a program in any format, so that execve() of a file that may be executed ends with ENOEXEC,
// after every check of permissions, and the prober goes on.
constexpr std::string_view kNoProgram = "no program\n";

struct Answer {
  enum class Kind { Yes, No, Absent };
  Kind kind = Kind::Yes;
  int error = 0;
};

Answer yes() { return {}; }
Answer no() { return {Answer::Kind::No, errno}; }
bool nothing_there() { return errno == ENOENT || errno == ENOTDIR; }
Answer no_or_absent() { return {nothing_there() ? Answer::Kind::Absent : Answer::Kind::No, errno}; }

bool write_all(int file) {
  return ::write(file, kNoProgram.data(), kNoProgram.size()) ==
         static_cast<ssize_t>(kNoProgram.size());
}

// A new file and the directories that were missing above it; all of that can be removed again.
class MadeFile {
 public:
  explicit MadeFile(std::string path) : path_(std::move(path)) {}
  MadeFile(const MadeFile&) = delete;
  MadeFile& operator=(const MadeFile&) = delete;
  ~MadeFile() { (void)remove(); }

  bool make() {
    for (std::size_t end = path_.find('/', 1); end != std::string::npos;
         end = path_.find('/', end + 1)) {
      const std::string above = path_.substr(0, end);
      struct stat status = {};
      if (::stat(above.c_str(), &status) == 0) continue;
      if (errno != ENOENT || ::mkdir(above.c_str(), 0755) != 0) return false;
      directories_.push_back(above);
    }
    const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
    if (file < 0) return false;
    made_ = true;
    const bool written = write_all(file);
    ::close(file);  // or executing it would be ETXTBSY
    return written;
  }

  bool remove() {
    bool removed = !made_ || ::unlink(path_.c_str()) == 0;
    made_ = false;
    for (; !directories_.empty(); directories_.pop_back())
      removed = ::rmdir(directories_.back().c_str()) == 0 && removed;
    return removed;
  }

 private:
  std::string path_;
  bool made_ = false;
  std::vector<std::string> directories_;
};

Answer read_descriptor(int descriptor) {
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0) return no();
  if (!S_ISDIR(status.st_mode)) {
    char byte = 0;
    // A terminal or a pipe may have nothing to say just now.
    const Answer answer = ::read(descriptor, &byte, 1) >= 0 || errno == EAGAIN ? yes() : no();
    ::close(descriptor);
    return answer;
  }
  DIR* stream = ::fdopendir(descriptor);
  if (stream == nullptr) return no();
  errno = 0;
  const Answer answer = ::readdir(stream) != nullptr ? yes() : no();
  ::closedir(stream);
  return answer;
}

// A file: its bytes. A directory: its names. Where nothing is: what is made there, read back.
Answer read(const std::string& path) {
  constexpr int kFlags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  int descriptor = ::open(path.c_str(), kFlags);
  if (descriptor >= 0) return read_descriptor(descriptor);
  if (!nothing_there()) return no();
  const Answer absent = no_or_absent();
  MadeFile file(path);
  if (!file.make()) return absent;
  descriptor = ::open(path.c_str(), kFlags);
  const Answer answer = descriptor >= 0 ? read_descriptor(descriptor) : no();
  return file.remove() ? answer : no();
}

// A file: open for writing. A directory: a file in it, made and removed. Where nothing is: a file
// there.
Answer write(const std::string& path) {
  struct stat status = {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (!exists && !nothing_there()) return no();
  if (exists && !S_ISDIR(status.st_mode)) {
    const int file = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0) return no();
    ::close(file);
    return yes();
  }
  MadeFile file(exists ? path + "/probed" : path);
  if (!file.make()) return no_or_absent();
  return file.remove() ? yes() : no();
}

Answer execute_file(const std::string& path) {
  char name[] = "no-program";
  char* const arguments[] = {name, nullptr};
  char* const environment[] = {nullptr};
  ::execve(path.c_str(), arguments, environment);
  return errno == ENOEXEC ? yes() : no();
}

// The file gets content and the mode of a program, if it may be given them, and loses them again.
Answer execute_prepared(const std::string& path, const struct stat& before) {
  const bool filled = before.st_size == 0 && S_ISREG(before.st_mode);
  if (filled) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file >= 0) (void)write_all(file);
    if (file >= 0) ::close(file);
  }
  const bool changed = (before.st_mode & 0100U) == 0 && ::chmod(path.c_str(), 0755) == 0;
  const Answer answer = execute_file(path);
  if (changed) (void)::chmod(path.c_str(), before.st_mode & 07777U);
  if (filled) (void)::truncate(path.c_str(), 0);
  return answer;
}

// A file: run it. A directory: pass through it, and run a file in it if one can be put there. Where
// nothing is: run what is made there.
Answer execute(const std::string& path) {
  struct stat status = {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (!exists && !nothing_there()) return no();
  if (exists && !S_ISDIR(status.st_mode)) return execute_prepared(path, status);
  if (exists && ::stat((path + "/.").c_str(), &status) != 0) return no();
  const Answer absent = exists ? yes() : no_or_absent();
  const std::string program = exists ? path + "/probed" : path;
  MadeFile file(program);
  if (!file.make()) return absent;
  const Answer answer = execute_file(program);
  return file.remove() ? answer : no();
}

// Everything else that would change what is there. Nothing is put right afterwards: this is asked
// only where all of it must fail.
Answer change(const std::string& path) {
  const char* name = path.c_str();
  struct stat status = {};
  if (::lstat(name, &status) != 0) {
    if (::mkdir(name, 0755) == 0 || ::symlink("nowhere", name) == 0 || ::mkfifo(name, 0644) == 0)
      return yes();
    return no_or_absent();
  }
  const bool changed = ::chmod(name, status.st_mode & 07777U) == 0 ||
                       ::utimensat(AT_FDCWD, name, nullptr, AT_SYMLINK_NOFOLLOW) == 0 ||
                       (S_ISREG(status.st_mode) && ::truncate(name, status.st_size) == 0) ||
                       ::rename(name, (path + ".moved").c_str()) == 0 ||
                       (S_ISDIR(status.st_mode) ? ::rmdir(name) == 0 : ::unlink(name) == 0);
  return changed ? yes() : no();
}

// A directory under another name for a moment, and all that is in it.
Answer move(const std::string& path) {
  const std::string other = path + ".moved";
  if (::rename(path.c_str(), other.c_str()) != 0) return no();
  return ::rename(other.c_str(), path.c_str()) == 0 ? yes() : no();
}

Answer answer_to(std::string_view operation, const std::string& path) {
  errno = 0;
  if (operation == "read") return read(path);
  if (operation == "write") return write(path);
  if (operation == "execute") return execute(path);
  if (operation == "change") return change(path);
  if (operation == "move") return move(path);
  std::fprintf(stderr, "what is '%s'?\n", std::string(operation).c_str());
  ::_exit(2);
}

const char* word_for(Answer::Kind kind) {
  switch (kind) {
    case Answer::Kind::Yes: return "yes";
    case Answer::Kind::No: return "no";
    case Answer::Kind::Absent: return "absent";
  }
  return "";
}

}  // namespace

int main() {
  char line[8192];
  while (std::fgets(line, sizeof line, stdin) != nullptr) {
    const std::string_view text(line, std::strcspn(line, "\n"));
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos) return 2;
    const Answer answer = answer_to(text.substr(0, space), std::string(text.substr(space + 1)));
    if (answer.kind == Answer::Kind::Yes)
      std::puts("yes");
    else
      std::printf("%s %d\n", word_for(answer.kind), answer.error);
  }
  // Not 0, so that nothing is published and the tree outside stays as it is.
  return std::fflush(stdout) == 0 ? 42 : 2;
}
