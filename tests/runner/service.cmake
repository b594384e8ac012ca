# Store, scheduler, promotion and the service itself: in process, with real SQLite and real git.
find_package(nlohmann_json REQUIRED)

proofhouse_test(runner_core_test
  SOURCES
    ../support/evidence_builder.cc
    attack_http_test.cc
    attack_promotion_test.cc
    benchmark_ledger_test.cc
    benchmark_plot_test.cc
    config_test.cc
    fake_executor.cc
    house.cc
    promotion_test.cc
    proofs_test.cc
    report_test.cc
    retention_test.cc
    scheduler_test.cc
    service_main.cc
    service_test.cc
    store_test.cc
  LIBS runner_core runner_http runner_git_client tasks_ingest nlohmann_json::nlohmann_json
  PROGRAMS proofhouse)
