#include "hermetic/task/task_config.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "hermetic/base/digest.h"
#include "hermetic/base/file_text.h"
#include "hermetic/base/text.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/spec/yaml_document.h"

namespace hermetic::task {
namespace {

using Texts = std::map<std::string, std::string>;

// A mapping of names to texts, or a list of texts that are their own names.
Result<Texts> read_texts(const YamlNode& node, const std::string& key, const std::string& file) {
  const auto refuse = [&](const YamlNode& at) {
    return invalid(fmt::format("'{}' takes names and texts", key), "write {name: text}",
                   {file, at.place.line, at.place.column});
  };
  Texts texts;
  if (node.kind == YamlNode::Kind::Scalar && !node.text.empty()) texts[node.text] = node.text;
  for (const YamlNode& item : node.items) {
    if (item.kind != YamlNode::Kind::Scalar) return refuse(item);
    texts[item.text] = item.text;
  }
  for (const YamlEntry& entry : node.entries) {
    if (entry.value.kind != YamlNode::Kind::Scalar) return refuse(entry.value);
    texts[entry.key] = entry.value.text;
  }
  return texts;
}

Result<std::optional<Texts>> digests(const YamlNode& root, const std::string& key,
                                     const std::string& file, Contents& contents) {
  const auto found = std::ranges::find(root.entries, key, &YamlEntry::key);
  if (found == root.entries.end()) return std::optional<Texts>();
  Texts shas;
  for (const auto& [name, text] : TRY(read_texts(found->value, key, file))) {
    const std::size_t slash = file.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : file.substr(0, slash + 1);
    const std::string path = text.starts_with('/') ? text : folder + text;
    const UniqueFd content(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status = {};
    if (content.is_open() && ::fstat(content.get(), &status) == 0 && !S_ISREG(status.st_mode))
      return invalid(fmt::format("'{}', which '{}' of '{}' names, is not a file", printable(path),
                                 key, printable(file)));
    if (!content.is_open())
      return system_error(fmt::format("cannot read '{}', which '{}' of '{}' names", printable(path),
                                      key, printable(file)),
                          errno,
                          "a digest is computed from the file; leave the name out otherwise");
    shas[name] = TRY(contents.digest_of(content.get(), path));
  }
  if (shas.empty()) return std::optional<Texts>();
  return std::optional(std::move(shas));
}

}  // namespace

Result<TaskConfig> load_task_config(const std::string& file, Contents& contents) {
  TaskConfig config;
  if (file.empty()) return config;
  const std::string text = TRY(read_whole_file(file));
  config.hash = sha256(text);
  const YamlNode root = TRY(parse_yaml(text, file));
  config.model_shas = TRY(digests(root, "models", file, contents));
  config.tokenizer_shas = TRY(digests(root, "tokenizers", file, contents));
  const auto found = std::ranges::find(root.entries, "quantization", &YamlEntry::key);
  if (found != root.entries.end())
    config.quantization = TRY(read_texts(found->value, "quantization", file));
  return config;
}

}  // namespace hermetic::task
