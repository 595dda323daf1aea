#include "hermetic/task/task_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hermetic::task {
namespace {

using nlohmann::json;

Durations lasting(int milliseconds) {
  const std::chrono::milliseconds time(milliseconds);
  return {.setup = time, .guard = 2 * time, .command = 3 * time, .cleanup = 4 * time};
}

TEST(TaskMetrics, HaveAllKeys) {
  const json metrics = json::parse(task_metrics({}));
  for (const char* key :
       {"bytes_per_solve", "tokens_prefill", "tokens_decode", "message_path_ms_p95",
        "mcp_deref_ms_p95", "sae_accept_rate", "rollback_ms_p95", "pass_at_1", "e2e_latency_ms_p50",
        "e2e_latency_ms_p95", "command_ms_p50", "command_ms_p95", "sandbox_setup_ms_p50",
        "sandbox_cleanup_ms_p95", "network_guard_install_ms"}) {
    ASSERT_TRUE(metrics.contains(key)) << key;
    EXPECT_TRUE(metrics[key].is_null()) << key;
  }
  EXPECT_EQ(metrics["runs"], 0);
}

TEST(TaskMetrics, AreOverAllRuns) {
  std::vector<Durations> runs;
  for (int i = 100; i >= 1; --i) runs.push_back(lasting(i));
  const json metrics = json::parse(task_metrics(runs));
  EXPECT_EQ(metrics["runs"], 100);
  EXPECT_EQ(metrics["sandbox_setup_ms_p50"], 50.0);
  EXPECT_EQ(metrics["network_guard_install_ms"], 100.0);
  EXPECT_EQ(metrics["command_ms_p50"], 150.0);
  EXPECT_EQ(metrics["command_ms_p95"], 285.0);
  EXPECT_TRUE(metrics["e2e_latency_ms_p50"].is_null());  // of a model, which is not measured here
  EXPECT_EQ(metrics["sandbox_cleanup_ms_p95"], 380.0);
}

TEST(TaskMetrics, OfOneRunAreThatRun) {
  const json metrics = json::parse(task_metrics({lasting(7)}));
  EXPECT_EQ(metrics["sandbox_setup_ms_p50"], 7.0);
  EXPECT_EQ(metrics["command_ms_p95"], 21.0);
}

}  // namespace
}  // namespace hermetic::task
