# How tests are declared. Included by tests/CMakeLists.txt.
#
# PROOFHOUSE_TESTS says which tests this build tree holds:
#   unit  the test binary of each folder: libraries, linked in process (and sanitized, where
#         PROOFHOUSE_SANITIZE is set)
#   e2e   tests that start the built programs as a user does
#   all   both, what one works with;  none  no tests
# PROOFHOUSE_PROGRAM_DIR is where the tests find the programs (jail, attempt, ...). Empty means
# this tree's own bin/. A sanitized tree has no programs and points to a plain tree's.

# The targets unit_tests and e2e_tests build the tests of one kind and what they start.

include(GoogleTest)
find_package(GTest REQUIRED)

set(PROOFHOUSE_TESTS "all" CACHE STRING "Tests of this build tree: unit, e2e, all or none")
set_property(CACHE PROOFHOUSE_TESTS PROPERTY STRINGS unit e2e all none)
if(NOT PROOFHOUSE_TESTS MATCHES "^(unit|e2e|all|none)$")
  message(FATAL_ERROR "PROOFHOUSE_TESTS is unit, e2e, all or none, not ${PROOFHOUSE_TESTS}")
endif()
set(PROOFHOUSE_PROGRAM_DIR "" CACHE PATH "Where tests find the programs; empty: this tree's bin/")

if(PROOFHOUSE_PROGRAM_DIR)
  set(PROOFHOUSE_TEST_PROGRAM_DIR "${PROOFHOUSE_PROGRAM_DIR}")
else()
  set(PROOFHOUSE_TEST_PROGRAM_DIR "${PROJECT_BINARY_DIR}/bin")
endif()

add_custom_target(unit_tests)
add_custom_target(e2e_tests)

# proofhouse_test(NAME [KIND unit|e2e] SOURCES file... [LIBS target...] [PROGRAMS target...]
#                 [GUESTS target...] [LABELS label...] [TIMEOUT seconds] [SERIAL])
#
# Adds the GoogleTest binary NAME, one ctest case for each TEST. Does nothing where this tree
# does not hold tests of that KIND (default unit). The label is the name of the folder that calls
# it, plus KIND e2e and the given LABELS (needs_root, qemu, ...). PROGRAMS and GUESTS are built
# before it (PROGRAMS only in a tree whose tests use its own). TIMEOUT (60 s by default) is for
# one case; while a SERIAL case runs, no other does. Guests are sought in this tree's bin/guests.
function(proofhouse_test NAME)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "SERIAL" "KIND;TIMEOUT"
                        "SOURCES;LIBS;PROGRAMS;GUESTS;LABELS")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "proofhouse_test(${NAME}): unknown ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_KIND)
    set(ARG_KIND unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 60)
  endif()
  if(NOT PROOFHOUSE_TESTS STREQUAL "all" AND NOT PROOFHOUSE_TESTS STREQUAL ARG_KIND)
    return()
  endif()

  add_executable(${NAME} ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE
    ${ARG_LIBS} proofhouse_test_support GTest::gtest GTest::gtest_main
    project_warnings project_sanitizers)
  set_target_properties(${NAME} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  set(started ${ARG_GUESTS})
  if(NOT PROOFHOUSE_PROGRAM_DIR)
    list(APPEND started ${ARG_PROGRAMS})
  endif()
  foreach(target IN LISTS started)
    if(TARGET ${target})
      add_dependencies(${NAME} ${target})
    else()
      message(STATUS "${NAME} runs without ${target}, which this configuration does not build")
    endif()
  endforeach()
  add_dependencies(${ARG_KIND}_tests ${NAME})

  get_filename_component(folder "${CMAKE_CURRENT_SOURCE_DIR}" NAME)
  set(labels ${folder} ${ARG_LABELS})
  if(ARG_KIND STREQUAL "e2e")
    list(APPEND labels e2e)
  endif()
  list(REMOVE_DUPLICATES labels)
  set(serial "")
  if(ARG_SERIAL)
    set(serial RUN_SERIAL TRUE)
  endif()
  # CMake makes ctest see a skipped GoogleTest case as skipped, by SKIP_REGULAR_EXPRESSION.
  gtest_discover_tests(${NAME}
    DISCOVERY_TIMEOUT 120
    PROPERTIES TIMEOUT ${ARG_TIMEOUT} ${serial})
  # gtest_discover_tests flattens a list given as a property (3.25), so the labels are set in a
  # file of their own, which ctest reads after that of the cases.
  set(labels_file "${CMAKE_CURRENT_BINARY_DIR}/${NAME}_labels.cmake")
  file(WRITE "${labels_file}" "if(${NAME}_TESTS)
  set_tests_properties(\${${NAME}_TESTS} PROPERTIES LABELS \"${labels}\")
endif()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${labels_file}")
endfunction()

# proofhouse_guest(NAME SOURCES file... [STATIC] [LIBS target...])
#
# Adds a small program that tests run inside the sandbox, as bin/guests/NAME; never sanitized.
function(proofhouse_guest NAME)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "STATIC" "" "SOURCES;LIBS")
  if(PROOFHOUSE_TESTS STREQUAL "none")
    return()
  endif()
  add_executable(${NAME} ${ARG_SOURCES})
  target_link_libraries(${NAME} PRIVATE ${ARG_LIBS} project_warnings)
  if(ARG_STATIC)
    target_link_options(${NAME} PRIVATE -static)
  endif()
  set_target_properties(${NAME} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin/guests")
endfunction()

# proofhouse_bench(NAME SOURCES file... [LIBS target...] [PROGRAMS target...])
#
# Adds the Google Benchmark program NAME_bench, which `./dev bench NAME` builds and runs.
if(NOT TARGET benches)
  add_custom_target(benches)
endif()
function(proofhouse_bench NAME)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "SOURCES;LIBS;PROGRAMS")
  find_package(benchmark REQUIRED)
  add_executable(${NAME}_bench ${ARG_SOURCES})
  target_link_libraries(${NAME}_bench PRIVATE
    ${ARG_LIBS} proofhouse_test_support benchmark::benchmark project_warnings)
  set_target_properties(${NAME}_bench PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
  if(ARG_PROGRAMS)
    add_dependencies(${NAME}_bench ${ARG_PROGRAMS})
  endif()
  add_dependencies(benches ${NAME}_bench)
endfunction()
