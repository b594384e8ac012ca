#include "runner/store/sqlite.h"

#include <sqlite3.h>

#include <utility>

namespace runner::store {
namespace {

os::Code code_of(int result) {
  switch (result & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return os::Code::unavailable;
    case SQLITE_CONSTRAINT:
      return os::Code::conflict;
    case SQLITE_FULL:
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG:
      return os::Code::exhausted;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return os::Code::corrupt;
    case SQLITE_CANTOPEN:
      return os::Code::not_found;
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return os::Code::denied;
    default:
      return os::Code::internal;
  }
}

std::unexpected<os::Error> failure(sqlite3* database, int result, std::string_view what) {
  return os::fail(code_of(result),
                  "database: " + std::string(what) + ": " +
                      (database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(result)));
}

int bind(sqlite3_stmt* statement, int index, const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value))
    return sqlite3_bind_int64(statement, index, *number);
  if (const auto* text = std::get_if<std::string_view>(&value))
    return sqlite3_bind_text64(statement, index, text->data() == nullptr ? "" : text->data(),
                               text->size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  return sqlite3_bind_null(statement, index);
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

os::Result<bool> Statement::step() {
  const int result = sqlite3_step(raw_.get());
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  return failure(sqlite3_db_handle(raw_.get()), result, sqlite3_sql(raw_.get()));
}

std::int64_t Statement::int64(int column) const { return sqlite3_column_int64(raw_.get(), column); }

std::string Statement::text(int column) const {
  const unsigned char* const bytes = sqlite3_column_text(raw_.get(), column);
  const int size = sqlite3_column_bytes(raw_.get(), column);
  if (bytes == nullptr || size <= 0) return {};
  return {bytes, bytes + size};
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(raw_.get(), column) == SQLITE_NULL;
}

void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

os::Result<Database> Database::open(const std::string& path, OpenMode mode) {
  sqlite3* raw = nullptr;
  const int flags = (mode == OpenMode::writer ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                                              : SQLITE_OPEN_READONLY) |
                    SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int result = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  Database database(raw);
  if (result != SQLITE_OK) return failure(raw, result, "open " + path);
  sqlite3_busy_timeout(raw, 5000);
  if (mode == OpenMode::writer) {
    TRY(database.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"));
  }
  TRY(database.execute("PRAGMA foreign_keys=ON; PRAGMA trusted_schema=OFF;"));
  return database;
}

os::Result<Statement> Database::query(std::string_view sql, std::initializer_list<Value> values) {
  sqlite3_stmt* raw = nullptr;
  const int result =
      sqlite3_prepare_v2(raw_.get(), sql.data(), static_cast<int>(sql.size()), &raw, nullptr);
  Statement statement(raw);
  if (result != SQLITE_OK) return failure(raw_.get(), result, sql);
  if (std::cmp_not_equal(sqlite3_bind_parameter_count(raw), values.size()))
    return os::fail(os::Code::internal, "database: wrong number of values for " + std::string(sql));
  int index = 0;
  for (const Value& value : values) {
    const int bound = bind(raw, ++index, value);
    if (bound != SQLITE_OK) return failure(raw_.get(), bound, sql);
  }
  return statement;
}

os::Result<std::int64_t> Database::run(std::string_view sql, std::initializer_list<Value> values) {
  Statement statement = TRY(query(sql, values));
  while (TRY(statement.step())) {
  }
  return sqlite3_changes64(raw_.get());
}

os::Result<void> Database::execute(const std::string& sql) {
  const int result = sqlite3_exec(raw_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (result != SQLITE_OK) return failure(raw_.get(), result, sql);
  return {};
}

bool Database::is_in_transaction() const { return ::sqlite3_get_autocommit(raw_.get()) == 0; }

std::int64_t Database::last_insert_id() const { return sqlite3_last_insert_rowid(raw_.get()); }

os::Result<Transaction> Transaction::begin(Database& database) {
  TRY(database.execute("BEGIN IMMEDIATE"));
  return Transaction(database);
}

Transaction::Transaction(Transaction&& other) noexcept
    : database_(std::exchange(other.database_, nullptr)) {}

Transaction::~Transaction() {
  if (database_ != nullptr) static_cast<void>(database_->execute("ROLLBACK").has_value());
}

os::Result<void> Transaction::commit() {
  TRY(database_->execute("COMMIT"));
  database_ = nullptr;
  return {};
}

}  // namespace runner::store
