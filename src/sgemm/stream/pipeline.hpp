// The ring of stages between producers and consumers of stream_tile. Two mbarriers belong to a
// stage: `full`, whose phase ends when the copies of all producers have landed, and `free`, whose
// phase ends when the consumers have read it.
#pragma once

#include "device/mbarrier.hpp"
#include "device/ring.hpp"
#include "sgemm/stream/stage.hpp"

namespace KW_TARGET::stream_tile {

// A thread's position in the ring. Producers acquire a stage, start their copies into it and
// commit; consumers wait for a stage, read it and release it.
template <StreamTileConfig config>
class Pipeline {
 public:
  __device__ __forceinline__ explicit Pipeline(Shared<config>& shared) : shared_(shared) {}

  // --- producers

  // Waits until the consumers have read the stage.
  __device__ __forceinline__ Stage<config>& acquire() {
    mbarrier_wait(&shared_.free[ring_.stage], ring_.round ^ 1);
    return shared_.stage[ring_.stage];
  }
  // The stage counts as full once the copies that this thread has started have landed.
  __device__ __forceinline__ void commit() {
    mbarrier_arrive_after_copies(&shared_.full[ring_.stage]);
    ring_.advance();
  }

  // --- consumers

  // Waits until the stage is full.
  __device__ __forceinline__ const Stage<config>& wait() {
    mbarrier_wait(&shared_.full[ring_.stage], ring_.round);
    return shared_.stage[ring_.stage];
  }
  // All consumers have read the stage; one of them says so.
  __device__ __forceinline__ void release(bool leader) {
    if (leader) mbarrier_arrive(&shared_.free[ring_.stage]);
    ring_.advance();
  }

 private:
  Shared<config>& shared_;
  Ring<Shape<config>::stages> ring_;
};

}  // namespace KW_TARGET::stream_tile
