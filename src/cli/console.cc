#include "cli/console.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "cli/exit_code.h"

namespace hermetic::cli {
namespace {

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

void print(std::string_view text) {
  if (write_all(STDOUT_FILENO, text)) return;
  const std::string message =
      std::string("hermetic: cannot write to standard output: ") + std::strerror(errno) + "\n";
  (void)write_all(STDERR_FILENO, message);
  std::_Exit(kFailed);
}

void complain(const Error& error) {
  (void)write_all(STDERR_FILENO, "hermetic: " + to_string(error) + "\n");
}

int report(const Error& error) {
  complain(error);
  return error.kind == Error::Kind::InvalidSpec ? kBadUsage : kFailed;
}

Color color_for(std::string_view choice, int descriptor) {
  if (choice == "always") return Color::Always;
  if (choice == "never") return Color::Never;
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool plain = (no_color != nullptr && *no_color != '\0') || term == nullptr ||
                     std::string_view(term) == "dumb";
  return !plain && ::isatty(descriptor) == 1 ? Color::Always : Color::Never;
}

}  // namespace hermetic::cli
