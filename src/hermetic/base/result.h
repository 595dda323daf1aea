// Result<T>: a value or the Error that stood in its way. It cannot be ignored.
//
// Member names follow std::expected, so that a later switch is an alias. See
// docs/decisions/0001-own-result.md for why it is not used yet.
#pragma once

#include <utility>
#include <variant>

#include "hermetic/base/check.h"
#include "hermetic/base/error.h"

namespace hermetic {

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Result(Error error)
      : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool has_value() const { return state_.index() == 0; }
  [[nodiscard]] explicit operator bool() const { return has_value(); }

  [[nodiscard]] T& value() & {
    if (!has_value()) [[unlikely]]
      not_expected(error());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] const T& value() const& {
    if (!has_value()) [[unlikely]]
      not_expected(error());
    return *std::get_if<0>(&state_);
  }
  [[nodiscard]] T&& value() && {
    if (!has_value()) [[unlikely]]
      not_expected(error());
    return std::move(*std::get_if<0>(&state_));
  }
  [[nodiscard]] T& operator*() & { return value(); }
  [[nodiscard]] const T& operator*() const& { return value(); }
  [[nodiscard]] T* operator->() { return &value(); }
  [[nodiscard]] const T* operator->() const { return &value(); }

  [[nodiscard]] const Error& error() const& {
    CHECK(!has_value());
    return *std::get_if<1>(&state_);
  }
  [[nodiscard]] Error&& error() && {
    CHECK(!has_value());
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool has_value() const { return state_.index() == 0; }
  [[nodiscard]] explicit operator bool() const { return has_value(); }
  void value() const {
    if (!has_value()) [[unlikely]]
      not_expected(error());
  }
  [[nodiscard]] const Error& error() const& {
    CHECK(!has_value());
    return *std::get_if<1>(&state_);
  }
  [[nodiscard]] Error&& error() && {
    CHECK(!has_value());
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  std::variant<std::monostate, Error> state_;
};

}  // namespace hermetic

// Unwraps a Result or returns its Error from the enclosing function. Use it as the whole right side
// of a declaration or as a whole statement only: g++ 12 and clang 14 both leak the finished members
// of a half-built aggregate when a statement expression leaves it.
#define TRY(...)                                                             \
  __extension__({                                                            \
    auto hermetic_try_result = (__VA_ARGS__);                                \
    if (!hermetic_try_result) return std::move(hermetic_try_result).error(); \
    std::move(hermetic_try_result).value();                                  \
  })
