# ccache and a fast linker, where the machine has them. Both only save time, so neither is
# required; a value given on the command line is kept.

if(NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(PROOFHOUSE_CCACHE ccache)
  mark_as_advanced(PROOFHOUSE_CCACHE)
  if(PROOFHOUSE_CCACHE)
    set(CMAKE_C_COMPILER_LAUNCHER ${PROOFHOUSE_CCACHE})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${PROOFHOUSE_CCACHE})
  endif()
endif()

# g++ knows -fuse-ld=mold since 12.1.
if(NOT CMAKE_EXE_LINKER_FLAGS MATCHES "-fuse-ld=")
  find_program(PROOFHOUSE_MOLD mold)
  find_program(PROOFHOUSE_LLD ld.lld)
  mark_as_advanced(PROOFHOUSE_MOLD PROOFHOUSE_LLD)
  if(PROOFHOUSE_MOLD AND NOT (CMAKE_CXX_COMPILER_ID STREQUAL "GNU"
                              AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12.1))
    add_link_options(-fuse-ld=mold)
  elseif(PROOFHOUSE_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
endif()
