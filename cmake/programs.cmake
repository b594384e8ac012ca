# The target `programs`: what one installs, all of it side by side in bin/. Included after every
# folder. A program that this configuration does not build is left out.
add_custom_target(programs)
foreach(program proofhouse attempt jail ingest reader)
  if(TARGET ${program})
    add_dependencies(programs ${program})
  endif()
endforeach()
