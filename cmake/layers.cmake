# The map of ARCHITECTURE.md as a table: a layer may use what it DEPENDS on, and what those use.
# This is the only such table; tests/architecture/layers.py holds every #include against it.
hermetic_layer(base USES OpenSSL::Crypto) # and fmt, compiled in base/fmt.cc
hermetic_layer(spec DEPENDS base USES PkgConfig::yaml nlohmann_json::nlohmann_json)
hermetic_layer(plan DEPENDS spec USES nlohmann_json::nlohmann_json)
hermetic_layer(places DEPENDS spec)
hermetic_layer(run DEPENDS plan places)

# Left of the bar.
hermetic_layer(store DEPENDS run)
hermetic_layer(workspace DEPENDS run)
hermetic_layer(record DEPENDS run store USES nlohmann_json::nlohmann_json PkgConfig::sodium)
target_compile_definitions(hermetic_record PRIVATE HERMETIC_VERSION="${PROJECT_VERSION}")

# Right of the bar. lower() is pure and built everywhere; launchers are built on their own system.
hermetic_layer(monitor DEPENDS run)
hermetic_layer(outputs DEPENDS run)
hermetic_layer(backends/none DEPENDS run)
if(CMAKE_SYSTEM_NAME STREQUAL Linux)
  hermetic_layer(backends/observed DEPENDS run)
  hermetic_layer(guard DEPENDS run)
  hermetic_layer(backends/linux DEPENDS run monitor guard outputs)
endif()

hermetic_layer(engine DEPENDS run record store workspace)
hermetic_layer(verify DEPENDS engine)
hermetic_layer(learn DEPENDS engine)
hermetic_layer(gate DEPENDS engine verify learn USES nlohmann_json::nlohmann_json)
hermetic_layer(task DEPENDS engine verify learn USES nlohmann_json::nlohmann_json)
hermetic_layer(sessions DEPENDS engine verify learn)

# What is installed: every layer's objects in one archive.
get_property(hermetic_objects GLOBAL PROPERTY HERMETIC_OBJECTS)
get_property(hermetic_uses GLOBAL PROPERTY HERMETIC_USES)
list(REMOVE_DUPLICATES hermetic_uses)
add_library(hermetic STATIC ${hermetic_objects})
add_library(hermetic::hermetic ALIAS hermetic)
set_target_properties(hermetic PROPERTIES LINKER_LANGUAGE CXX)
target_compile_features(hermetic PUBLIC cxx_std_20)
target_include_directories(hermetic PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
# JSON is compiled in; what stays to be linked is what has archives of its own.
set(hermetic_compiled_in nlohmann_json::nlohmann_json)
set(hermetic_linked ${hermetic_uses})
list(REMOVE_ITEM hermetic_linked ${hermetic_compiled_in})
list(REMOVE_ITEM hermetic_uses ${hermetic_linked})
target_link_libraries(hermetic PRIVATE ${hermetic_linked} PUBLIC "$<BUILD_INTERFACE:${hermetic_uses}>")
