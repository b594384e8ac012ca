# project_sanitizers: instrumentation for the libraries and their unit tests.
#
# PROOFHOUSE_SANITIZE is empty or a comma-separated list as -fsanitize= takes it, for example
# "address,undefined" or "thread". The programs and the guests of the tests are never built with
# it (a sanitized process dies under our seccomp filter and RLIMIT_AS): a sanitized build tree
# holds libraries and unit tests only, and its tests start the programs of a plain build tree,
# see PROOFHOUSE_PROGRAM_DIR in cmake/testing.cmake.

set(PROOFHOUSE_SANITIZE "" CACHE STRING "Sanitizers for libraries and unit tests, as -fsanitize=")

add_library(project_sanitizers INTERFACE)
if(PROOFHOUSE_SANITIZE)
  target_compile_options(project_sanitizers INTERFACE
    -fsanitize=${PROOFHOUSE_SANITIZE}
    -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  # Instrumentation leaves millions of addresses in the data: moved to where the program happens to
  # lie, they were most of the time that a test program takes to start.
  target_link_options(project_sanitizers INTERFACE -fsanitize=${PROOFHOUSE_SANITIZE} -no-pie)
endif()
