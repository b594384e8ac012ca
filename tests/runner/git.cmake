# The git helper, started as serve starts it.
proofhouse_guest(git_helper_program SOURCES git_helper_program.cc LIBS runner_git_helper)
if(TARGET tests_git_fixture)
  proofhouse_test(runner_git_test
    SOURCES ../support/git_server.cc git_helper_test.cc
    LIBS runner_git_client runner_git_helper tests_git_fixture
    GUESTS git_helper_program)
endif()
