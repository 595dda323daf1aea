#include "hermetic/base/error.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "hermetic/base/text.h"

namespace hermetic {

std::string to_string(const Origin& origin) {
  if (origin.line == 0) return printable(origin.source);
  return fmt::format("{}:{}:{}", printable(origin.source), origin.line, origin.column);
}

Error invalid(std::string message, std::string hint, Origin origin) {
  return {.kind = Error::Kind::InvalidSpec,
          .message = std::move(message),
          .hint = std::move(hint),
          .origin = std::move(origin)};
}

Error unsupported(std::string message, std::string hint) {
  return {.kind = Error::Kind::Unsupported, .message = std::move(message), .hint = std::move(hint)};
}

Error system_error(std::string doing, int os_error, std::string hint) {
  return {.kind = Error::Kind::System,
          .message = std::move(doing) + ": " + std::generic_category().message(os_error),
          .hint = std::move(hint),
          .os_error = os_error};
}

std::string to_string(const Error& error) {
  std::string text = to_string(error.origin);
  if (!text.empty()) text += ": ";
  text += error.message;
  if (!error.hint.empty()) text += "\n  hint: " + error.hint;
  return text;
}

void not_expected(const Error& error) {
  std::fprintf(stderr, "hermetic: bug: nobody asked whether this failed, and it did: %s\n",
               to_string(error).c_str());
  std::abort();
}

}  // namespace hermetic
