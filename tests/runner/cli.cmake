# The command line: its values in process, and the program as a user starts it.
proofhouse_test(runner_cli_test
  SOURCES ci_report_test.cc cli_test.cc cli_arguments_test.cc prove_test.cc
  LIBS runner_cli)
proofhouse_test(runner_check_test KIND e2e
  SOURCES check_test.cc
  LIBS sandbox_process
  PROGRAMS proofhouse attempt jail ingest reader
  LABELS needs_root
  TIMEOUT 300)
