# The sandbox: one library for whoever asks for sandboxes, one program that makes them.
find_package(nlohmann_json REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(seccomp REQUIRED IMPORTED_TARGET libseccomp)

# Values and their JSON apart, for programs that only read and write them.
add_library(sandbox_wire STATIC environment.cc gpu/desk.cc outcome.cc wire.cc wire_gpu.cc
  wire_json.cc)
target_link_libraries(sandbox_wire PUBLIC sandbox_os nlohmann_json::nlohmann_json
  PRIVATE fmt::fmt project_warnings project_sanitizers)

add_library(sandbox STATIC
  cgroup.cc
  cgroup_devices.cc
  cgroup_files.cc
  cgroup_host.cc
  cgroup_limits.cc
  host.cc
  host_probe.cc
  mount_plan.cc
  overlay.cc
  seccomp_policy.cc
  self_test.cc)
target_link_libraries(sandbox PUBLIC sandbox_wire
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
    jail/gpus.cc
    jail/jail.cc
    jail/landlock.cc
    jail/launch.cc
    jail/lockdown.cc
    jail/main.cc
    jail/mounts.cc
    jail/namespaces.cc
    jail/output.cc
    jail/publish.cc
    jail/ready.cc
    jail/run.cc
    jail/stage.cc
    jail/supervisor.cc
    jail/validate.cc
    jail/views.cc
    jail/workspaces.cc)
  target_link_libraries(jail PRIVATE sandbox fmt::fmt project_warnings)
  # Nothing left to relocate: each command starts as a copy of the jail, and would copy those pages.
  target_link_options(jail PRIVATE -Wl,--as-needed -Wl,-z,now)
  # What the tests' own jail has beside all of this (tests/attack): the switch.
  set_property(TARGET jail PROPERTY ABLATION_SOURCES
    ablation.cc)
endif()

if(PROOFHOUSE_RUNNER)
  add_subdirectory(gpu)
endif()
