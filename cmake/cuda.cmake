# CUDA sources, compiled by nvcc itself where it is there: CMake 3.25 does not know that nvcc takes
# C++20. Nothing of the driver is needed for that, and no GPU. A sanitized tree has none.

# Ampere (A100) and Hopper (H100, H200); what is younger takes the PTX of the last.
set(PROOFHOUSE_CUDA_FLAGS -std=c++20 -O2 -Werror all-warnings
  -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90
  -gencode arch=compute_90,code=compute_90)

find_program(PROOFHOUSE_NVCC nvcc PATHS /usr/local/cuda/bin)
if(NOT PROOFHOUSE_NVCC OR PROOFHOUSE_SANITIZE)
  message(STATUS "CUDA sources are not built: no nvcc, or a sanitized tree")
endif()

# proofhouse_cuda(NAME SOURCE file OUTPUT file [FLAGS flag...])
#
# Adds the target NAME, which makes OUTPUT from SOURCE: a program, or what FLAGS say. Adds nothing
# where there is no nvcc.
function(proofhouse_cuda NAME)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "SOURCE;OUTPUT" "FLAGS")
  if(NOT PROOFHOUSE_NVCC OR PROOFHOUSE_SANITIZE)
    return()
  endif()
  get_filename_component(folder "${ARG_OUTPUT}" DIRECTORY)
  add_custom_command(
    OUTPUT "${ARG_OUTPUT}"
    COMMAND ${CMAKE_COMMAND} -E make_directory "${folder}"
    COMMAND ${PROOFHOUSE_NVCC} ${PROOFHOUSE_CUDA_FLAGS} -cudart static ${ARG_FLAGS}
      -o "${ARG_OUTPUT}" "${CMAKE_CURRENT_SOURCE_DIR}/${ARG_SOURCE}"
    DEPENDS "${ARG_SOURCE}"
    COMMENT "nvcc ${NAME}"
    VERBATIM)
  add_custom_target(${NAME} DEPENDS "${ARG_OUTPUT}")
endfunction()
