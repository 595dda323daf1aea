# The program. All of it but main() is compiled once, for itself and for its tests.
file(GLOB hermetic_cli_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/cli/*.cc")
if(hermetic_cli_sources)
  list(FILTER hermetic_cli_sources EXCLUDE REGEX "/main\\.cc$")
  add_library(hermetic_commands OBJECT ${hermetic_cli_sources})
  set_target_properties(hermetic_commands PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(hermetic_commands PRIVATE -fPIE) # as programs are compiled
  target_compile_definitions(hermetic_commands PRIVATE HERMETIC_VERSION="${PROJECT_VERSION}")
  target_include_directories(hermetic_commands PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(hermetic_commands PRIVATE hermetic_options hermetic::hermetic)
  add_executable(hermetic_cli "${PROJECT_SOURCE_DIR}/src/cli/main.cc"
                              $<TARGET_OBJECTS:hermetic_commands>)
  set_target_properties(hermetic_cli PROPERTIES OUTPUT_NAME hermetic)
  target_include_directories(hermetic_cli PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_compile_definitions(hermetic_cli PRIVATE HERMETIC_VERSION="${PROJECT_VERSION}")
  target_link_libraries(hermetic_cli PRIVATE hermetic_options hermetic::hermetic)
  if(HERMETIC_STATIC_PROGRAM)
    # Loading shared objects would cost more than the rest of a short run.
    target_link_options(hermetic_cli PRIVATE -static -Wl,--gc-sections)
    hermetic_separate_debug(hermetic_cli)
  endif()
endif()
