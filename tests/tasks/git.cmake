# Git: real repositories, made object by object.
find_package(PkgConfig REQUIRED)
pkg_check_modules(LIBGIT2 REQUIRED IMPORTED_TARGET libgit2)
add_library(tests_git_fixture STATIC git_fixture.cc)
target_link_libraries(tests_git_fixture PUBLIC tasks_git proofhouse_test_support
  PRIVATE PkgConfig::LIBGIT2 project_warnings project_sanitizers)

proofhouse_test(tasks_ingest_test
  SOURCES ingest_fixture.cc ingest_patch_test.cc ingest_commit_test.cc
  LIBS tasks_ingest tests_git_fixture)

proofhouse_test(tasks_git_test SOURCES git_files_test.cc git_test.cc LIBS tests_git_fixture)
