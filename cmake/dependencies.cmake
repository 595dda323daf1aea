# What is taken from others, and why: docs/decisions/0003-dependencies.md.
# The program is linked statically in release, so the archives are wanted, not the shared objects.
if(HERMETIC_STATIC_PROGRAM)
  set(OPENSSL_USE_STATIC_LIBS ON)
  set(hermetic_suffixes ${CMAKE_FIND_LIBRARY_SUFFIXES})
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
endif()

find_package(fmt REQUIRED CONFIG)
find_package(nlohmann_json REQUIRED CONFIG)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(PkgConfig REQUIRED)
pkg_check_modules(yaml REQUIRED IMPORTED_TARGET yaml-0.1)
pkg_check_modules(sodium REQUIRED IMPORTED_TARGET libsodium)
if(CMAKE_SYSTEM_NAME STREQUAL Linux)
  pkg_check_modules(seccomp REQUIRED IMPORTED_TARGET libseccomp)
endif()

if(HERMETIC_STATIC_PROGRAM)
  set(CMAKE_FIND_LIBRARY_SUFFIXES ${hermetic_suffixes})
endif()
