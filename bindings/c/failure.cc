#include "bindings/c/failure.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace hermetic::c {
namespace {

// There may be no memory to say that there is none.
hermetic_error& no_memory() noexcept {
  static hermetic_error error{.kind = HERMETIC_ERROR_INTERNAL, .message = "out of memory"};
  return error;
}

void give(hermetic_error** error, hermetic_error value) noexcept {
  if (error == nullptr) return;
  *error = new (std::nothrow) hermetic_error(std::move(value));
  if (*error == nullptr) *error = &no_memory();
}

int kind_of(Error::Kind kind) {
  switch (kind) {
    case Error::Kind::InvalidSpec: return HERMETIC_ERROR_INVALID;
    case Error::Kind::Unsupported: return HERMETIC_ERROR_UNSUPPORTED;
    case Error::Kind::System: return HERMETIC_ERROR_SYSTEM;
  }
  return HERMETIC_ERROR_INTERNAL;
}

}  // namespace

void report(hermetic_error** error, const Error& cause) noexcept {
  try {
    give(error, {.kind = kind_of(cause.kind),
                 .message = cause.message,
                 .hint = cause.hint,
                 .origin = to_string(cause.origin),
                 .os_error = cause.os_error});
  } catch (...) {
    if (error != nullptr) *error = &no_memory();
  }
}

void report_exception(hermetic_error** error, const char* what) noexcept {
  try {
    give(error, {.kind = HERMETIC_ERROR_INTERNAL, .message = what});
  } catch (...) {
    if (error != nullptr) *error = &no_memory();
  }
}

char* give_text(std::string_view text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

}  // namespace hermetic::c

extern "C" {

int hermetic_error_kind(const hermetic_error* error) {
  return error == nullptr ? HERMETIC_ERROR_NONE : error->kind;
}
const char* hermetic_error_message(const hermetic_error* error) {
  return error == nullptr ? "" : error->message.c_str();
}
const char* hermetic_error_hint(const hermetic_error* error) {
  return error == nullptr ? "" : error->hint.c_str();
}
const char* hermetic_error_origin(const hermetic_error* error) {
  return error == nullptr ? "" : error->origin.c_str();
}
int hermetic_error_os_error(const hermetic_error* error) {
  return error == nullptr ? 0 : error->os_error;
}
void hermetic_error_free(hermetic_error* error) {
  if (error != &hermetic::c::no_memory()) delete error;
}

void hermetic_string_free(char* text) { std::free(text); }

const char* hermetic_version() { return HERMETIC_VERSION; }
int hermetic_abi_version() { return HERMETIC_ABI_VERSION; }
}
