# How every target is compiled.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON) # the archive also goes into shared libraries

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

# The presets but clang compile twenty files of a target at a time (CMAKE_UNITY_BUILD): a fifth of the time, most of
# which goes into the templates of fmt, JSON and the standard library. So the names in unnamed namespaces of one
# layer differ; that every file includes what it uses is seen by the clang preset.

find_program(CCACHE ccache)
mark_as_advanced(CCACHE)
if(CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE}")
endif()

# Linked by all our own targets and by nobody else: our warnings are not our users' warnings.
add_library(hermetic_options INTERFACE)
target_compile_options(hermetic_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual
  -Wformat=2 -Wimplicit-fallthrough -Wundef -Wvla
  # The macros of gtest and rapidcheck are not written for these two.
  $<$<NOT:$<BOOL:$<TARGET_PROPERTY:HERMETIC_IS_TEST>>>:-Wsign-conversion -Wold-style-cast>
  # Designated initialisers leave out what has a default; -Wextra of g++ 12 calls that a mistake.
  -Wno-missing-field-initializers
  # g++ 12 takes what a std::optional holds for uninitialised where it inlines its move.
  $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond -Wlogical-op -Wno-maybe-uninitialized -fno-semantic-interposition>
  # TRY is a statement expression; __extension__ quiets g++, clang needs to be told.
  $<$<CXX_COMPILER_ID:Clang>:-Wno-gnu-statement-expression>
  # __FILE__ is part of messages: relative names keep the build reproducible and short.
  -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=
  $<$<BOOL:${HERMETIC_WERROR}>:-Werror>)

if(HERMETIC_SANITIZE)
  # For everything, so that a layer and its test never disagree. No recovery: the first report fails.
  add_compile_options(-fsanitize=${HERMETIC_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HERMETIC_SANITIZE})
endif()

# hermetic_separate_debug(target): what users get is stripped. Its symbols go to debug/TARGET in the build folder, for
# hermetic-dbgsym_*.deb.
function(hermetic_separate_debug target)
  target_link_options(${target} PRIVATE LINKER:--build-id=sha1)
  set(script "${PROJECT_SOURCE_DIR}/cmake/separate_debug.sh")
  add_custom_command(TARGET ${target} POST_BUILD VERBATIM
    COMMAND "${script}" $<TARGET_FILE:${target}> "${PROJECT_BINARY_DIR}/debug/${target}")
  install(DIRECTORY "${PROJECT_BINARY_DIR}/debug/${target}/" DESTINATION lib/debug COMPONENT debug
          EXCLUDE_FROM_ALL)
endfunction()
