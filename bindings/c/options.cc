#include "bindings/c/options.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <limits>

#include <nlohmann/json.hpp>

#include "hermetic/base/text.h"

namespace hermetic::c {
namespace {

using nlohmann::json;

constexpr std::size_t kLongest = std::size_t{64} * 1024;
constexpr std::int64_t kLongestTime = std::int64_t{3650} * 24 * 3600 * 1000;  // as of spec files

Error bad(std::string_view key, std::string_view wanted) {
  return invalid(fmt::format("option '{}' is not {}", key, wanted));
}

Result<std::int64_t> whole_number(std::string_view key, const json& value, std::int64_t least,
                                  std::int64_t most) {
  const std::string wanted = fmt::format("a whole number from {} to {}", least, most);
  if (!value.is_number_integer()) return bad(key, wanted);
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > static_cast<std::uint64_t>(most))
    return bad(key, wanted);
  const auto number = value.get<std::int64_t>();
  if (number < least || number > most) return bad(key, wanted);
  return number;
}

Result<void> read_descriptor(int& to, std::string_view key, const json& value, int least) {
  to = static_cast<int>(TRY(whole_number(key, value, least, std::numeric_limits<int>::max())));
  if (to >= 0 && ::fcntl(to, F_GETFD) < 0)
    return system_error(fmt::format("option '{}': descriptor {}", key, to), errno);
  return {};
}

Result<void> read_flag(bool& to, std::string_view key, const json& value) {
  if (!value.is_boolean()) return bad(key, "true or false");
  to = value.get<bool>();
  return {};
}

Result<std::chrono::milliseconds> milliseconds(std::string_view key, const json& value,
                                               std::int64_t least) {
  const std::int64_t number = TRY(whole_number(key, value, least, kLongestTime));
  return std::chrono::milliseconds(number);
}

Result<void> read_option(StartOptions& options, const std::string& key, const json& value) {
  RunOptions& run = options.run;
  if (key == "stdin") return read_descriptor(run.standard_input, key, value, -1);
  if (key == "stdout") return read_descriptor(run.standard_output, key, value, 0);
  if (key == "stderr") return read_descriptor(run.standard_error, key, value, 0);
  if (key == "digest_outputs") return read_flag(run.digest_outputs, key, value);
  if (key == "observe_processes") return read_flag(run.observe_processes, key, value);
  if (key == "watch_processes") return read_flag(run.watch_processes, key, value);
  if (key == "prove") return read_flag(run.prove, key, value);
  if (key == "capture_bytes") {
    run.capture_bytes = static_cast<std::size_t>(
        TRY(whole_number(key, value, 0, std::numeric_limits<std::int64_t>::max())));
  } else if (key == "keep_failed") {
    if (!value.is_string()) return bad(key, "a path");
    run.keep_failed = TRY(OwnPlace::find(value.get<std::string>()));
  } else if (key == "grace_ms") {
    run.grace = TRY(milliseconds(key, value, 0));
  } else if (key == "timeout_ms") {
    options.timeout = TRY(milliseconds(key, value, 1));
  } else {
    return invalid(fmt::format("unknown option '{}'", printable(key)));
  }
  return {};
}

}  // namespace

Result<StartOptions> read_options(const char* text) {
  StartOptions options;
  options.run.digest_outputs = false;
  if (text == nullptr) return options;
  const std::size_t size = ::strnlen(text, kLongest + 1);
  if (size > kLongest)
    return invalid(fmt::format("the options are longer than {} bytes", kLongest));
  const json parsed = json::parse(text, text + size, nullptr, false);
  if (!parsed.is_object()) return invalid("the options are no JSON object");
  for (const auto& [key, value] : parsed.items()) TRY(read_option(options, key, value));
  return options;
}

}  // namespace hermetic::c
