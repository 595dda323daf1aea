# What the Linux backend carries inside: pid 1 of a sandbox, and the system-call filters.
file(GLOB hermetic_init_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/init/*.cc")
if(NOT TARGET hermetic_backends_linux)
  return()
endif()

# Small and alone: no C library, no sanitizer, nothing to load inside the sandbox.
add_executable(hermetic_init ${hermetic_init_sources})
set_target_properties(hermetic_init PROPERTIES
  OUTPUT_NAME hermetic-init POSITION_INDEPENDENT_CODE OFF UNITY_BUILD OFF)
target_include_directories(hermetic_init PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(hermetic_init PRIVATE hermetic_options)
target_compile_options(hermetic_init PRIVATE
  -O2 -ffreestanding -fno-exceptions -fno-rtti -fno-stack-protector -fno-asynchronous-unwind-tables -fno-pic
  -fno-sanitize=all -fcf-protection=none -U_GLIBCXX_ASSERTIONS)
target_link_options(hermetic_init PRIVATE
  -nostdlib -static -no-pie -fno-sanitize=all -Wl,--build-id=none -Wl,-z,noexecstack -Wl,--strip-all)

# Loaded into the programs of others: no C library of our own, and nothing that needs one.
add_library(hermetic_spy MODULE "${PROJECT_SOURCE_DIR}/src/spy/getenv.cc")
set_target_properties(hermetic_spy PROPERTIES PREFIX "" OUTPUT_NAME hermetic-spy)
target_include_directories(hermetic_spy PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(hermetic_spy PRIVATE hermetic_options)
target_compile_options(hermetic_spy PRIVATE
  -O2 -ffreestanding -fno-exceptions -fno-rtti -fno-stack-protector -fno-asynchronous-unwind-tables -fPIC
  -fvisibility=hidden -fno-sanitize=all -fcf-protection=none -U_GLIBCXX_ASSERTIONS)
target_link_options(hermetic_spy PRIVATE
  -nostdlib -fno-sanitize=all -Wl,--build-id=none -Wl,-z,noexecstack -Wl,--strip-all -Wl,--unresolved-symbols=ignore-all)

# Compiled by libseccomp now, so that a run does not have to.
add_executable(make_filters "${PROJECT_SOURCE_DIR}/tools/make_filters.cc")
target_include_directories(make_filters PRIVATE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(make_filters PRIVATE hermetic_options PkgConfig::seccomp)
target_compile_options(make_filters PRIVATE -fno-sanitize=all)
target_link_options(make_filters PRIVATE -fno-sanitize=all)
set(filters "${PROJECT_BINARY_DIR}/generated/seccomp_filters.inc")
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/generated")
add_custom_command(OUTPUT "${filters}" DEPENDS make_filters VERBATIM
  COMMAND make_filters > "${filters}" COMMENT "Compiling the system-call filters")

set(backend "${PROJECT_SOURCE_DIR}/src/hermetic/backends/linux")
target_include_directories(hermetic_backends_linux PRIVATE "${PROJECT_BINARY_DIR}/generated")
set_property(SOURCE "${backend}/seccomp_filter.cc" APPEND PROPERTY OBJECT_DEPENDS "${filters}")
set_property(SOURCE "${backend}/seccomp_filter.cc" PROPERTY SKIP_UNITY_BUILD_INCLUSION ON) # or it is not waited for
set(image "${PROJECT_BINARY_DIR}/generated/hermetic-init")
add_custom_command(OUTPUT "${image}" DEPENDS hermetic_init VERBATIM
  COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:hermetic_init> "${image}")
set_property(SOURCE "${backend}/init_image.cc" APPEND PROPERTY OBJECT_DEPENDS "${image}")
set_property(SOURCE "${backend}/init_image.cc" APPEND PROPERTY COMPILE_DEFINITIONS
             "HERMETIC_INIT_PATH=\"${image}\"")
set(spy "${PROJECT_BINARY_DIR}/generated/hermetic-spy.so")
add_custom_command(OUTPUT "${spy}" DEPENDS hermetic_spy VERBATIM
  COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:hermetic_spy> "${spy}")
set_property(SOURCE "${backend}/spy_image.cc" APPEND PROPERTY OBJECT_DEPENDS "${spy}")
set_property(SOURCE "${backend}/spy_image.cc" APPEND PROPERTY COMPILE_DEFINITIONS
             "HERMETIC_SPY_PATH=\"${spy}\"")
add_dependencies(hermetic_backends_linux hermetic_init hermetic_spy make_filters)

# The child runs in the memory of its parent: nothing of a sanitizer or of the C++ runtime may get in between.
set_property(SOURCE "${backend}/child.cc" APPEND PROPERTY COMPILE_OPTIONS
             -fno-exceptions -fno-rtti -fno-sanitize=all -fno-stack-protector -U_FORTIFY_SOURCE)
