# The program.
file(GLOB hermetic_cli_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/cli/*.cc")
if(hermetic_cli_sources)
  add_executable(hermetic_cli ${hermetic_cli_sources})
  set_target_properties(hermetic_cli PROPERTIES OUTPUT_NAME hermetic)
  target_include_directories(hermetic_cli PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_compile_definitions(hermetic_cli PRIVATE HERMETIC_VERSION="${PROJECT_VERSION}")
  target_link_libraries(hermetic_cli PRIVATE hermetic_options hermetic::hermetic)
  if(HERMETIC_STATIC_PROGRAM)
    # Loading shared objects would cost more than the rest of a short run.
    target_link_options(hermetic_cli PRIVATE -static -Wl,--gc-sections)
  endif()
endif()
