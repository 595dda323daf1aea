#include "hermetic/gate/ci_links.h"

#include <fmt/format.h>

#include "hermetic/record/markup.h"

namespace hermetic::gate {
namespace {

bool is_commit(std::string_view revision) {
  return revision.size() >= 7 && revision.size() <= 64 &&
         revision.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::vector<ReportLink> ci_links(const std::map<std::string, std::string>& environment,
                                 std::string_view revision) {
  const auto value = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  std::vector<ReportLink> links;
  const auto add = [&](const char* name, const std::string& address) {
    if (is_web_address(address)) links.push_back({.name = name, .address = address});
  };
  const std::string server = value("GITHUB_SERVER_URL");
  const std::string repository = value("GITHUB_REPOSITORY");
  if (!server.empty() && !repository.empty()) {
    if (is_commit(revision))
      add("commit", fmt::format("{}/{}/commit/{}", server, repository, revision));
    if (const std::string run = value("GITHUB_RUN_ID"); !run.empty())
      add("job", fmt::format("{}/{}/actions/runs/{}", server, repository, run));
  } else if (const std::string project = value("CI_PROJECT_URL"); !project.empty()) {
    if (is_commit(revision)) add("commit", fmt::format("{}/-/commit/{}", project, revision));
    add("job", value("CI_JOB_URL"));
  } else {
    add("job", value("BUILD_URL"));
  }
  return links;
}

}  // namespace hermetic::gate
