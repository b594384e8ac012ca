# Tests of `sandbox run` and `doctor`.
if(TARGET runner_sandbox_cli)
  proofhouse_test(sandbox_run_options_test
    SOURCES sandbox_run_options_test.cc
    LIBS runner_sandbox_cli)
  proofhouse_test(sandbox_run_test KIND e2e
    SOURCES sandbox_run_test.cc
    LIBS fake_gpus sandbox_process nlohmann_json::nlohmann_json
    PROGRAMS proofhouse jail
    TIMEOUT 120
    LABELS needs_root)
endif()
