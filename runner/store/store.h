// Store: the database as the service uses it. One writer thread, a pool of readers, and a way to
// wait for the next change. SQL is found in this folder only.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "runner/store/sqlite.h"
#include "runner/store/writer.h"

namespace runner::store {

class Store {
 public:
  // Opens or makes the database, and migrates it. conflict: a newer program made it.
  static os::Result<std::unique_ptr<Store>> open(const std::string& path);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Runs `job` in a transaction with others and returns when it is durable (see Writer).
  os::Result<void> write(Job job);

  // Runs `job` on the writer and gives what it answers.
  template <class T>
  os::Result<T> write_value(std::move_only_function<os::Result<T>(Database&)> job) {
    os::Result<T> value = os::fail(os::Code::internal, "the write did not run");
    TRY(write([&](Database& database) -> os::Result<void> {
      value = job(database);
      if (!value) return std::unexpected(value.error());
      return {};
    }));
    return value;
  }

  // Runs `job` on a reading connection that no other thread uses meanwhile.
  template <class Function>
  auto read(Function&& job) -> decltype(job(std::declval<Database&>())) {
    Lease lease = TRY(lend_reader());
    return std::forward<Function>(job)(*lease.database);
  }

  // Counts commits of this process.
  std::uint64_t version() const;
  // Waits until version() differs from `seen`, or until `deadline`; the version then.
  std::uint64_t wait_change(std::uint64_t seen, std::chrono::steady_clock::time_point deadline);
  // Counts up without a commit: something outside the database changed.
  void wake_waits();
  // Ends every wait at once, now and later.
  void stop_waits();

 private:
  struct State;
  struct Lease {
    Lease(State& state, std::unique_ptr<Database> reader);
    Lease(Lease&&) noexcept;
    Lease& operator=(Lease&&) = delete;
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease();
    State* owner;
    std::unique_ptr<Database> database;
  };
  explicit Store(std::unique_ptr<State> state);
  os::Result<Lease> lend_reader();

  std::unique_ptr<State> state_;
};

}  // namespace runner::store
