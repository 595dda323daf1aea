// Ready-made specs for the two commonest jobs, and the directories in which a system keeps its
// tools.
#pragma once

#include <string>
#include <vector>

#include "hermetic/base/result.h"
#include "hermetic/spec/draft.h"
#include "hermetic/spec/spec_builder.h"

namespace hermetic {

// The system's programs, libraries, headers and the few files in /etc that they need, as far as
// they exist on this host. No secrets, no host identity: /etc itself is not among them.
[[nodiscard]] std::vector<std::string> toolchain_directories();

// What is allowed where no spec says otherwise: the toolchain and `directory`, in which the command
// starts, can be read. What `declared` has is carved out; what it declares to be written is not
// read. With a root of its own nothing of the host is added, and a `directory` that was declared
// with a place is entered there.
[[nodiscard]] Draft default_draft(const Draft& declared, const std::string& directory);

// Where the workspace of a build stands inside. At a fixed place two checkouts at different paths
// have the same names, and what records them comes out the same.
enum class WorkspacePlace { AsOnTheHost, Fixed };
inline constexpr const char* kWorkspace = "/w";

// A builder that may read the toolchain and the sources, and write the output directory. What of
// the sources lies inside the output or temp directory is carved out. Relative names are refused.
[[nodiscard]] Result<SpecBuilder> for_build(const std::string& workspace,
                                            const std::vector<std::string>& sources,
                                            const std::string& output_dir,
                                            const std::string& temp_dir,
                                            WorkspacePlace place = WorkspacePlace::AsOnTheHost);

// A builder that may read the toolchain and the whole workspace, starts in the test directory, and
// writes nothing but its temp directory.
[[nodiscard]] Result<SpecBuilder> for_test(const std::string& workspace,
                                           const std::string& test_dir,
                                           const std::string& temp_dir);

}  // namespace hermetic
