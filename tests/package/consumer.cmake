# The CMakeLists.txt of somebody else.
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(hermetic 0.1 REQUIRED)
add_executable(consumer consumer.cc)
target_link_libraries(consumer PRIVATE hermetic::hermetic)
