// What the sets and the decision cost, and what they do not depend on.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "hermetic/plan/model.h"
#include "hermetic/plan/plan.h"
#include "hermetic/spec/path_set.h"
#include "hermetic/spec/spec_builder.h"

namespace hermetic {
namespace {

// "/store/042/17": a thousand folders, however many paths.
std::string path_of(std::int64_t number, const std::string& top = "/store") {
  return top + "/" + std::to_string(number % 1000) + "/" + std::to_string(number / 1000);
}

SpecBuilder builder_of(std::int64_t inputs) {
  SpecBuilder builder({"true"});
  builder.caller_environment({}).lookup(look_up_by_name);
  for (std::int64_t i = 0; i < inputs; ++i) builder.input(path_of(i));
  return builder;
}

void union_of_paths(benchmark::State& state) {
  std::vector<PathSet> sets;
  for (std::int64_t i = 0; i < state.range(0); ++i) sets.push_back(PathSet::tree(path_of(i)));
  for (auto _ : state) benchmark::DoNotOptimize(PathSet::union_of(sets));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(union_of_paths)
    ->RangeMultiplier(10)
    ->Range(1000, 100'000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity();

void tree_with_exceptions(benchmark::State& state) {
  std::vector<std::string> exceptions;
  for (std::int64_t i = 0; i < state.range(0); ++i) exceptions.push_back(path_of(i));
  for (auto _ : state) benchmark::DoNotOptimize(PathSet::tree("/store", exceptions));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(tree_with_exceptions)
    ->RangeMultiplier(10)
    ->Range(1000, 100'000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity();

void difference_of_sets(benchmark::State& state) {
  std::vector<std::string> exceptions;
  for (std::int64_t i = 0; i < state.range(0); ++i) exceptions.push_back(path_of(i));
  const PathSet all = PathSet::tree("/");
  const PathSet most = PathSet::tree("/store", exceptions);
  for (auto _ : state) benchmark::DoNotOptimize(all - most);
}
BENCHMARK(difference_of_sets)->Arg(100'000)->Unit(benchmark::kMillisecond);

// Flat: the number of declarations does not matter.
void decide_by_declarations(benchmark::State& state) {
  const Spec spec = builder_of(state.range(0)).build().value();
  const std::string path = path_of(state.range(0) / 2) + "/a/b/c";
  for (auto _ : state) benchmark::DoNotOptimize(spec.decide(path, Operation::Read));
}
BENCHMARK(decide_by_declarations)->RangeMultiplier(10)->Range(10, 100'000);

// Linear: each component of the path costs the same.
void decide_by_depth(benchmark::State& state) {
  std::string path;
  for (std::int64_t i = 0; i < state.range(0); ++i) path += "/component";
  SpecBuilder builder = builder_of(1000);
  const Spec spec = builder.input(path).build().value();
  for (auto _ : state) benchmark::DoNotOptimize(spec.decide(path, Operation::Read));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(decide_by_depth)->RangeMultiplier(2)->Range(4, 256)->Complexity(benchmark::oN);

void build_spec(benchmark::State& state) {
  const SpecBuilder builder = builder_of(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(builder.build());
  state.SetComplexityN(state.range(0));
}
BENCHMARK(build_spec)
    ->RangeMultiplier(10)
    ->Range(100, 100'000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity();

// The other shape: one input with as many holes, and an output in each.
void build_spec_with_carved_outputs(benchmark::State& state) {
  SpecBuilder builder({"true"});
  builder.caller_environment({}).lookup(look_up_by_name);
  Declaration input{.kind = TreeKind::Input, .path = "/store"};
  for (std::int64_t i = 0; i < state.range(0); ++i) {
    input.exceptions.push_back(path_of(i));
    builder.output(path_of(i));
  }
  builder.declare(input);
  for (auto _ : state) benchmark::DoNotOptimize(builder.build());
  state.SetComplexityN(state.range(0));
}
BENCHMARK(build_spec_with_carved_outputs)
    ->RangeMultiplier(10)
    ->Range(100, 100'000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity();

void make_plan_of_many(benchmark::State& state) {
  const Spec spec = builder_of(state.range(0)).build().value();
  const Capabilities capabilities = model_capabilities();
  for (auto _ : state) benchmark::DoNotOptimize(make_plan(spec, capabilities));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(make_plan_of_many)
    ->RangeMultiplier(10)
    ->Range(100, 100'000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity();

void plan_with_many_exceptions(benchmark::State& state) {
  Declaration input{.kind = TreeKind::Input, .path = "/store"};
  for (std::int64_t i = 0; i < state.range(0); ++i) input.exceptions.push_back(path_of(i));
  SpecBuilder builder({"true"});
  builder.caller_environment({}).lookup(look_up_by_name);
  const Spec spec = builder.declare(input).build().value();
  for (auto _ : state) benchmark::DoNotOptimize(view_of(spec));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(plan_with_many_exceptions)
    ->RangeMultiplier(10)
    ->Range(100, 100'000)
    ->Unit(benchmark::kMillisecond)
    ->Complexity();

void digest_of_many(benchmark::State& state) {
  const Spec spec = builder_of(state.range(0)).build().value();
  for (auto _ : state) benchmark::DoNotOptimize(spec.digest());
}
BENCHMARK(digest_of_many)->Arg(100'000)->Unit(benchmark::kMillisecond);

void subsumes_many(benchmark::State& state) {
  const Spec a = builder_of(state.range(0)).build().value();
  const Spec b = builder_of(state.range(0) / 2).build().value();
  for (auto _ : state) benchmark::DoNotOptimize(subsumes(a, b));
}
BENCHMARK(subsumes_many)->Arg(100'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace hermetic

BENCHMARK_MAIN();
