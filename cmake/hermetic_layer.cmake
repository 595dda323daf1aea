# hermetic_layer(name [DEPENDS layer...] [USES library...])
#
# Makes the static library of one folder of src/hermetic. DEPENDS names the layers below it: they must
# have been declared before, so the order of the calls is the order of the layers, and a unit test links
# its own layer and those below only. USES names other people's libraries. A folder without sources is
# no error: its layer has not been written yet. tests/architecture/layers.py reads the same calls.
if(HERMETIC_PRECOMPILE)
  # Compiled once, not for every file: without it the build is most of ./check. Only with sanitizers, so that the
  # other builds see which file forgets to include what it uses.
  set(usual_headers <algorithm> <functional> <map> <memory> <optional> <set> <string> <variant> <vector>
                    <fmt/format.h>)
  function(hermetic_headers name)
    add_library(${name} OBJECT "${PROJECT_SOURCE_DIR}/cmake/source_headers.cc")
    if(CMAKE_CXX_COMPILER_ID STREQUAL Clang) # the compiler cache compares contents, not times
      target_compile_options(${name} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
    endif()
    target_link_libraries(${name} PRIVATE hermetic_options)
    target_precompile_headers(${name} PRIVATE ${ARGN})
  endfunction()
  hermetic_headers(source_headers ${usual_headers})
  hermetic_headers(json_headers ${usual_headers} <nlohmann/json.hpp>)
endif()

function(hermetic_layer name)
  cmake_parse_arguments(LAYER "" "" "DEPENDS;USES" ${ARGN})
  get_property(known GLOBAL PROPERTY HERMETIC_LAYERS)
  foreach(below IN LISTS LAYER_DEPENDS)
    if(NOT below IN_LIST known)
      message(FATAL_ERROR "layer ${name} depends on ${below}, which is not declared before it")
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY HERMETIC_LAYERS ${name})

  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/hermetic/${name}/*.cc")
  file(GLOB headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/hermetic/${name}/*.h")
  if(NOT sources AND NOT headers)
    return()
  endif()
  string(REPLACE "/" "_" id ${name})
  set(below ${LAYER_DEPENDS})
  list(TRANSFORM below REPLACE "/" "_")
  list(TRANSFORM below PREPEND hermetic_)
  set(written)
  foreach(layer IN LISTS below)
    if(TARGET ${layer})
      list(APPEND written ${layer})
    endif()
  endforeach()

  if(sources)
    add_library(hermetic_${id} STATIC ${sources})
    set(scope PUBLIC)
    target_link_libraries(hermetic_${id} PRIVATE hermetic_options)
    if(HERMETIC_PRECOMPILE)
      if(nlohmann_json::nlohmann_json IN_LIST LAYER_USES)
        target_precompile_headers(hermetic_${id} REUSE_FROM json_headers)
      else()
        target_precompile_headers(hermetic_${id} REUSE_FROM source_headers)
      endif()
      # Compiled without exceptions, which what is precompiled has.
      set_source_files_properties("${PROJECT_SOURCE_DIR}/src/hermetic/backends/linux/child.cc"
                                  PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
    set_property(GLOBAL APPEND PROPERTY HERMETIC_OBJECTS $<TARGET_OBJECTS:hermetic_${id}>)
  else() # types only
    add_library(hermetic_${id} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(hermetic::${id} ALIAS hermetic_${id})
  target_include_directories(hermetic_${id} ${scope} "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(hermetic_${id} ${scope} ${written} ${LAYER_USES})
  set_property(GLOBAL APPEND PROPERTY HERMETIC_USES ${LAYER_USES})
endfunction()
