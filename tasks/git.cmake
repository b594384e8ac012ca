# Git by libgit2. Stands apart from `tasks`, so that only who reads repositories links the library.
find_package(PkgConfig REQUIRED)
pkg_check_modules(LIBGIT2 REQUIRED IMPORTED_TARGET libgit2>=1.5.1)

add_library(tasks_git STATIC
  git.cc
  git_diff.cc
  git_diff_view.cc
  git_files.cc
  git_history.cc
  git_hunks.cc
  git_notes.cc
  git_pack.cc
  git_patch.cc
  git_patch_text.cc
  git_refs.cc
  git_remote.cc
  git_tree.cc)
target_include_directories(tasks_git PUBLIC ${CMAKE_SOURCE_DIR})
target_link_libraries(tasks_git PUBLIC tasks sandbox_os PRIVATE PkgConfig::LIBGIT2 project_warnings
  project_sanitizers)
