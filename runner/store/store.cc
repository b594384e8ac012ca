#include "runner/store/store.h"

#include <sys/stat.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "runner/store/schema.h"
#include "sandbox/os/guarded.h"

namespace runner::store {

struct Store::State {
  std::string path;
  os::Guarded<std::vector<std::unique_ptr<Database>>> idle_readers;
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t version = 0;
  bool stopped = false;
  std::unique_ptr<Writer> writer;  // last: its thread uses the rest

  void note_commit() {
    {
      const std::scoped_lock lock(mutex);
      ++version;
    }
    changed.notify_all();
  }
};

Store::Lease::Lease(State& state, std::unique_ptr<Database> reader)
    : owner(&state), database(std::move(reader)) {}

Store::Lease::Lease(Lease&& other) noexcept
    : owner(other.owner), database(std::move(other.database)) {}

Store::Lease::~Lease() {
  if (database != nullptr)
    owner->idle_readers.with([this](auto& idle) { idle.push_back(std::move(database)); });
}

Store::Store(std::unique_ptr<State> state) : state_(std::move(state)) {}

Store::~Store() { stop_waits(); }

os::Result<std::unique_ptr<Store>> Store::open(const std::string& path) {
  auto state = std::make_unique<State>();
  state->path = path;
  Database database = TRY(Database::open(path, OpenMode::writer));
  // Token digests and unpublished changes are inside.
  if (::chmod(path.c_str(), 0600) != 0) return os::fail_errno("restrict " + path);
  TRY_CONTEXT(migrate(database), path);
  State* const raw = state.get();
  state->writer = std::make_unique<Writer>(std::move(database), [raw] { raw->note_commit(); });
  return std::unique_ptr<Store>(new Store(std::move(state)));
}

os::Result<void> Store::write(Job job) { return state_->writer->write(std::move(job)); }

os::Result<Store::Lease> Store::lend_reader() {
  auto reader = state_->idle_readers.with([](auto& idle) {
    std::unique_ptr<Database> last;
    if (!idle.empty()) {
      last = std::move(idle.back());
      idle.pop_back();
    }
    return last;
  });
  if (reader == nullptr)
    reader = std::make_unique<Database>(TRY(Database::open(state_->path, OpenMode::reader)));
  return Lease(*state_, std::move(reader));
}

std::uint64_t Store::version() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->version;
}

std::uint64_t Store::wait_change(std::uint64_t seen,
                                 std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait_until(lock, deadline,
                             [&] { return state_->version != seen || state_->stopped; });
  return state_->version;
}

void Store::wake_waits() { state_->note_commit(); }

void Store::stop_waits() {
  {
    const std::scoped_lock lock(state_->mutex);
    state_->stopped = true;
  }
  state_->changed.notify_all();
}

}  // namespace runner::store
