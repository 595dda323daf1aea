# fuzz/fuzz_NAME.cc or fuzz/NAME_fuzz.cc becomes the program fuzz_NAME, with its corpus in
# fuzz/corpus/NAME. ctest -C Long runs each for a minute.
file(GLOB fuzz_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/fuzz/fuzz_*.cc"
                                         "${PROJECT_SOURCE_DIR}/fuzz/*_fuzz.cc")
foreach(source IN LISTS fuzz_sources)
  cmake_path(GET source STEM name)
  string(REGEX REPLACE "^fuzz_|_fuzz$" "" name ${name})
  add_executable(fuzz_${name} ${source})
  target_link_libraries(fuzz_${name} PRIVATE hermetic_options hermetic::hermetic)
  target_compile_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  # What is found new goes to the build folder; the corpus in the tree is chosen by hand.
  set(found "${PROJECT_BINARY_DIR}/corpus/${name}")
  set(seeds "${PROJECT_SOURCE_DIR}/fuzz/corpus/${name}")
  file(MAKE_DIRECTORY "${found}")
  file(GLOB dictionary "${PROJECT_SOURCE_DIR}/fuzz/${name}.dict")
  list(TRANSFORM dictionary PREPEND -dict=)
  if(NOT EXISTS "${seeds}")
    set(seeds)
  endif()
  add_test(NAME fuzz/${name} CONFIGURATIONS Long
           COMMAND fuzz_${name} -max_total_time=60 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1
                   -artifact_prefix=${PROJECT_BINARY_DIR}/${name}- ${dictionary} ${found} ${seeds})
  set_tests_properties(fuzz/${name} PROPERTIES LABELS fuzz TIMEOUT 240)
endforeach()
