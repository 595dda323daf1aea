// Feeds arbitrary bytes to the readers of lockfiles: what pip is given of an accepted one names a
// pinned package on each line, and nothing else.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "hermetic/base/check.h"
#include "hermetic/base/text.h"
#include "hermetic/task/node_environment.h"
#include "hermetic/task/python_environment.h"

namespace {

using hermetic::Error;
using hermetic::Result;
using hermetic::task::Lockfile;

void check_error(const Error& error) {
  CHECK(error.kind == Error::Kind::InvalidSpec);
  CHECK(error.origin.source == "lockfile" && error.origin.line > 0);
  CHECK(!error.message.empty() && !error.hint.empty());
  CHECK(hermetic::printable(error.message) == error.message);
  CHECK(error.message.size() < 2000 && error.hint.size() < 2000);
}

void check_line(std::string_view line) {
  CHECK(!line.starts_with('-') && !line.starts_with('#') && !line.ends_with('\\'));
  CHECK(line.find("==") != std::string_view::npos);
  for (std::size_t option = line.find(" -"); option != std::string_view::npos;
       option = line.find(" -", option + 1))
    CHECK(line.substr(option + 1).starts_with("--hash="));
  for (const char c : line) CHECK(c >= ' ' && c <= '~' && c != '@' && c != '$');
}

void check_lockfile(const Lockfile& lockfile) {
  std::string_view rest = lockfile.text;
  std::size_t lines = 0;
  for (; !rest.empty(); ++lines) {
    const std::size_t end = rest.find('\n');
    CHECK(end != std::string_view::npos);
    check_line(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  CHECK(lines == lockfile.names.size());
  // What we make of it is what it is.
  const Result<Lockfile> again = hermetic::task::parse_lockfile(lockfile.text, "again");
  CHECK(again && again->text == lockfile.text && again->names == lockfile.names &&
        again->has_hashes == lockfile.has_hashes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<Lockfile> lockfile = hermetic::task::parse_lockfile(text, "lockfile");
  if (lockfile)
    check_lockfile(*lockfile);
  else
    check_error(lockfile.error());
  const Result<void> packages = hermetic::task::check_node_lockfile(text, "lockfile");
  if (!packages) check_error(packages.error());
  return 0;
}
