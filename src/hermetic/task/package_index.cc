#include "hermetic/task/package_index.h"

#include <fmt/format.h>

#include "hermetic/base/text.h"

namespace hermetic::task {

Result<NetworkPolicy> network_for_index(const std::string& url) {
  const bool plain = url.starts_with("http://");
  const std::size_t begin = url.find("://");
  if (!plain && !url.starts_with("https://"))
    return invalid(fmt::format("'{}' is no URL of an index", printable(url)),
                   "write http://host/… or https://host/…");
  std::string host = url.substr(begin + 3, url.find('/', begin + 3) - begin - 3);
  if (const std::size_t user = host.rfind('@'); user != std::string::npos)
    return invalid("the URL of the index has a password in it", "which everybody could read");
  if (host.find(':') == std::string::npos) host += plain ? ":80" : ":443";
  return NetworkPolicy::allow_hosts({host});
}

}  // namespace hermetic::task
