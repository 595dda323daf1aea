#include "hermetic/task/task_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "hermetic/base/digest.h"
#include "tests/unit/spec/temp_dir.h"

namespace hermetic::task {
namespace {

using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

Result<TaskConfig> load(const std::string& file) {
  Contents contents;
  return load_task_config(file, contents);
}

TEST(TaskConfigs, MayBeAbsent) {
  const TaskConfig config = load("").value();
  EXPECT_EQ(config.hash, "");
  EXPECT_FALSE(config.model_shas);
  EXPECT_FALSE(config.tokenizer_shas);
  EXPECT_FALSE(config.quantization);
}

TEST(TaskConfigs, HaveTheDigestsOfWhatTheyName) {
  const TempDir dir;
  dir.file("models/a.bin", "model a");
  const std::string elsewhere = dir.file("elsewhere", "tokens");
  const std::string text = "models: {main: models/a.bin}\ntokenizers:\n  words: " + elsewhere +
                           "\nquantization: {main: q4_k}\nunknown: {to: [us]}\n";
  const TaskConfig config = load(dir.file("config.yaml", text)).value();
  EXPECT_EQ(config.hash, sha256(text));
  EXPECT_THAT(*config.model_shas, UnorderedElementsAre(Pair("main", sha256("model a"))));
  EXPECT_THAT(*config.tokenizer_shas, UnorderedElementsAre(Pair("words", sha256("tokens"))));
  EXPECT_THAT(*config.quantization, UnorderedElementsAre(Pair("main", "q4_k")));
}

TEST(TaskConfigs, NameFilesInListsAndAlone) {
  const TempDir dir;
  dir.file("a", "a");
  dir.file("b", "b");
  const TaskConfig config =
      load(dir.file("c", "models: [a, b]\ntokenizers: a\nquantization: int8\n")).value();
  EXPECT_THAT(*config.model_shas,
              UnorderedElementsAre(Pair("a", sha256("a")), Pair("b", sha256("b"))));
  EXPECT_THAT(*config.tokenizer_shas, UnorderedElementsAre(Pair("a", sha256("a"))));
  EXPECT_THAT(*config.quantization, UnorderedElementsAre(Pair("int8", "int8")));
  EXPECT_FALSE(load(dir.file("c", "models: []\n")).value().model_shas);
}

TEST(TaskConfigs, AreNotBelieved) {
  const TempDir dir;
  const auto refusal = [&](const std::string& text) {
    const Result<TaskConfig> config = load(dir.file("config", text));
    return config ? "accepted" : config.error().message;
  };
  EXPECT_THAT(refusal("models: {main: missing}\n"), HasSubstr("missing"));
  EXPECT_THAT(refusal("models: {main: [a]}\n"), HasSubstr("takes names and texts"));
  EXPECT_THAT(refusal("models: [{a: b}]\n"), HasSubstr("takes names and texts"));
  EXPECT_THAT(refusal("models: {\n"), ::testing::Ne("accepted"));
  EXPECT_FALSE(load(dir / "nothing"));
  EXPECT_FALSE(load(dir.path()));
}

// Neither would ever be read to its end.
TEST(TaskConfigs, WaitForNoPipeAndNoDevice) {
  const TempDir dir;
  ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
  for (const char* name : {"pipe", "/dev/zero", "."}) {
    const Result<TaskConfig> config =
        load(dir.file("config", std::string("models: {main: ") + name + "}\n"));
    ASSERT_FALSE(config);
    EXPECT_THAT(config.error().message, HasSubstr("is not a file"));
  }
}

}  // namespace
}  // namespace hermetic::task
