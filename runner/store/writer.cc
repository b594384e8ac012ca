#include "runner/store/writer.h"

#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace runner::store {
namespace {

struct Pending {
  Job job;
  std::promise<os::Result<void>> answer;
};

// One job in a savepoint of its own, so that its failure leaves the others' changes.
os::Result<void> run_job(Database& database, Job& job) {
  TRY(database.execute("SAVEPOINT job"));
  os::Result<void> done = job(database);
  if (!done) TRY(database.execute("ROLLBACK TO job"));
  TRY(database.execute("RELEASE job"));
  return done;
}

os::Result<void> run_batch(Database& database, std::vector<Pending>& batch,
                           std::vector<os::Result<void>>& answers) {
  Transaction transaction = TRY(Transaction::begin(database));
  for (std::size_t i = 0; i < batch.size(); ++i) {
    answers[i] = run_job(database, batch[i].job);
    // What follows would be kept although all are told that nothing is.
    if (!database.is_in_transaction())
      return os::fail(os::Code::unavailable,
                      "the database rolled back: " + (answers[i] ? std::string("no reason given")
                                                                 : answers[i].error().message));
  }
  return transaction.commit();
}

}  // namespace

struct Writer::Queue {
  Queue(Database opened, std::function<void()> notify)
      : database(std::move(opened)),
        on_commit(std::move(notify)),
        thread([this](const std::stop_token& stop) { serve(stop); }) {}

  void serve(const std::stop_token& stop) {
    while (true) {
      std::vector<Pending> batch;
      {
        std::unique_lock lock(mutex);
        // What was queued before the stop is still done: somebody waits for it.
        if (!ready.wait(lock, stop, [this] { return !waiting.empty(); })) return;
        while (!waiting.empty() && batch.size() < kMaxBatch) {
          batch.push_back(std::move(waiting.front()));
          waiting.pop_front();
        }
      }
      std::vector<os::Result<void>> answers(batch.size());
      const os::Result<void> committed = run_batch(database, batch, answers);
      if (committed) on_commit();
      for (std::size_t i = 0; i < batch.size(); ++i)
        batch[i].answer.set_value(committed ? std::move(answers[i]) : committed);
    }
  }

  Database database;
  std::function<void()> on_commit;
  std::mutex mutex;
  std::condition_variable_any ready;
  std::deque<Pending> waiting;
  std::jthread thread;  // last: joined before the rest goes
};

Writer::Writer(Database database, std::function<void()> on_commit)
    : queue_(std::make_unique<Queue>(std::move(database), std::move(on_commit))) {}

Writer::~Writer() = default;

os::Result<void> Writer::write(Job job) {
  std::future<os::Result<void>> answer;
  {
    const std::scoped_lock lock(queue_->mutex);
    if (queue_->waiting.size() >= kMaxQueued)
      return os::fail(os::Code::exhausted, "too many writes wait for the database");
    if (queue_->thread.get_stop_token().stop_requested())
      return os::fail(os::Code::unavailable, "the database is closing");
    queue_->waiting.push_back(Pending{std::move(job), {}});
    answer = queue_->waiting.back().answer.get_future();
  }
  queue_->ready.notify_one();
  return answer.get();
}

}  // namespace runner::store
