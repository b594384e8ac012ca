# What executes an attempt: speaks with a jail, writes evidence.
add_library(tasks_attempt STATIC
  attempt.cc
  event_log.cc
  evidence_store.cc
  ingest_attempt.cc
  output_manifest.cc
  pair_conditions.cc
  step_compare.cc
  step_gpus.cc
  step_runner.cc)
target_link_libraries(tasks_attempt PUBLIC tasks sandbox PRIVATE project_warnings
  project_sanitizers)
