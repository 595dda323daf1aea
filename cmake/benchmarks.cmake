# benchmarks/NAME_bench.cc becomes the program NAME_bench. Where there are tests they are built with the
# rest and each is run for a moment, without the largest sizes, so that they keep working (not under a sanitizer: what it measures is
# not the program); elsewhere only by "--target benchmarks".
find_package(benchmark QUIET CONFIG)
file(GLOB bench_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/benchmarks/*_bench.cc")
if(NOT benchmark_FOUND OR HERMETIC_FUZZ OR HERMETIC_SANITIZE)
  set(bench_sources)
endif()
add_custom_target(benchmarks)
foreach(source IN LISTS bench_sources)
  cmake_path(GET source STEM name)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE hermetic_options hermetic::hermetic benchmark::benchmark)
  add_dependencies(benchmarks ${name})
  if(HERMETIC_TESTS)
    add_test(NAME ${HERMETIC_TEST_PREFIX}benchmark/${name}
             COMMAND ${name} --benchmark_min_time=0.01 --benchmark_filter=-100000)
    set_tests_properties(${HERMETIC_TEST_PREFIX}benchmark/${name}
                         PROPERTIES LABELS benchmark TIMEOUT 120)
  else()
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endforeach()

# Started by benchmarks/launch.py, which compares it with other programs.
if(TARGET hermetic_backends_linux AND NOT HERMETIC_FUZZ)
  add_executable(execute_loop "${PROJECT_SOURCE_DIR}/benchmarks/execute_loop.cc")
  target_link_libraries(execute_loop PRIVATE hermetic_options hermetic::hermetic)
  add_dependencies(benchmarks execute_loop)
  if(NOT HERMETIC_TESTS)
    set_target_properties(execute_loop PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endif()

# Compares connections through the guard with direct ones: build/release/guard_throughput.
if(TARGET hermetic_guard AND NOT HERMETIC_FUZZ)
  add_executable(guard_throughput "${PROJECT_SOURCE_DIR}/benchmarks/guard_throughput.cc")
  target_include_directories(guard_throughput PRIVATE "${PROJECT_SOURCE_DIR}")
  set_target_properties(guard_throughput PROPERTIES EXCLUDE_FROM_ALL ON HERMETIC_IS_TEST ON)
  target_link_libraries(guard_throughput PRIVATE hermetic_options hermetic::guard)
  add_dependencies(benchmarks guard_throughput)
endif()
