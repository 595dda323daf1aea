#include "hermetic/spec/yaml_document.h"

#include <fmt/format.h>
#include <yaml.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "hermetic/base/text.h"

namespace hermetic {
namespace {

constexpr int kDeepest = 32;
constexpr int kMostNodes = 100'000;

Place to_place(const yaml_mark_t& mark) {
  return {.line = static_cast<int>(mark.line) + 1, .column = static_cast<int>(mark.column) + 1};
}

std::string_view view(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

// libyaml expands "!!name"; people look for what they wrote.
std::string written_tag(std::string_view tag) {
  constexpr std::string_view kExpanded = "tag:yaml.org,2002:";
  if (!tag.starts_with(kExpanded)) return std::string(tag);
  return fmt::format("!!{}", tag.substr(kExpanded.size()));
}

// One libyaml event and what it owns.
class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, {})) {}
  Event& operator=(Event&&) = delete;
  ~Event() { yaml_event_delete(&event_); }

  [[nodiscard]] yaml_event_t* raw() { return &event_; }
  [[nodiscard]] yaml_event_type_t type() const { return event_.type; }
  [[nodiscard]] const yaml_event_t& get() const { return event_; }

 private:
  yaml_event_t event_ = {};
};

// The remedy for what libyaml's scanner or parser says. Its texts are those of 0.2.5; one that is
// not found here gets the general advice.
std::string syntax_hint(std::string_view context, std::string_view problem) {
  struct Advice {
    std::string_view words;
    std::string_view hint;
  };
  static constexpr std::array<Advice, 10> kAdvice = {{
      {"scanning an alias", "quote text that starts with '*', such as \"*.example.org\""},
      {"scanning an anchor", "quote text that starts with '&'"},
      {"cannot start any token",
       "indent with spaces, not tabs, and quote text that starts with '@', '`' or '%'"},
      {"tab character", "indent with spaces, not tabs"},
      {"expected node content",
       "quote text that starts with '[', ':' or ',', such as \"[::1]:8080\""},
      {"mapping values are not allowed",
       "quote text that contains ': ', and indent the keys of a mapping alike"},
      {"expected ':'", "write 'key: value', and indent the keys of a mapping alike"},
      {"expected ',' or ']'", "close the list with ']', and quote text with brackets in it"},
      {"expected ',' or '}'", "close the mapping with '}', and quote text with braces in it"},
      {"quoted scalar", "close the quotes; in double quotes write a backslash as \\\\"},
  }};
  for (const Advice& advice : kAdvice)
    if (context.find(advice.words) != std::string_view::npos ||
        problem.find(advice.words) != std::string_view::npos)
      return std::string(advice.hint);
  return "check the indentation, quotes and brackets here and in the line above";
}

// Pulls events out of one text and turns them into nodes.
class Builder {
 public:
  Builder(std::string_view text, const std::string& file_name, std::function<Place(Place)> original)
      : text_(text), file_name_(file_name), original_(std::move(original)) {}
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;
  ~Builder() {
    if (initialised_) yaml_parser_delete(&parser_);
  }

  Result<YamlNode> build();

 private:
  Result<Event> next();
  Result<YamlNode> node(const Event& event, int depth);
  Result<YamlNode> sequence(int depth, Place place);
  Result<YamlNode> mapping(int depth, Place place);
  Result<YamlEntry> entry(const Event& key_event, int depth);
  Result<std::string> scalar_text(const Event& event);
  Result<void> check_properties(const yaml_char_t* anchor, const yaml_char_t* tag, Place place);
  Result<void> check_depth(int depth, Place place);
  Result<void> check_document_start(const Event& event);

  [[nodiscard]] Place place_of(const Event& event) const {
    return original_(to_place(event.get().start_mark));
  }
  [[nodiscard]] Origin origin(Place place) const { return {file_name_, place.line, place.column}; }
  [[nodiscard]] Error syntax_error() const;

  std::string_view text_;
  const std::string& file_name_;
  std::function<Place(Place)> original_;  // of a place in text_ to the one in the file
  yaml_parser_t parser_ = {};
  bool initialised_ = false;
  int nodes_ = 0;
};

