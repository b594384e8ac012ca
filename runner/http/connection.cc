#include "runner/http/connection.h"

#include <sys/socket.h>

#include <utility>

namespace runner {

ConnectionRegistry::Entry::Entry(ConnectionRegistry& registry, std::string peer, int socket)
    : registry_(registry), peer_(std::move(peer)), socket_(socket) {
  registry_.add(*this);
}

ConnectionRegistry::Entry::~Entry() { registry_.remove(*this); }

void ConnectionRegistry::Entry::set_waiting() {
  const std::scoped_lock lock(registry_.mutex_);
  waiting_ = true;
  registry_.entries_.splice(registry_.entries_.end(), registry_.entries_, place_);
}

bool ConnectionRegistry::Entry::set_busy() {
  const std::scoped_lock lock(registry_.mutex_);
  waiting_ = false;
  return !shut_;
}

void ConnectionRegistry::add(Entry& entry) {
  const std::scoped_lock lock(mutex_);
  make_room(entry.peer_);
  entry.place_ = entries_.insert(entries_.end(), &entry);
  ++peers_[entry.peer_];
}

void ConnectionRegistry::remove(Entry& entry) {
  const std::scoped_lock lock(mutex_);
  entries_.erase(entry.place_);
  const auto count = peers_.find(entry.peer_);
  if (--count->second == 0) peers_.erase(count);
}

void ConnectionRegistry::make_room(const std::string& peer) {
  const auto count = peers_.find(peer);
  const bool peer_full = count != peers_.end() && count->second >= per_peer_;
  if (!peer_full && entries_.size() < total_) return;
  for (Entry* entry : entries_) {
    if (!entry->waiting_ || entry->shut_ || (peer_full && entry->peer_ != peer)) continue;
    entry->shut_ = true;
    // Its thread sees the end of the stream and frees itself.
    ::shutdown(entry->socket_, SHUT_RDWR);
    return;
  }
}

}  // namespace runner
