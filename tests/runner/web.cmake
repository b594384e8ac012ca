# The pages, over a service in process.
proofhouse_test(runner_web_test
  SOURCES
    ../support/evidence_builder.cc
    fake_executor.cc
    house.cc
    service_main.cc
    visitor.cc
    web_parts_test.cc
    web_test.cc
  LIBS runner_web runner_git_client tasks_ingest
  PROGRAMS proofhouse)
