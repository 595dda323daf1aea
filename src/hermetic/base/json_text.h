// JsonText: writes JSON in its canonical form (RFC 8785), for what is hashed.
//
// The caller gives the keys of an object in sorted order. Numbers are integers below 2^53.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hermetic {

class JsonText {
 public:
  JsonText& begin_object() { return open('{'); }
  JsonText& end_object() { return close('}'); }
  JsonText& begin_array() { return open('['); }
  JsonText& end_array() { return close(']'); }
  JsonText& key(std::string_view name);
  // Text that is not UTF-8 cannot stand in JSON: it becomes an array of its bytes, which no text
  // can be mistaken for.
  JsonText& text(std::string_view value);
  JsonText& number(std::uint64_t value);
  JsonText& integer(std::int64_t value);
  JsonText& boolean(bool value);
  JsonText& null();

  [[nodiscard]] const std::string& str() const { return text_; }

 private:
  JsonText& open(char bracket);
  JsonText& close(char bracket);
  void separate();
  void quote(std::string_view value);

  std::string text_;
  bool first_ = true;  // nothing stands before the next value: no comma
};

}  // namespace hermetic
