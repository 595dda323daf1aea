# man/NAME.SECTION.scd becomes man/NAME.SECTION in the build folder.
find_program(SCDOC scdoc)
mark_as_advanced(SCDOC)
file(GLOB hermetic_man_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/man/*.scd")
set(hermetic_man_pages)
if(SCDOC)
  foreach(source IN LISTS hermetic_man_sources)
    cmake_path(GET source STEM LAST_ONLY page)
    set(output "${PROJECT_BINARY_DIR}/man/${page}")
    # SOURCE_DATE_EPOCH: the date in the footer is not the date of the build.
    add_custom_command(
      OUTPUT "${output}" DEPENDS "${source}" VERBATIM
      COMMAND ${CMAKE_COMMAND} -E make_directory "${PROJECT_BINARY_DIR}/man"
      COMMAND ${CMAKE_COMMAND} -E env SOURCE_DATE_EPOCH=1767225600 sh -c "\"$0\" < \"$1\" > \"$2\""
              "${SCDOC}" "${source}" "${output}")
    list(APPEND hermetic_man_pages "${output}")
  endforeach()
endif()
add_custom_target(man_pages ALL DEPENDS ${hermetic_man_pages})
