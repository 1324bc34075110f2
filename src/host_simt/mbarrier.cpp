// Barriers of some of a block's threads: mbarriers in shared memory, and named barriers.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "host_simt/block.hpp"

namespace kw::host_simt {
namespace {

// What the 64 bits of an mbarrier are here; on a GPU they are opaque.
struct Mbarrier {
  std::uint64_t missing : 12;   // arrivals until the phase can end
  std::uint64_t expected : 12;  // arrivals a phase
  std::int64_t units : 16;  // of 16 bytes that are announced and have not landed, or less than 0
  std::uint64_t phase : 16;
  std::uint64_t mark : 8;  // neither zeros nor poison
};
constexpr unsigned max_arrivals = 4095;  // 2^20 - 1 in PTX, but a block has 1024 threads
constexpr int max_units = 32767;         // 512 KiB; 2^20 - 1 bytes in PTX
constexpr int unit_bytes = 16;
constexpr unsigned initialised = 0x6B;

constexpr int ptx_warp_size = 32;  // named barriers are PTX's, whatever the lanes of a warp here

Mbarrier load(const std::uint64_t* state) { return std::bit_cast<Mbarrier>(*state); }
void store(std::uint64_t* state, Mbarrier barrier) {
  *state = std::bit_cast<std::uint64_t>(barrier);
}

}  // namespace

// "full + 8 bytes, whose phase 3 has had 30 of 32 arrivals and 64 bytes too few"
std::string BlockRunner::describe_mbarrier(const std::uint64_t* state) const {
  const Mbarrier barrier = load(state);
  const int units = static_cast<int>(barrier.units);
  const unsigned missing = barrier.missing, expected = barrier.expected, phase = barrier.phase;
  return fmt::format("{}, whose phase {} has had {} of {} arrivals{}",
                     shared_.describe(state, *grid_->arrays), phase, expected - missing, expected,
                     units == 0 ? ""
                                : fmt::format(" and {} bytes too {}", std::abs(units) * unit_bytes,
                                              units > 0 ? "few" : "many"));
}

bool BlockRunner::waits_for_bytes_only(const std::uint64_t* state) const {
  return load(state).missing == 0;
}

// Records a fault where not: the caller may be about to land another thread's arrival.
bool BlockRunner::is_usable(const Thread& thread, const std::uint64_t* state, const char* function,
                            Site site) {
  if (load(state).mark == initialised) return true;
  record_fault(thread, &site,
               fmt::format("{} of {}, which is no mbarrier or has been overwritten: call "
                           "mbarrier_init before and let the block meet at __syncthreads",
                           function, shared_.describe(state, *grid_->arrays)));
  return false;
}

void BlockRunner::init_mbarrier(const Thread& thread, std::uint64_t* state, unsigned arrivals,
                                Site site) {
  if (arrivals < 1 || arrivals > max_arrivals) {
    fault(thread, &site,
          fmt::format("mbarrier_init for {} arrivals a phase: make it 1 to {}", arrivals,
                      max_arrivals));
  }
  for (int i = 0; i < size_; ++i) {
    const Thread& other = thread_at(i);
    if (other.mbarrier != state) continue;
    fault(thread, &site,
          fmt::format("mbarrier_init while thread {} waits for {}: initialise it once",
                      to_text(other.thread_index), describe_mbarrier(state)));
  }
  store(state, {.missing = arrivals & max_arrivals,
                .expected = arrivals & max_arrivals,
                .units = 0,
                .phase = 0,
                .mark = initialised});
  if (std::find(mbarriers_.begin(), mbarriers_.end(), state) == mbarriers_.end()) {
    mbarriers_.push_back(state);
  }
}

// Announces bytes, if any, before it arrives.
void BlockRunner::arrive(const Thread& thread, const AsyncArrival& arrival, const char* function,
                         unsigned bytes) {
  std::uint64_t* const state = arrival.mbarrier;
  if (!is_usable(thread, state, function, arrival.site)) return;
  Mbarrier barrier = load(state);
  if (barrier.missing == 0) {
    record_fault(thread, &arrival.site,
                 fmt::format("{} at {}: let somebody see the end of that phase before, or "
                             "initialise it for more arrivals",
                             function, describe_mbarrier(state)));
    return;
  }
  const std::int64_t units = barrier.units + std::int64_t{bytes / unit_bytes};
  if (bytes % unit_bytes != 0 || units > max_units) {
    record_fault(
        thread, &arrival.site,
        fmt::format("{} of {} bytes at {}: announce multiples of {}, in one phase at most "
                    "{}",
                    function, bytes, describe_mbarrier(state), unit_bytes, max_units * unit_bytes));
    return;
  }
  if (observer_) observer_->release(thread.index, state);
  barrier.units = static_cast<std::int16_t>(units);
  --barrier.missing;
  store(state, barrier);
  end_phase_if_complete(thread, state, function, arrival.site);
}

// A bulk copy has landed.
void BlockRunner::complete_bytes(const Thread& thread, std::uint64_t* state, unsigned bytes,
                                 const Site& site) {
  if (!is_usable(thread, state, "bulk_copy", site)) return;
  Mbarrier barrier = load(state);
  const std::int64_t units = barrier.units - std::int64_t{bytes / unit_bytes};
  if (units < -max_units) {
    record_fault(thread, &site,
                 fmt::format("bulk_copy of {} bytes to {}: in one phase it counts at most {} more "
                             "than are announced",
                             bytes, describe_mbarrier(state), max_units * unit_bytes));
    return;
  }
  barrier.units = static_cast<std::int16_t>(units);
  store(state, barrier);
  end_phase_if_complete(thread, state, "bulk_copy", site);
}

void BlockRunner::end_phase_if_complete(const Thread& thread, std::uint64_t* state,
                                        const char* function, const Site& site) {
  Mbarrier barrier = load(state);
  if (barrier.missing != 0 || barrier.units > 0) return;
  if (barrier.units < 0) {
    record_fault(thread, &site,
                 fmt::format("{} at {}, so the phase cannot end: announce what the copies bring, "
                             "by mbarrier_arrive_expecting",
                             function, describe_mbarrier(state)));
    return;
  }
  // On a GPU, who looks only after the second end sees the first one's parity, and waits on.
  for (int i = 0; i < size_; ++i) {
    const Thread& other = thread_at(i);
    if (other.mbarrier != state || other.state == Thread::State::waiting) continue;
    const unsigned expected = barrier.expected;
    record_fault(
        thread, &site,
        fmt::format("{} ends a phase of {} while thread {} has not yet seen the end of "
                    "the phase before: let it see that before all {} arrivals, or "
                    "initialise for more",
                    function, describe_mbarrier(state), to_text(other.thread_index), expected));
    return;
  }
  barrier.missing = barrier.expected;
  ++barrier.phase;
  store(state, barrier);
  make_ready_if([&](const Thread& other) { return other.mbarrier == state; });
}

// Bytes that a block leaves unsettled at its mbarriers, where nothing else lies there by then.
void BlockRunner::check_mbarriers_at_end() {
  for (const std::uint64_t* state : mbarriers_) {
    const Mbarrier barrier = load(state);
    if (barrier.mark != initialised || barrier.units == 0) continue;
    record_fault(thread_at(0), nullptr,
                 fmt::format("the block ends with {}: announce by mbarrier_arrive_expecting what "
                             "the copies bring, in the same phase",
                             describe_mbarrier(state)));
  }
}

void BlockRunner::arrive_at_mbarrier(Thread& thread, std::uint64_t* state, Site site) {
  arrive(thread, {state, site}, "mbarrier_arrive");
  let_others_run(thread);
}

void BlockRunner::arrive_expecting(Thread& thread, std::uint64_t* state, unsigned bytes,
                                   Site site) {
  arrive(thread, {state, site}, "mbarrier_arrive_expecting", bytes);
  let_others_run(thread);
}

void BlockRunner::arrive_after_copies(Thread& thread, std::uint64_t* state, Site site) {
  if (is_usable(thread, state, "mbarrier_arrive_after_copies", site)) {
    thread.async.emplace_back(AsyncArrival{state, site});
  }
  let_others_run(thread);
}

void BlockRunner::wait_for_mbarrier(Thread& thread, const std::uint64_t* state, unsigned parity,
                                    Site site) {
  thread.function = "mbarrier_wait";
  thread.site = site;
  if (parity > 1) {
    fault(thread, &site, fmt::format("mbarrier_wait for parity {}: it is 0 or 1", parity));
  }
  if (!is_usable(thread, state, thread.function, site)) throw Unwind();
  if (load(state).phase % 2 != parity) {
    if (observer_) observer_->acquire(thread.index, state);
    let_others_run(thread);
    return;
  }
  thread.mbarrier = state;
  thread.parity = parity;
  thread.state = Thread::State::waiting;
  suspend(thread);
  if (observer_) observer_->acquire(thread.index, state);
  thread.mbarrier = nullptr;
}

void BlockRunner::sync_some_threads(Thread& thread, int id, int threads, Site site) {
  thread.function = "sync_some_threads";
  thread.site = site;
  const auto refuse = [&](const std::string& text) {
    fault(thread, &site,
          fmt::format("sync_some_threads of {} threads at barrier {}: {}", threads, id, text));
  };
  if (id < 1 || id > 15) refuse("take a barrier from 1 to 15");
  if (threads < 1 || threads > size_ || threads % ptx_warp_size != 0) {
    refuse(fmt::format("make it whole warps of {}, of the {} threads that the block has",
                       ptx_warp_size, size_));
  }
  NamedBarrier& barrier = named_barriers_[static_cast<std::size_t>(id)];
  if (barrier.arrived == 0) {
    barrier = {.threads = threads, .arrived = 0, .first = &thread};
  } else if (barrier.threads != threads) {
    refuse(fmt::format("thread {} waits there for {}: let all name the same number",
                       to_text(barrier.first->thread_index), barrier.threads));
  }
  const auto is_here = [&](const Thread& other) {
    return &other == &thread ||
           (other.state == Thread::State::waiting && other.named_barrier == id);
  };
  if (barrier.arrived + 1 == threads) {
    for (int i = 0; i < size_; ++i) {
      const int first = i / ptx_warp_size * ptx_warp_size;
      if (is_here(thread_at(i)) == is_here(thread_at(first))) continue;
      refuse(fmt::format("threads {} to {} are one warp, but not all of them came", first,
                         first + ptx_warp_size - 1));
    }
  }
  if (observer_) observer_->release(thread.index, &barrier);
  thread.named_barrier = id;
  thread.state = Thread::State::waiting;
  if (++barrier.arrived == threads) {
    barrier.arrived = 0;
    make_ready_if(is_here);
  }
  suspend(thread);
  if (observer_) observer_->acquire(thread.index, &barrier);
  thread.named_barrier = 0;
}

}  // namespace kw::host_simt
