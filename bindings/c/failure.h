// What every function of the C ABI does first: catch everything, and say what stood in the way.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "bindings/c/hermetic.h"
#include "hermetic/base/result.h"

struct hermetic_error {
  int kind = HERMETIC_ERROR_INTERNAL;
  std::string message;
  std::string hint;
  std::string origin;
  int os_error = 0;
};

namespace hermetic::c {

void report(hermetic_error** error, const Error& cause) noexcept;
void report_exception(hermetic_error** error, const char* what) noexcept;

// A copy for hermetic_string_free(). NUL bytes cut it: none of our texts has any.
[[nodiscard]] char* give_text(std::string_view text);

// Runs `body`, which gives a Result<T>; whatever it throws or fails with is reported, and `failed`
// returned.
template <class T, class Body>
T guarded(hermetic_error** error, T failed, Body&& body) noexcept {
  if (error != nullptr) *error = nullptr;
  try {
    Result<T> result = std::forward<Body>(body)();
    if (result) return std::move(result).value();
    report(error, result.error());
  } catch (const std::exception& exception) {
    report_exception(error, exception.what());
  } catch (...) {
    report_exception(error, "unknown exception");
  }
  return failed;
}

template <class T>
Result<T*> needed(T* pointer, const char* name) {
  if (pointer == nullptr) return invalid(std::string(name) + " is NULL");
  return pointer;
}
[[nodiscard]] inline Result<std::string> needed_text(const char* text, const char* name) {
  if (text == nullptr) return invalid(std::string(name) + " is NULL");
  return std::string(text);
}

}  // namespace hermetic::c
