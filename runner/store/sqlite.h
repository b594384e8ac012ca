// SQLite behind RAII: a connection, a statement, a transaction. Every return code is checked.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "sandbox/os/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace runner::store {

// What is bound to a parameter: NULL, a 64-bit integer or text (borrowed for the call).
using Value = std::variant<std::monostate, std::int64_t, std::string_view>;

// A prepared statement; finalised on destruction. Columns are counted from 0.
class Statement {
 public:
  // True: there is a row to read. False: done.
  os::Result<bool> step();
  std::int64_t int64(int column) const;
  std::string text(int column) const;
  bool is_null(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  explicit Statement(sqlite3_stmt* raw) : raw_(raw) {}
  std::unique_ptr<sqlite3_stmt, Finalize> raw_;
};

enum class OpenMode : std::uint8_t {
  writer,  // creates the file, WAL, synchronous FULL
  reader   // read-only
};

// One connection; used by one thread at a time. Foreign keys are on, a busy lock is waited for 5 s.
class Database {
 public:
  // corrupt: not a database. unavailable: locked by another program for longer than 5 s.
  static os::Result<Database> open(const std::string& path, OpenMode mode);

  // A statement with its parameters bound, in order. internal: the SQL or the count is wrong.
  os::Result<Statement> query(std::string_view sql, std::initializer_list<Value> values = {});
  // Runs a statement without rows to its end; the number of rows that it changed. conflict: a
  // uniqueness or another constraint does not hold.
  os::Result<std::int64_t> run(std::string_view sql, std::initializer_list<Value> values = {});
  // Runs several statements without parameters.
  os::Result<void> execute(const std::string& sql);
  // False once SQLite has rolled a transaction back by itself (a full disk, an I/O error).
  bool is_in_transaction() const;
  // Row id of the last INSERT.
  std::int64_t last_insert_id() const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  explicit Database(sqlite3* raw) : raw_(raw) {}
  std::unique_ptr<sqlite3, Close> raw_;
};

// BEGIN IMMEDIATE … COMMIT; rolled back on destruction unless committed.
class Transaction {
 public:
  static os::Result<Transaction> begin(Database& database);
  Transaction(Transaction&& other) noexcept;
  Transaction& operator=(Transaction&&) = delete;
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  // After an error nothing of the transaction is kept.
  os::Result<void> commit();

 private:
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;
};

}  // namespace runner::store
