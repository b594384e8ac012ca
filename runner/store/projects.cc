#include "runner/store/projects.h"

namespace runner::store {
namespace {

constexpr std::string_view kProjectColumns =
    "name, repository, url, target, authority, policy_yaml, frozen";

ProjectRow read_project(const Statement& row) {
  ProjectRow read;
  read.project.name = row.text(0);
  read.project.repository = row.text(1);
  read.project.url = row.text(2);
  read.project.target = row.text(3);
  read.project.authority = row.text(4) == "remote" ? Authority::remote : Authority::local;
  read.policy_yaml = row.text(5);
  read.project.holds_policy = !read.policy_yaml.empty();
  read.project.frozen = row.text(6);
  return read;
}

PackRow read_pack(const Statement& row) {
  return PackRow{.id = row.text(0),
                 .project = row.text(1),
                 .principal = row.text(2),
                 .bytes = row.int64(3),
                 .created_at = row.text(4)};
}

}  // namespace

os::Result<void> insert_project(Database& database, const ProjectRow& row, const std::string& at) {
  const Project& project = row.project;
  TRY(database.run(
      "INSERT INTO projects(name, repository, url, target, authority, policy_yaml, "
      "frozen, created_at) VALUES(?, ?, ?, ?, ?, ?, '', ?)",
      {project.name, project.repository, project.url, project.target,
       project.authority == Authority::remote ? "remote" : "local", row.policy_yaml, at}));
  return {};
}

os::Result<std::optional<ProjectRow>> find_project(Database& database, const std::string& name) {
  Statement row = TRY(database.query(
      "SELECT " + std::string(kProjectColumns) + " FROM projects WHERE name = ?", {name}));
  if (!TRY(row.step())) return std::optional<ProjectRow>{};
  return std::optional(read_project(row));
}

os::Result<std::vector<ProjectRow>> all_projects(Database& database) {
  Statement row = TRY(
      database.query("SELECT " + std::string(kProjectColumns) + " FROM projects ORDER BY name"));
  std::vector<ProjectRow> projects;
  while (TRY(row.step())) projects.push_back(read_project(row));
  return projects;
}

os::Result<void> freeze_project(Database& database, const std::string& name,
                                const std::string& why) {
  TRY(database.run("UPDATE projects SET frozen = ? WHERE name = ?", {why, name}));
  return {};
}

os::Result<void> insert_pack(Database& database, const PackRow& row) {
  TRY(database.run(
      "INSERT INTO packs(id, project, principal, bytes, created_at) VALUES(?, ?, ?, ?, ?)",
      {row.id, row.project, row.principal, row.bytes, row.created_at}));
  return {};
}

os::Result<std::optional<PackRow>> find_pack(Database& database, const std::string& id) {
  Statement row = TRY(database.query(
      "SELECT id, project, principal, bytes, created_at FROM packs WHERE id = ?", {id}));
  if (!TRY(row.step())) return std::optional<PackRow>{};
  return std::optional(read_pack(row));
}

os::Result<std::vector<PackRow>> packs_before(Database& database, const std::string& time) {
  Statement row = TRY(database.query(
      "SELECT id, project, principal, bytes, created_at FROM packs WHERE created_at < ?", {time}));
  std::vector<PackRow> packs;
  while (TRY(row.step())) packs.push_back(read_pack(row));
  return packs;
}

os::Result<std::int64_t> pack_bytes_of(Database& database, const std::string& principal) {
  Statement row = TRY(
      database.query("SELECT COALESCE(SUM(bytes), 0) FROM packs WHERE principal = ?", {principal}));
  if (!TRY(row.step())) return os::fail(os::Code::corrupt, "no sum of packs");
  return row.int64(0);
}

os::Result<void> delete_pack(Database& database, const std::string& id) {
  TRY(database.run("DELETE FROM packs WHERE id = ?", {id}));
  return {};
}

}  // namespace runner::store
