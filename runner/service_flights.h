// Flights: submissions that are under way, so that the same one sent several times at once is
// taken in once.
#pragma once

#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "runner/service_core.h"
#include "sandbox/os/guarded.h"

namespace runner {

// One submission on its way in.
struct ServiceCore::Admission {
  const Actor& actor;
  const Submission& submission;
  store::ProjectRow project;
  GitTip tip;
  std::string key;   // idempotency key, given or derived
  std::string body;  // digest of the submission
};

// By (principal, key): the first of them does the work, the others wait for its answer.
struct ServiceCore::Flights {
  struct Flight {
    std::string body;
    std::shared_future<Answer<Submitted>> answer;
  };
  using Key = std::pair<std::string, std::string>;
  os::Guarded<std::map<Key, Flight>> under_way;

  // The place of the first. Whatever becomes of it, the others get an answer and the key is free
  // again.
  class Seat {
   public:
    Seat(Flights& flights, Key key) : flights_(flights), key_(std::move(key)) {}
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;
    ~Seat() {
      if (!is_taken_) return;
      if (!has_landed_)
        landing_.set_value(std::unexpected(ServiceError{.problem = "internal",
                                                        .detail = "the submission was not taken in",
                                                        .next_step = "send it again",
                                                        .retryable = true,
                                                        .pointer = {},
                                                        .extra = {}}));
      flights_.under_way.with([&](auto& flights) { flights.erase(key_); });
    }
    // The flight of somebody else; nothing: the place is ours.
    std::optional<Flight> take(const std::string& body) {
      return flights_.under_way.with([&](auto& flights) -> std::optional<Flight> {
        const auto [at, is_new] = flights.try_emplace(key_, Flight{body, {}});
        if (!is_new) return at->second;
        at->second.answer = landing_.get_future().share();
        is_taken_ = true;
        return std::nullopt;
      });
    }
    void land(const Answer<Submitted>& answer) {
      landing_.set_value(answer);
      has_landed_ = true;
    }

   private:
    Flights& flights_;
    Key key_;
    std::promise<Answer<Submitted>> landing_;
    bool is_taken_ = false;
    bool has_landed_ = false;
  };
};

}  // namespace runner