Error Builder::syntax_error() const {
  if (parser_.error == YAML_MEMORY_ERROR)
    return system_error(fmt::format("parsing '{}'", printable(file_name_)), ENOMEM);
  const std::string_view context = parser_.context == nullptr ? "" : parser_.context;
  const std::string_view problem = parser_.problem == nullptr ? "bad syntax" : parser_.problem;
  Place place = original_(to_place(parser_.problem_mark));
  if (problem == "found invalid Unicode character escape code") {
    // Parsing stopped at the first surrogate; the one without a partner may be another.
    if (text_.find_first_not_of(" \t\r\n") == text_.find('{'))
      place = find_lone_surrogate(text_).value_or(place);
    return invalid("escape that stands for no character",
                   "write the character itself, \\U0001f600, or in JSON a whole surrogate pair",
                   origin(place));
  }
  std::string message = "not valid YAML: ";
  if (!context.empty()) {
    // An unclosed bracket or quote is noticed at the end of the file; it is mended where it opens.
    const Place opened = original_(to_place(parser_.context_mark));
    message += fmt::format("{} from line {}, column {}, ", context, opened.line, opened.column);
  }
  message += problem;
  return invalid(std::move(message), syntax_hint(context, problem), origin(place));
}

Result<Event> Builder::next() {
  Event event;
  if (yaml_parser_parse(&parser_, event.raw()) == 0) return syntax_error();
  return event;
}

Result<void> Builder::check_properties(const yaml_char_t* anchor, const yaml_char_t* tag,
                                       Place place) {
  if (anchor != nullptr)
    return invalid(fmt::format("anchor '&{}' is not accepted", printable(view(anchor))),
                   "write the value out; quote text that starts with '&'", origin(place));
  if (tag != nullptr)
    return invalid(fmt::format("tag '{}' is not accepted", printable(written_tag(view(tag)))),
                   "remove it, each key has its own type; quote text that starts with '!'",
                   origin(place));
  return {};
}

Result<std::string> Builder::scalar_text(const Event& event) {
  const auto& scalar = event.get().data.scalar;
  TRY(check_properties(scalar.anchor, scalar.tag, place_of(event)));
  std::string text(reinterpret_cast<const char*>(scalar.value), scalar.length);
  if (text.find('\0') != std::string::npos)
    return invalid(fmt::format("'{}' contains a NUL character", printable(text.substr(0, 80))),
                   "remove the escape: no path, argument or variable can hold it",
                   origin(place_of(event)));
  return text;
}

Result<YamlEntry> Builder::entry(const Event& key_event, int depth) {
  YamlEntry entry;
  entry.place = place_of(key_event);
  if (key_event.type() == YAML_ALIAS_EVENT) TRY(node(key_event, depth));  // says what it is
  if (key_event.type() != YAML_SCALAR_EVENT)
    return invalid("key that is a list or a mapping", "write a plain name as the key",
                   origin(entry.place));
  const YamlNode key = TRY(node(key_event, depth));
  if (key.text.empty() && !key.quoted)
    return invalid("empty key", "write a name before the ':'", origin(entry.place));
  if (key.text == "<<" && !key.quoted)
    return invalid("merge key '<<' is not accepted",
                   "write the values out, or share them in 'defaults'", origin(entry.place));
  entry.key = key.text;
  const Event value = TRY(next());
  entry.value = TRY(node(value, depth));
  return entry;
}

Result<YamlNode> Builder::mapping(int depth, Place place) {
  YamlNode result;
  result.kind = YamlNode::Kind::Mapping;
  result.place = place;
  std::map<std::string, Place, std::less<>> seen;
  while (true) {
    const Event event = TRY(next());
    if (event.type() == YAML_MAPPING_END_EVENT) return result;
    YamlEntry entry = TRY(this->entry(event, depth + 1));
    const auto [first, fresh] = seen.emplace(entry.key, entry.place);
    if (!fresh)
      return invalid(
          fmt::format("duplicate key '{}', first at line {}, column {}",
                      printable(entry.key.substr(0, 80)), first->second.line, first->second.column),
          "remove one of the two", origin(entry.place));
    result.entries.push_back(std::move(entry));
  }
}

