# The sandbox: one library for whoever asks for sandboxes, one program that makes them.
find_package(nlohmann_json REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(seccomp REQUIRED IMPORTED_TARGET libseccomp)

add_library(sandbox STATIC
  cgroup.cc
  cgroup_devices.cc
  cgroup_files.cc
  cgroup_host.cc
  cgroup_limits.cc
  host.cc
  host_probe.cc
  mount_plan.cc
  outcome.cc
  overlay.cc
  seccomp_policy.cc
  wire.cc
  wire_json.cc)
target_link_libraries(sandbox PUBLIC sandbox_os nlohmann_json::nlohmann_json
  PRIVATE fmt::fmt PkgConfig::seccomp project_warnings project_sanitizers)

if(PROOFHOUSE_RUNNER)
  # Starting a jail needs Boost.Process; being one does not.
  target_sources(sandbox PRIVATE jail_client.cc)
  target_link_libraries(sandbox PUBLIC sandbox_process)

  # The single-threaded program that makes sandboxes; never sanitized, it runs as root.
  add_executable(jail
    jail/client.cc
    jail/collect.cc
    jail/copy.cc
    jail/execution.cc
    jail/jail.cc
    jail/lockdown.cc
    jail/main.cc
    jail/mounts.cc
    jail/namespaces.cc
    jail/output.cc
    jail/publish.cc
    jail/run.cc
    jail/stage.cc
    jail/supervisor.cc
    jail/validate.cc
    jail/views.cc
    jail/workspaces.cc)
  target_link_libraries(jail PRIVATE sandbox fmt::fmt project_warnings)
  target_link_options(jail PRIVATE -Wl,--as-needed)
endif()
