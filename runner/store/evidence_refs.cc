#include "runner/store/evidence_refs.h"

namespace runner::store {

os::Result<void> add_refs(Database& database, const std::string& owner,
                          const std::vector<std::string>& blobs) {
  for (const std::string& blob : blobs) {
    TRY(database.run("INSERT INTO evidence_refs(owner, sha256) VALUES(?, ?) ON CONFLICT DO NOTHING",
                     {owner, blob}));
  }
  return {};
}

os::Result<bool> has_ref(Database& database, const std::string& owner, const std::string& blob) {
  Statement row = TRY(
      database.query("SELECT 1 FROM evidence_refs WHERE owner = ? AND sha256 = ?", {owner, blob}));
  return row.step();
}

os::Result<void> copy_refs(Database& database, const std::string& from, const std::string& to) {
  TRY(
      database.run("INSERT INTO evidence_refs(owner, sha256) SELECT ?, sha256 FROM evidence_refs "
                   "WHERE owner = ? ON CONFLICT DO NOTHING",
                   {to, from}));
  return {};
}

os::Result<std::vector<std::string>> drop_refs(Database& database, const std::string& owner) {
  Statement row =
      TRY(database.query("SELECT sha256 FROM evidence_refs AS mine WHERE owner = ?1 AND NOT EXISTS "
                         "(SELECT 1 FROM evidence_refs WHERE sha256 = mine.sha256 AND owner <> ?1)",
                         {owner}));
  std::vector<std::string> orphans;
  while (TRY(row.step())) orphans.push_back(row.text(0));
  TRY(database.run("DELETE FROM evidence_refs WHERE owner = ?", {owner}));
  return orphans;
}

os::Result<bool> is_referenced(Database& database, const std::string& blob) {
  Statement row =
      TRY(database.query("SELECT 1 FROM evidence_refs WHERE sha256 = ? LIMIT 1", {blob}));
  return row.step();
}

os::Result<void> put_diff_view(Database& database, const std::string& diff,
                               const std::string& view) {
  TRY(
      database.run("INSERT INTO diff_views(diff, view) VALUES(?, ?) "
                   "ON CONFLICT(diff) DO UPDATE SET view = excluded.view",
                   {diff, view}));
  return {};
}

os::Result<std::optional<std::string>> find_diff_view(Database& database, const std::string& diff) {
  Statement row = TRY(database.query("SELECT view FROM diff_views WHERE diff = ?", {diff}));
  if (!TRY(row.step())) return std::optional<std::string>{};
  return std::optional(row.text(0));
}

os::Result<std::optional<std::string>> find_base(Database& database, const std::string& key) {
  Statement row = TRY(database.query("SELECT sha256 FROM base_evidence WHERE key = ?", {key}));
  if (!TRY(row.step())) return std::optional<std::string>{};
  return std::optional(row.text(0));
}

os::Result<void> insert_base(Database& database, const std::string& key, const std::string& blob,
                             const std::string& at) {
  TRY(
      database.run("INSERT INTO base_evidence(key, sha256, created_at, used_at) "
                   "VALUES(?1, ?2, ?3, ?3) ON CONFLICT DO NOTHING",
                   {key, blob, at}));
  return {};
}

os::Result<void> touch_base(Database& database, const std::string& key, const std::string& at) {
  TRY(database.run("UPDATE base_evidence SET used_at = ? WHERE key = ?", {at, key}));
  return {};
}

os::Result<std::vector<std::string>> bases_before(Database& database, const std::string& time) {
  Statement row = TRY(database.query("SELECT key FROM base_evidence WHERE used_at < ?", {time}));
  std::vector<std::string> keys;
  while (TRY(row.step())) keys.push_back(row.text(0));
  return keys;
}

os::Result<void> delete_base(Database& database, const std::string& key) {
  TRY(database.run("DELETE FROM base_evidence WHERE key = ?", {key}));
  return {};
}

}  // namespace runner::store
