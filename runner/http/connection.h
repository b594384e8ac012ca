// Connections under watch: how long each may take, and which one gives way.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <list>
#include <map>
#include <mutex>
#include <string>

namespace runner {

// Counts the connections of each peer, and shuts the one that waits longest for a request when a
// peer, or all together, hold more than their share. Thread-safe.
class ConnectionRegistry {
 public:
  ConnectionRegistry(std::size_t per_peer, std::size_t total)
      : per_peer_(per_peer), total_(total) {}

  // A connection for as long as this lives.
  class Entry {
   public:
    Entry(ConnectionRegistry& registry, std::string peer, int socket);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    // Waiting connections may be shut for others; busy ones never.
    void set_waiting();
    // False: it has been shut meanwhile.
    bool set_busy();

   private:
    friend class ConnectionRegistry;
    ConnectionRegistry& registry_;
    std::string peer_;
    int socket_;
    bool waiting_ = true;
    bool shut_ = false;
    std::list<Entry*>::iterator place_;
  };

 private:
  void add(Entry& entry);
  void remove(Entry& entry);
  void make_room(const std::string& peer);

  std::size_t per_peer_;
  std::size_t total_;
  std::mutex mutex_;
  std::list<Entry*> entries_;  // the longest waiting first
  std::map<std::string, std::size_t> peers_;
};

}  // namespace runner
