// Uses up something, as far as it gets up to a number: fill descriptors|files|depth COUNT [PATH].
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "tests/misbehave/act.h"

namespace {

bool descriptors(long count) {
  rlimit limit = {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  for (long i = 0; i < count; ++i)
    if (::dup(0) < 0) return false;
  return true;
}

bool files(long count) {
  for (long i = 0; i < count; ++i) {
    const int fd = ::open(std::to_string(i).c_str(), O_WRONLY | O_CREAT | O_EXCL, 0644);
    if (fd < 0) return false;
    ::close(fd);
  }
  return true;
}

bool depth(long count) {
  for (long i = 0; i < count; ++i)
    if (::mkdir("d", 0755) != 0 || ::chdir("d") != 0) return false;
  return true;
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) misbehave::usage("fill descriptors|files|depth COUNT [PATH]");
  const std::string_view what = words[1];
  const long number = misbehave::number(words[2]);
  if (count > 3 && ::chdir(words[3]) != 0) misbehave::tell(false);
  if (what == "descriptors") misbehave::tell(descriptors(number));
  if (what == "files") misbehave::tell(files(number));
  if (what == "depth") misbehave::tell(depth(number));
  misbehave::usage("fill descriptors|files|depth COUNT [PATH]");
}
