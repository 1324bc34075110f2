// What lies in the file that the processes of a group share: who has come, what each passes on, how
// far its streams are, and which one failed; where ranks span nodes, what has come from others.
#pragma once

#include <atomic>
#include <cstddef>

#include "distributed/meeting.hpp"
#include "distributed/signals.hpp"

namespace kw::distributed {

constexpr int most_slots = 8;  // of a rank's room

enum class Presence : int { not_come = 0, here = 1, left = 2 };

// All zeros at first. Versions of the library that differ here have another magic number.
struct alignas(64) SharedFile {
  static constexpr unsigned current_magic = 0x6b770003;

  struct alignas(64) Place {
    std::atomic<int> presence;
    std::atomic<int> process;
    std::atomic<unsigned> turn;  // the meeting that it came to last, counted from 1
    unsigned bytes[2];
    unsigned char message[2][most_message_bytes];
    alignas(64) std::atomic<unsigned> calls;  // how many it has begun
    Counter signals[signal_count];            // written by its streams
    // Of messages that it receives from other nodes in a call: how many have come, and how many
    // ranks have not read what is in a slot of its room yet.
    alignas(64) std::atomic<int> landed;
    std::atomic<int> readers_left[most_slots];
  };

  std::atomic<unsigned> magic;  // last of what rank 0 writes
  int ranks;
  std::atomic<unsigned> turn;  // meetings that are over
  std::atomic<unsigned> here;  // ranks that have come to the next one
  std::atomic<int> is_claimed;
  std::atomic<int> has_failed;  // all below is written
  int failed_rank;              // or somebody_late
  int code;
  char argument[64];
  char message[1024];

  // The places of the ranks follow, then for each a room of `room` bytes.
  static std::size_t rooms_begin(int ranks) {
    const std::size_t end = sizeof(SharedFile) + sizeof(Place) * static_cast<std::size_t>(ranks);
    return (end + 4095) / 4096 * 4096;
  }
  static std::size_t size(int ranks, std::size_t room) {
    return rooms_begin(ranks) + room * static_cast<std::size_t>(ranks);
  }
  unsigned char* room(int rank, std::size_t bytes) {
    return reinterpret_cast<unsigned char*>(this) + rooms_begin(ranks) +
           bytes * static_cast<std::size_t>(rank);
  }
  Place& place(int rank) { return reinterpret_cast<Place*>(this + 1)[rank]; }
  Presence presence(int rank) {
    return static_cast<Presence>(place(rank).presence.load(std::memory_order_acquire));
  }
};

static_assert(std::atomic<int>::is_always_lock_free && std::atomic<unsigned>::is_always_lock_free);

}  // namespace kw::distributed
