// Redaction: keeps secrets out of what is written down about a run.
//
// A secret is the value of an environment variable whose name announces one (secret_names.h), or
// what looks like one (secret_shapes.h). It is a net, not a proof: a secret that neither a name nor
// its looks give away stays.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hermetic/record/secret_values.h"

namespace hermetic {

class Redaction {
 public:
  using Variable = std::pair<std::string, std::string>;
  // Shorter values are words such as "yes" or "none": they would be struck out everywhere.
  static constexpr std::size_t kShortest = 6;

  explicit Redaction(const std::map<std::string, std::string>& environment);
  // One name may have several values: that of the caller, and that of the command.
  explicit Redaction(std::span<const Variable> environment);

  // Every secret becomes [redacted:NAME], or [redacted] where no single name is known. Values are
  // found as they are, percent-encoded, with escapes of JSON, C or printable(), and in base64.
  // Doing it twice changes nothing. Takes time in proportion to the text.
  [[nodiscard]] std::string clean(std::string_view text) const;

  // Also knows that what follows "--password" is one.
  [[nodiscard]] std::vector<std::string> clean_arguments(
      std::span<const std::string> arguments) const;

 private:
  void add(const Variable& variable);
  void avoid_telling_names();
  [[nodiscard]] std::vector<SecretSpan> find(std::string_view text) const;
  [[nodiscard]] std::string replace(std::string_view text, std::vector<SecretSpan> spans) const;
  // The length of the marker that `text` starts with, or 0.
  [[nodiscard]] std::size_t marker_length(std::string_view text) const;
  [[nodiscard]] std::vector<SecretSpan> markers_in(std::string_view text) const;

  SecretValues values_;
  std::vector<std::string> markers_;  // by owner: "[redacted:NAME]"
};

}  // namespace hermetic
