# bindings/c: the C ABI, a shared object that shows its own functions and nothing else. The program does not
# use it: loading shared objects would cost more than a short run.
file(GLOB binding_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/bindings/c/*.cc")
if(NOT TARGET hermetic_backends_linux OR HERMETIC_FUZZ)
  return()
endif()

# The two files of the program are what its users and those of the library must agree upon.
add_library(hermetic_shared SHARED ${binding_sources} "${PROJECT_SOURCE_DIR}/src/cli/backends.cc"
                                   "${PROJECT_SOURCE_DIR}/src/cli/exit_code.cc")
set(symbols "${PROJECT_SOURCE_DIR}/bindings/c/hermetic.map")
set_target_properties(hermetic_shared PROPERTIES
  OUTPUT_NAME hermetic VERSION 0 SOVERSION 0 LINK_DEPENDS "${symbols}"
  CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
target_compile_definitions(hermetic_shared PRIVATE HERMETIC_VERSION="${PROJECT_VERSION}")
target_include_directories(hermetic_shared PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(hermetic_shared PRIVATE hermetic_options hermetic::hermetic)
# Bound at once: the child of a run borrows this memory and must not have to look for functions.
target_link_options(hermetic_shared PRIVATE
  "LINKER:--version-script=${symbols}" LINKER:--exclude-libs,ALL LINKER:-z,now LINKER:--gc-sections)
if(HERMETIC_STATIC_PROGRAM)
  # What users get does not depend on their C++ library. libgcc_s is the system's: the static one asks for
  # _dl_find_object, which no glibc before 2.35 has.
  target_link_options(hermetic_shared PRIVATE -static-libstdc++ -shared-libgcc)
  hermetic_separate_debug(hermetic_shared)
endif()
if(NOT HERMETIC_SANITIZE) # whose functions come with the program
  target_link_options(hermetic_shared PRIVATE LINKER:--no-undefined)
endif()