Result<YamlNode> Builder::sequence(int depth, Place place) {
  YamlNode result;
  result.kind = YamlNode::Kind::Sequence;
  result.place = place;
  while (true) {
    const Event event = TRY(next());
    if (event.type() == YAML_SEQUENCE_END_EVENT) return result;
    YamlNode item = TRY(node(event, depth + 1));
    result.items.push_back(std::move(item));
  }
}

// Recursion is bounded by kDeepest.
Result<YamlNode> Builder::node(const Event& event, int depth) {
  const Place place = place_of(event);
  if (++nodes_ > kMostNodes)
    return invalid(fmt::format("more than {} values in one file", kMostNodes),
                   "declare directories instead of single files, or split the file", origin(place));
  const auto& data = event.get().data;
  switch (event.type()) {
    case YAML_SCALAR_EVENT: {
      YamlNode result;
      result.text = TRY(scalar_text(event));
      result.quoted = data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
      result.place = place;
      return result;
    }
    case YAML_SEQUENCE_START_EVENT:
      TRY(check_depth(depth, place));
      TRY(check_properties(data.sequence_start.anchor, data.sequence_start.tag, place));
      return sequence(depth, place);
    case YAML_MAPPING_START_EVENT:
      TRY(check_depth(depth, place));
      TRY(check_properties(data.mapping_start.anchor, data.mapping_start.tag, place));
      return mapping(depth, place);
    case YAML_ALIAS_EVENT:
      return invalid(fmt::format("alias '*{}' is not accepted", printable(view(data.alias.anchor))),
                     "write the value out; quote text that starts with '*'", origin(place));
    default:
      return invalid("not valid YAML: a value is missing", syntax_hint("", ""), origin(place));
  }
}

Result<void> Builder::check_depth(int depth, Place place) {
  if (depth > kDeepest)
    return invalid(fmt::format("nesting deeper than {} levels", kDeepest),
                   "a spec needs six at most; look for unclosed brackets", origin(place));
  return {};
}

Result<void> Builder::check_document_start(const Event& event) {
  const auto& tags = event.get().data.document_start.tag_directives;
  if (tags.start != tags.end)
    return invalid("directive '%TAG' is not accepted", "remove it: tags are not used",
                   origin(place_of(event)));
  return {};
}

Result<YamlNode> Builder::build() {
  if (yaml_parser_initialize(&parser_) == 0)
    return system_error(fmt::format("parsing '{}'", printable(file_name_)), ENOMEM);
  initialised_ = true;
  yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text_.data()),
                               text_.size());
  const auto empty = [&](Place place) {
    return invalid("empty document", "start the file with 'version: 1'", origin(place));
  };
  TRY(next());  // the start of the stream
  const Event start = TRY(next());
  if (start.type() == YAML_STREAM_END_EVENT) return empty({});
  TRY(check_document_start(start));
  const Event first = TRY(next());
  YamlNode root = TRY(node(first, 1));
  if (root.kind == YamlNode::Kind::Scalar && root.text.empty() && !root.quoted)
    return empty(root.place);
  TRY(next());  // the end of the document
  const Event end = TRY(next());
  if (end.type() != YAML_STREAM_END_EVENT)
    return invalid("second document in the file",
                   "keep one document; several commands are 'targets'", origin(place_of(end)));
  return root;
}

bool is_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{' && nlohmann::json::accept(text);
}

}  // namespace

const YamlEntry* entry_of(const YamlNode& mapping, std::string_view key) {
  const auto entry = std::ranges::find(mapping.entries, key, &YamlEntry::key);
  return entry == mapping.entries.end() ? nullptr : &*entry;
}

Result<YamlNode> parse_yaml(std::string_view text, const std::string& file_name) {
  TRY(check_characters(text, file_name));
  if (text.find("\\u") != std::string_view::npos && is_json(text)) {
    const JoinedSurrogates joined = join_surrogates(text);
    return Builder(joined.text, file_name, [&](Place place) { return joined.original(place); })
        .build();
  }
  return Builder(text, file_name, [](Place place) { return place; }).build();
}

}  // namespace hermetic
