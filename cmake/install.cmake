# cmake --install: library, headers, find_package() and pkg-config files, program, man pages, completions.
# cpack: hermetic_*.deb (the program), libhermetic0_*.deb (the shared object) and libhermetic-dev_*.deb (the archive and
# the headers).
include(CMakePackageConfigHelpers)

set(hermetic_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/hermetic")
install(TARGETS hermetic EXPORT hermetic_targets ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
        COMPONENT dev)
install(DIRECTORY src/hermetic DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT dev
        FILES_MATCHING PATTERN "*.h")
install(EXPORT hermetic_targets NAMESPACE hermetic:: DESTINATION "${hermetic_cmake_dir}"
        FILE hermetic_targets.cmake COMPONENT dev)

# The pkg-config names of what libhermetic.a leaves to be linked.
set(hermetic_pc_requires)
set(hermetic_deb_requires)
foreach(library IN LISTS hermetic_linked)
  if(library STREQUAL "OpenSSL::Crypto")
    list(APPEND hermetic_pc_requires libcrypto)
    list(APPEND hermetic_deb_requires libssl-dev)
  elseif(library STREQUAL "PkgConfig::yaml")
    list(APPEND hermetic_pc_requires yaml-0.1)
    list(APPEND hermetic_deb_requires libyaml-dev)
  elseif(library STREQUAL "PkgConfig::sodium")
    list(APPEND hermetic_pc_requires libsodium)
    list(APPEND hermetic_deb_requires libsodium-dev)
  elseif(library STREQUAL "PkgConfig::seccomp")
    list(APPEND hermetic_pc_requires libseccomp)
    list(APPEND hermetic_deb_requires libseccomp-dev)
  else()
    message(FATAL_ERROR "cmake/install.cmake does not know how users find ${library}")
  endif()
endforeach()
list(JOIN hermetic_pc_requires " " hermetic_pc_requires)

configure_package_config_file(cmake/hermetic-config.cmake.in hermetic-config.cmake
                              INSTALL_DESTINATION "${hermetic_cmake_dir}")
write_basic_package_version_file(hermetic-config-version.cmake COMPATIBILITY SameMinorVersion)
configure_file(cmake/hermetic.pc.in hermetic.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/hermetic-config.cmake"
              "${PROJECT_BINARY_DIR}/hermetic-config-version.cmake"
        DESTINATION "${hermetic_cmake_dir}" COMPONENT dev)
install(FILES "${PROJECT_BINARY_DIR}/hermetic.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
        COMPONENT dev)

# The C ABI. No libhermetic.so: -lhermetic is the archive, for C++.
if(TARGET hermetic_shared)
  install(TARGETS hermetic_shared LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT shared
          NAMELINK_SKIP)
  install(FILES bindings/c/hermetic.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT dev)
  configure_file(cmake/hermetic-c.pc.in hermetic-c.pc @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/hermetic-c.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
          COMPONENT dev)
  install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/libhermetic0" RENAME copyright
          COMPONENT shared)
endif()

if(TARGET hermetic_cli)
  install(TARGETS hermetic_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT program)
endif()
foreach(page IN LISTS hermetic_man_pages)
  cmake_path(GET page EXTENSION LAST_ONLY section)
  string(SUBSTRING "${section}" 1 -1 section)
  install(FILES "${page}" DESTINATION "${CMAKE_INSTALL_MANDIR}/man${section}" COMPONENT program)
endforeach()
install(FILES completions/hermetic.bash RENAME hermetic COMPONENT program
        DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
install(FILES completions/_hermetic COMPONENT program
        DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions")
install(FILES completions/hermetic.fish COMPONENT program
        DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/hermetic" RENAME copyright
        COMPONENT program)
install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/libhermetic-dev" RENAME copyright
        COMPONENT dev)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME hermetic)
set(CPACK_PACKAGE_VENDOR "the hermetic authors")
set(CPACK_PACKAGE_CONTACT "the hermetic authors <hermetic@localhost>")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL program dev)
if(TARGET hermetic_shared)
  list(APPEND CPACK_COMPONENTS_ALL shared)
  list(APPEND hermetic_dev_requires "libhermetic0 (= ${PROJECT_VERSION})")
endif()
if(HERMETIC_STATIC_PROGRAM)
  list(APPEND CPACK_COMPONENTS_ALL debug)
  set(CPACK_DEBIAN_DEBUG_PACKAGE_NAME hermetic-dbgsym)
  set(CPACK_DEBIAN_DEBUG_PACKAGE_SECTION debug)
  set(CPACK_COMPONENT_DEBUG_DESCRIPTION "Debugging symbols of the program and the shared object of hermetic.")
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME hermetic)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION devel)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "${PROJECT_DESCRIPTION}.")
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libhermetic-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
list(PREPEND hermetic_dev_requires ${hermetic_deb_requires})
list(JOIN hermetic_dev_requires ", " CPACK_DEBIAN_DEV_PACKAGE_DEPENDS)
set(CPACK_COMPONENT_DEV_DESCRIPTION "Library and headers of hermetic, for C++ and C programs.")
set(CPACK_DEBIAN_SHARED_PACKAGE_NAME libhermetic0)
set(CPACK_DEBIAN_SHARED_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_SHARED_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_SHARED_DESCRIPTION "The C ABI of hermetic, a shared object for programs in any language.")
# A static program needs nothing; a dynamic one (other presets) gets what it links.
if(HERMETIC_STATIC_PROGRAM)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS OFF)
else()
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
endif()
include(CPack)
