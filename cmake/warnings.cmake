# project_warnings: the warnings every target of ours is compiled with.
#
# Linked PRIVATE by our own targets and by nothing else, so that third-party code keeps its own
# flags. Warnings become errors only where PROOFHOUSE_WERROR is on (every preset sets it): a
# newer compiler must not stop somebody who only wants to build.

option(PROOFHOUSE_WERROR "Treat compiler warnings as errors" OFF)

add_library(project_warnings INTERFACE)
target_compile_options(project_warnings INTERFACE
  -Wall
  -Wextra
  -Wpedantic
  -Wshadow
  -Wconversion
  -Wsign-conversion
  -Wold-style-cast
  -Wnon-virtual-dtor
  -Woverloaded-virtual
  # Optimised, g++ 12 reports it inside Boost.Asio, nlohmann-json and its own standard library.
  $<$<CONFIG:Debug>:-Wnull-dereference>
  -Wimplicit-fallthrough
  $<$<CXX_COMPILER_ID:GNU>:-Wduplicated-cond>
  $<$<CXX_COMPILER_ID:GNU>:-Wlogical-op>
  # g++ 12 sees overlapping copies in `"text" + std::string` when it optimises (GCC bug 105651).
  $<$<NOT:$<CONFIG:Debug>>:-Wno-restrict>
  # Where several files are compiled as one, what is a file's own looks like a header's.
  $<$<BOOL:${CMAKE_UNITY_BUILD}>:-Wno-subobject-linkage>
  $<$<BOOL:${PROOFHOUSE_WERROR}>:-Werror>)
