// hermetic key: makes the pair of keys with which evidence is signed and checked.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "cli/commands.h"
#include "cli/console.h"
#include "cli/exit_code.h"
#include "hermetic/base/text.h"
#include "hermetic/base/unique_fd.h"
#include "hermetic/record/signing_key.h"

namespace hermetic::cli {
namespace {

Result<void> write_new(const std::string& path, std::string_view text, mode_t mode) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!file.is_open())
    return system_error(fmt::format("cannot make '{}'", printable(path)), errno,
                        errno == EEXIST ? "a key is never overwritten; choose another name" : "");
  if (::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) return {};
  const int os_error = errno;
  ::unlink(path.c_str());
  return system_error(fmt::format("cannot write '{}'", printable(path)), os_error);
}

Result<std::string> make_pair(const std::string& path) {
  const SigningKey key = TRY(SigningKey::make_new());
  TRY(write_new(path, key.pem(), 0600));
  if (Result<void> written = write_new(path + ".pub", key.public_key().pem(), 0644); !written) {
    ::unlink(path.c_str());
    return std::move(written).error();
  }
  return fmt::format(
      "private key  {}  (keep it; sign with --key)\n"
      "public key   {}.pub  (give it to whoever checks)\n"
      "key id       {}\n",
      printable(path), printable(path), key.public_key().id());
}

}  // namespace

const Subcommand& key_description() {
  static const Subcommand description{
      .name = "key",
      .synopsis = "new FILE",
      .summary = "Makes a pair of keys to sign evidence with: FILE and FILE.pub.",
      .options = {{"--help", "", "show this help"}}};
  return description;
}

int key_main(std::span<char* const> words) {
  const Result<Arguments> arguments = parse_arguments(key_description(), words);
  if (!arguments) return report(arguments.error());
  if (arguments->has("--help")) return print(help_for(key_description())), kSuccess;
  if (arguments->words.size() != 2 || arguments->words.front() != "new" ||
      !arguments->command.empty())
    return report(invalid("'hermetic key' takes two words", "hermetic key new FILE"));
  const Result<std::string> made = make_pair(arguments->words.back());
  if (!made) return report(made.error());
  return print(*made), kSuccess;
}

}  // namespace hermetic::cli
