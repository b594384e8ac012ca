# Statements and the audit log's chain: values only.
find_package(nlohmann_json REQUIRED)
proofhouse_test(runner_attest_test
  SOURCES attest_test.cc
  LIBS runner_attest nlohmann_json::nlohmann_json)
