// How ranks on different nodes pass each other bytes. kernelwright/mpi.hpp has it over MPI; a
// program with another network writes its own.
#pragma once

#include <cstddef>

#include "kernelwright/export.h"

namespace kw {

/// One rank's end of it. A group calls it from the thread that calls the group, from one at a time.
/// What fails is thrown as kw::Error or another std::exception, and ends the group's call on all
/// ranks. Nothing here waits.
class KW_API Transport {
 public:
  Transport() = default;
  virtual ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  virtual int rank() const = 0;
  virtual int ranks() const = 0;

  /// Messages from one rank to another on one channel arrive in the order in which they were sent.
  /// Channels, 0 to 2, are independent of each other.
  /// Both begin a message of up to 2^30 bytes of host memory, which stays until `is_done`, and
  /// return the number of a request. A message has as many bytes as its receiver expects.
  virtual int send(int to, int channel, const void* data, std::size_t bytes) = 0;
  virtual int receive(int from, int channel, void* data, std::size_t bytes) = 0;
  /// Whether the request is over: of a send, whether its memory may be written. Once true, its
  /// number stands for nothing. What is under way goes on meanwhile.
  virtual bool is_done(int request) = 0;
  /// A request that is over or was not; afterwards its memory is not touched any more, whatever
  /// became of the message. False where that cannot be promised.
  virtual bool cancel(int request) noexcept = 0;
  /// Takes a message of this channel, of `bytes`, whoever sent it, where one has come.
  virtual bool take_any(int channel, void* data, std::size_t bytes) = 0;
  /// The group has failed and ends: messages may be under way that nobody receives any more, and
  /// must not come to a later group.
  virtual void abandon() noexcept = 0;
};

}  // namespace kw
