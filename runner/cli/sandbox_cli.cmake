# `sandbox run` and `doctor`: what the command line does with sandboxes itself.
add_library(runner_sandbox_cli STATIC
  doctor.cc
  sandbox_gpus.cc
  sandbox_run.cc
  sandbox_run_options.cc)
target_include_directories(runner_sandbox_cli PUBLIC ${CMAKE_SOURCE_DIR})
target_link_libraries(runner_sandbox_cli PUBLIC sandbox sandbox_gpu PRIVATE runner_cli_core fmt::fmt
  nlohmann_json::nlohmann_json project_warnings project_sanitizers)
