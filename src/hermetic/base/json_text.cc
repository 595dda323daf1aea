#include "hermetic/base/json_text.h"

#include "hermetic/base/text.h"

namespace hermetic {

void JsonText::separate() {
  if (!first_) text_ += ',';
  first_ = false;
}

JsonText& JsonText::open(char bracket) {
  separate();
  text_ += bracket;
  first_ = true;
  return *this;
}

JsonText& JsonText::close(char bracket) {
  text_ += bracket;
  first_ = false;
  return *this;
}

JsonText& JsonText::key(std::string_view name) {
  separate();
  quote(name);
  text_ += ':';
  first_ = true;
  return *this;
}

JsonText& JsonText::text(std::string_view value) {
  if (is_utf8(value)) {
    separate();
    quote(value);
    return *this;
  }
  begin_array();
  for (const char byte : value) number(static_cast<unsigned char>(byte));
  return end_array();
}

JsonText& JsonText::number(std::uint64_t value) {
  separate();
  text_ += std::to_string(value);
  return *this;
}

JsonText& JsonText::integer(std::int64_t value) {
  separate();
  text_ += std::to_string(value);
  return *this;
}

JsonText& JsonText::null() {
  separate();
  text_ += "null";
  return *this;
}

JsonText& JsonText::boolean(bool value) {
  separate();
  text_ += value ? "true" : "false";
  return *this;
}

void JsonText::quote(std::string_view value) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  text_ += '"';
  for (const char c : value) {
    switch (c) {
      case '"': text_ += "\\\""; break;
      case '\\': text_ += "\\\\"; break;
      case '\b': text_ += "\\b"; break;
      case '\f': text_ += "\\f"; break;
      case '\n': text_ += "\\n"; break;
      case '\r': text_ += "\\r"; break;
      case '\t': text_ += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          text_ += "\\u00";
          text_ += kDigits[static_cast<unsigned char>(c) >> 4U];
          text_ += kDigits[static_cast<unsigned char>(c) & 15U];
        } else {
          text_ += c;
        }
    }
  }
  text_ += '"';
}

}  // namespace hermetic
