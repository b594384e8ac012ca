# proofhouse_httplib: cpp-httplib >= 0.18 as a small static library of its own.
#
# `./dev setup` unpacks Debian's patched source into build/deps/httplib/tree. That tree is
# preferred to an installed package: a distribution's shared library is built without
# CPPHTTPLIB_USE_POLL, and select(2) fails from descriptor 1024 on.
# One translation unit of the whole header costs 13 CPU s, so the header is split by its own
# split.py and compiled once. The definitions are PUBLIC, because two translation units that
# disagree on them break the one-definition rule. TLS is left out: the service listens on
# loopback, a proxy in front of it speaks TLS.

set(PROOFHOUSE_HTTPLIB_DIR "${PROJECT_SOURCE_DIR}/build/deps/httplib/tree"
    CACHE PATH "Unpacked source of cpp-httplib (holds httplib.h and split.py)")

set(_httplib_header "${PROOFHOUSE_HTTPLIB_DIR}/httplib.h")
find_package(Threads REQUIRED)

if(EXISTS "${_httplib_header}")
  file(STRINGS "${_httplib_header}" _httplib_version_line
       REGEX "^#define CPPHTTPLIB_VERSION \"" LIMIT_COUNT 1)
  string(REGEX REPLACE ".*\"([0-9.]+)\".*" "\\1" _httplib_version "${_httplib_version_line}")
  if(_httplib_version VERSION_LESS 0.18.7)
    message(FATAL_ERROR "cpp-httplib in ${PROOFHOUSE_HTTPLIB_DIR} is ${_httplib_version}, "
                        "0.18.7 or newer is needed. Remove build/deps/httplib, run ./dev setup.")
  endif()
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(_httplib_out "${PROJECT_BINARY_DIR}/httplib")
  if("${_httplib_header}" IS_NEWER_THAN "${_httplib_out}/httplib.cc")
    execute_process(
      COMMAND "${Python3_EXECUTABLE}" "${PROOFHOUSE_HTTPLIB_DIR}/split.py" -o "${_httplib_out}"
      WORKING_DIRECTORY "${PROOFHOUSE_HTTPLIB_DIR}"
      OUTPUT_QUIET
      COMMAND_ERROR_IS_FATAL ANY)
  endif()
  add_library(proofhouse_httplib STATIC "${_httplib_out}/httplib.cc")
  target_include_directories(proofhouse_httplib SYSTEM PUBLIC "${_httplib_out}")
  target_compile_features(proofhouse_httplib PUBLIC cxx_std_23)
  target_compile_definitions(proofhouse_httplib PUBLIC
    CPPHTTPLIB_USE_POLL
    CPPHTTPLIB_LISTEN_BACKLOG=1024
    CPPHTTPLIB_FORM_URL_ENCODED_PAYLOAD_MAX_LENGTH=65536)
  target_link_libraries(proofhouse_httplib PUBLIC Threads::Threads PRIVATE project_sanitizers)
  message(STATUS "cpp-httplib ${_httplib_version} from ${PROOFHOUSE_HTTPLIB_DIR}")
else()
  find_package(httplib 0.18 CONFIG QUIET)
  if(NOT httplib_FOUND)
    message(FATAL_ERROR "cpp-httplib >= 0.18.7 is missing. Run ./dev setup, which fetches it into "
                        "build/deps/httplib, or configure with -DPROOFHOUSE_RUNNER=OFF.")
  endif()
  add_library(proofhouse_httplib INTERFACE)
  target_link_libraries(proofhouse_httplib INTERFACE httplib::httplib Threads::Threads)
  message(STATUS "cpp-httplib ${httplib_VERSION} of the system")
endif()
