#include "hermetic/base/file_text.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace hermetic {
namespace {

class FileText : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "file-text-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

  std::filesystem::path folder_;
};

// In a container every process has the same number, and so had the one that was killed.
TEST_F(FileText, IsWrittenBesideWhatSomebodyOfTheSameNumberHasLeft) {
  const std::string left = fmt::format("{}.hermetic-{}", path("file"), ::getpid());
  std::ofstream(left) << "half";
  for (const std::string text : {"one", "two"}) {
    const Result<void> written = write_file_whole(path("file"), text);
    ASSERT_TRUE(written) << to_string(written.error());
    EXPECT_EQ(read_whole_file(path("file")).value(), text);
  }
  EXPECT_EQ(read_whole_file(left).value(), "half");  // it may be that of another thread
  std::filesystem::remove(left);
  std::filesystem::remove(path("file"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

}  // namespace
}  // namespace hermetic
