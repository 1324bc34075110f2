// The scheduler's services for the GPU thread that runs now: thin covers of its BlockRunner.
#include "host_simt/execution.hpp"

#include <fmt/format.h>

#include <bit>

#include "host_simt/block.hpp"
#include "host_simt/cluster.hpp"
#include "host_simt/polling.hpp"

namespace kw::host_simt {
namespace {

// The lane that `lane` reads from; itself where the asked one is outside of its segment.
int source_lane(Shuffle kind, int lane, int argument, int width) {
  const int first = lane & ~(width - 1);
  const int last = first + width - 1;
  switch (kind) {
    case Shuffle::index: return first + (argument & (width - 1));
    case Shuffle::up: return lane - argument < first ? lane : lane - argument;
    case Shuffle::down: return argument > last - lane ? lane : lane + argument;
    case Shuffle::butterfly: return (lane ^ argument) > last ? lane : lane ^ argument;
  }
  return lane;
}

}  // namespace

int barrier(const char* function, bool predicate, Site site) {
  Thread& thread = this_thread();
  return thread.runner.barrier(thread, function, predicate, site);
}

std::uint64_t shuffle(const char* function, Shuffle kind, std::uint64_t mask, std::uint64_t value,
                      int argument, int width, Site site) {
  Thread& thread = this_thread();
  if (width < 1 || width > thread.warp_size || !std::has_single_bit(static_cast<unsigned>(width))) {
    thread.runner.fault(thread, &site,
                        fmt::format("{} with width {}: use a power of two from 1 to {}", function,
                                    width, thread.warp_size));
  }
  thread.value = value;
  thread.source_lane = source_lane(kind, thread.lane, argument, width);
  return thread.runner.exchange(thread, mask, {.function = function, .site = site});
}

std::uint64_t ballot(const char* function, std::uint64_t mask, bool predicate, Site site) {
  Thread& thread = this_thread();
  thread.value = predicate ? 1 : 0;
  return thread.runner.exchange(thread, mask, {.function = function, .site = site, .vote = true});
}

void sync_warp(std::uint64_t mask, Site site) {
  Thread& thread = this_thread();
  thread.runner.exchange(
      thread, mask, {.function = "__syncwarp", .site = site, .vote = true, .at_one_place = false});
}

std::uint64_t active_mask() {
  const Thread& thread = this_thread();
  return thread.runner.running_lanes(thread);
}

void require_32_lanes(const char* function, Site site) {
  const Thread& thread = this_thread();
  if (thread.warp_size <= 32) return;
  thread.runner.fault(thread, &site,
                      fmt::format("{} with a 32-bit result on a warp of {} lanes: pass an unsigned "
                                  "long long mask to __ballot_sync",
                                  function, thread.warp_size));
}

void* dynamic_shared() { return this_thread().runner.dynamic_shared(); }

int cluster_index() { return built_ins->cluster_index; }
int rank_in_cluster() { return built_ins->rank_in_cluster; }

void arrive_at_cluster(Site site) {
  Thread& thread = this_thread();
  thread.runner.cluster().arrive(thread, site);
}

void wait_for_cluster(Site site) {
  Thread& thread = this_thread();
  thread.runner.cluster().wait(thread, site);
}

void let_others_run() {
  Thread& thread = this_thread();
  thread.runner.let_all_run(thread);
}

void send_to_block(int rank, void* to, const void* from, unsigned bytes, std::uint64_t* mbarrier,
                   Site site) {
  Thread& thread = this_thread();
  thread.runner.cluster().send(rank, {to, from, bytes, mbarrier, &thread, site});
}

void mbarrier_init(std::uint64_t* state, unsigned arrivals, Site site) {
  const Thread& thread = this_thread();
  thread.runner.init_mbarrier(thread, state, arrivals, site);
}

void mbarrier_arrive(std::uint64_t* state, Site site) {
  Thread& thread = this_thread();
  thread.runner.arrive_at_mbarrier(thread, state, site);
}

void mbarrier_arrive_expecting(std::uint64_t* state, unsigned bytes, Site site) {
  Thread& thread = this_thread();
  thread.runner.arrive_expecting(thread, state, bytes, site);
}

void mbarrier_arrive_after_copies(std::uint64_t* state, Site site) {
  Thread& thread = this_thread();
  thread.runner.arrive_after_copies(thread, state, site);
}

void mbarrier_wait(const std::uint64_t* state, unsigned parity, Site site) {
  Thread& thread = this_thread();
  thread.runner.wait_for_mbarrier(thread, state, parity, site);
}

void sync_some_threads(int id, int threads, Site site) {
  Thread& thread = this_thread();
  thread.runner.sync_some_threads(thread, id, threads, site);
}

}  // namespace kw::host_simt
