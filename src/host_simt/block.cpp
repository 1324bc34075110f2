// One block: its threads' lives, their order and the block-wide barrier. See block.hpp; exchanges
// of a warp are in warp.cpp, barriers of some threads in mbarrier.cpp, copies that land later in
// async_copy.cpp and bulk_copy.cpp, products that are computed later in wgmma.cpp, texts of faults
// in fault.cpp.
#include "host_simt/block.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "arithmetic.hpp"
#include "host_simt/cluster.hpp"
#include "host_simt/uneven_warps.hpp"

namespace kw::host_simt {
namespace {

// SplitMix64: neighbouring blocks and seeds get unrelated orders.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// Position `linear` in a box of `extent`, x fastest.
uint3 unflatten(std::uint64_t linear, const dim3& extent) {
  return {static_cast<unsigned>(linear % extent.x),
          static_cast<unsigned>(linear / extent.x % extent.y),
          static_cast<unsigned>(linear / extent.x / extent.y)};
}

constexpr const char* cluster_wait = "wait_for_cluster";

}  // namespace

bool waits_for_cluster(const Thread& thread) {
  return thread.state == Thread::State::waiting && thread.function == cluster_wait;
}

bool& uneven_warps() {
  static bool uneven = false;
  return uneven;
}

Thread::Thread(BlockRunner& runner_, int index_)
    : BuiltIns{},
      runner(runner_),
      fiber(static_cast<std::size_t>(index_), &runner_.home(), [this] { runner.live(*this); }) {}

BlockRunner::~BlockRunner() {
  quit_ = true;
  for (const auto& thread : threads_) home_.switch_to(thread->fiber);
}

void BlockRunner::resume() {
  if (next_ == nullptr) next_ = take_ready();
  built_ins = next_;
  home_.switch_to(next_->fiber);
  built_ins = nullptr;
  if (has_ended()) check_end();
}

// Ends the turn of the block, on the stack of a thread that waits or has left.
void BlockRunner::let_other_blocks_run() {
  next_ = &this_thread();
  next_->fiber.switch_to(home_);
}

void BlockRunner::abandon() {
  if (has_ended()) return;
  if (!fault_) fault_.emplace();
  make_ready_if([](const Thread& thread) { return thread.state == Thread::State::waiting; });
  resume();
}

void BlockRunner::check_end() {
  if (!fault_ && shared_.overrun()) {
    record_fault(thread_at(0), nullptr,
                 fmt::format("a thread of this block wrote outside of its {} bytes of dynamic "
                             "shared memory: launch with more, or index less",
                             grid_->config.shared_bytes));
  }
  check_bulk_copies_at_end();
  check_mbarriers_at_end();
  check_products_at_end();
  if (!fault_ && observer_) grid_->options.observer->end_block(std::move(observer_));
}

void BlockRunner::begin(const Grid& grid, std::uint64_t cluster, int rank) {
  grid_ = &grid;
  const auto blocks = static_cast<std::uint64_t>(grid.config.cluster);
  const std::uint64_t block = cluster * blocks + static_cast<std::uint64_t>(rank);
  const dim3& extent = grid.config.block;
  size_ = static_cast<int>(extent.x * extent.y * extent.z);
  while (threads_.size() < static_cast<std::size_t>(size_)) {
    threads_.push_back(std::make_unique<Thread>(*this, static_cast<int>(threads_.size())));
  }
  const int warp_size = grid.options.warp_size;
  const uint3 block_index = unflatten(block, grid.config.grid);
  for (int i = 0; i < size_; ++i) {
    Thread& thread = thread_at(i);
    static_cast<BuiltIns&>(thread) = {unflatten(static_cast<std::uint64_t>(i), extent),
                                      block_index,
                                      extent,
                                      grid.config.grid,
                                      warp_size,
                                      static_cast<int>(block_index.x / blocks),
                                      rank,
                                      i,
                                      nullptr};
    thread.lane = i % warp_size;
    thread.mbarrier = nullptr;
    thread.named_barrier = 0;
    thread.cluster_phase.reset();
    thread.async.clear();
    thread.wgmma = {};
  }
  warps_.resize(static_cast<std::size_t>(ceil_div(size_, warp_size)));
  for (Warp& warp : warps_) {
    warp.pending.clear();
    warp.left = 0;
  }
  named_barriers_.fill({});
  mbarriers_.clear();
  bulk_copies_.clear();
  warpgroups_.clear();

  fault_.reset();
  next_ = nullptr;
  block_seed_ = mix(mix(grid.options.seed) + block);
  random_ = block_seed_ | 1;
  exited_ = at_barrier_ = predicates_ = 0;
  ready_begin_ = ready_end_ = 0;
  make_ready_if([](const Thread&) { return true; });
  shared_.prepare(*grid.arrays, grid.config.shared_bytes, grid.options.poison);
  observe(block);
}

void BlockRunner::observe(std::uint64_t block) {
  observer_.reset();
  LaunchObserver* const of_launch = grid_->options.observer;
  if (of_launch == nullptr) return;
  observer_ = of_launch->begin_block({*grid_->kernel_name, grid_->config, block, size_,
                                      grid_->options.warp_size, shared_.ranges(*grid_->arrays)});
  for (int i = 0; i < size_; ++i) thread_at(i).observer = observer_.get();
}

void BlockRunner::live(Thread& thread) {
  while (!quit_) {
    execute(thread);
    exit(thread);
  }
}

void BlockRunner::execute(Thread& thread) {
  if (fault_) return;  // never started
  try {
    (*grid_->body)();
  } catch (const Unwind&) {
    return;
  } catch (const std::exception& error) {
    record_fault(thread, nullptr, fmt::format("the kernel threw an exception: {}", error.what()));
  } catch (...) {
    record_fault(thread, nullptr, "the kernel threw an exception");
  }
  if (!fault_) check_leaving(thread);
}

// Goes on with another thread, and returns when this one's fiber is started anew.
void BlockRunner::exit(Thread& thread) {
  thread.state = Thread::State::exited;
  warps_[warp_of(thread)].left |= lane_bit(thread.lane);
  ++exited_;
  if (observer_) observer_->left_kernel(thread.index);
  cluster_.count_leaving();
  if (exited_ == size_) {
    thread.fiber.switch_to(home_);
    return;
  }
  land_some(thread);
  Thread* next = take_ready();
  built_ins = next;
  thread.fiber.switch_to(next->fiber);
}

void BlockRunner::check_leaving(Thread& thread) {
  if (at_barrier_ > 0) {
    record_fault(thread, nullptr,
                 fmt::format("divergent barrier: it left the kernel while thread {} waits at {} "
                             "({}): every thread of the block must come there",
                             to_text(first_at_barrier_->thread_index), first_at_barrier_->function,
                             to_text(first_at_barrier_->site)));
    return;
  }
  if (thread.cluster_phase) {
    record_fault(thread, nullptr,
                 "it left the kernel between arrive_at_cluster and wait_for_cluster");
    return;
  }
  check_products_left(thread);
  for (const Exchange& pending : warps_[warp_of(thread)].pending) {
    if ((pending.mask >> thread.lane & 1) == 0) continue;
    record_fault(thread, nullptr,
                 fmt::format("it left the kernel while lanes of its warp wait for it at {} ({}): "
                             "take its lane {} out of the mask",
                             pending.function, to_text(pending.site), thread.lane));
    return;
  }
}

// Lets others run until this thread is ready again.
void BlockRunner::suspend(Thread& thread) {
  land_some(thread);
  // A fault since the thread last ran, of a copy that landed: nobody else will wake it.
  if (fault_ && thread.state == Thread::State::waiting) make_ready(thread);
  Thread* next = take_ready();
  if (next != &thread) {
    built_ins = next;
    thread.fiber.switch_to(next->fiber);
  }
  if (fault_) throw Unwind();
}

// After what may let others go on: in random order they perhaps do, before this thread does more.
void BlockRunner::let_others_run(Thread& thread) {
  if (fault_) throw Unwind();
  if (!is_random() || random_below(2) == 0) return;
  make_ready(thread);
  suspend(thread);
}

void BlockRunner::make_ready(Thread& thread) {
  thread.state = Thread::State::ready;
  ready_[ready_end_++ % ready_.size()] = &thread;
}

Thread* BlockRunner::take_ready() {
  land_until_ready();
  while (is_stuck() && cluster_.size() > 1) let_other_blocks_run();  // which may wake a thread
  if (is_stuck()) report_deadlock();
  Thread*& first = ready_[ready_begin_ % ready_.size()];
  if (is_random()) std::swap(first, ready_[random_ready()]);
  ++ready_begin_;
  return first;
}

// Where in the ring a thread is that may run next. With uneven warps it is the hastiest of several:
// a warp with little haste runs when the others wait for it, and seldom else.
std::uint32_t BlockRunner::random_ready() {
  const auto draw = [this] {
    const std::uint32_t at = ready_begin_ + random_below(ready_end_ - ready_begin_);
    return at % static_cast<std::uint32_t>(ready_.size());
  };
  std::uint32_t best = draw();
  constexpr int draws = 8;
  for (int i = 1; uneven_warps() && i < draws; ++i) {
    const std::uint32_t other = draw();
    if (haste_of(*ready_[other]) > haste_of(*ready_[best])) best = other;
  }
  return best;
}

// The haste of the thread's warp, drawn anew for each block.
std::uint64_t BlockRunner::haste_of(const Thread& thread) const {
  return mix(block_seed_ + static_cast<std::uint64_t>(thread.index / grid_->options.warp_size));
}

std::uint32_t BlockRunner::random_below(std::uint32_t bound) {
  random_ ^= random_ << 13;  // xorshift64
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return static_cast<std::uint32_t>((random_ >> 32) * bound >> 32);
}

bool BlockRunner::all_wait_for_cluster() const {
  return std::all_of(threads_.begin(), threads_.begin() + size_, [](const auto& thread) {
    return thread->state == Thread::State::exited || waits_for_cluster(*thread);
  });
}

void BlockRunner::wake_from_cluster() { make_ready_if(waits_for_cluster); }

int BlockRunner::first_turn(int blocks) {
  return is_random() && blocks > 1
             ? static_cast<int>(random_below(static_cast<std::uint32_t>(blocks)))
             : 0;
}

void BlockRunner::wait_for_cluster(Thread& thread, bool must_wait, Site site) {
  thread.function = cluster_wait;
  thread.site = site;
  if (!must_wait) return let_others_run(thread);
  thread.state = Thread::State::waiting;
  suspend(thread);
}

void BlockRunner::let_all_run(Thread& thread) {
  make_ready(thread);
  if (cluster_.size() > 1) let_other_blocks_run();
  suspend(thread);
}

int BlockRunner::barrier(Thread& thread, const char* function, bool predicate, Site site) {
  if (exited_ > 0) {
    fault(thread, &site,
          fmt::format("divergent barrier: it waits at {} but {} of the block's {} threads have "
                      "left the kernel: every thread of the block must come there",
                      function, exited_, size_));
  }
  if (at_barrier_ == 0) {
    first_at_barrier_ = &thread;
  } else if (!same_place(first_at_barrier_->site, site)) {
    fault(thread, &site,
          fmt::format("divergent barrier: it waits at {} while thread {} waits at {} ({}): let "
                      "all threads of the block meet at the same one",
                      function, to_text(first_at_barrier_->thread_index),
                      first_at_barrier_->function, to_text(first_at_barrier_->site)));
  }
  thread.function = function;
  thread.site = site;
  thread.state = Thread::State::waiting;
  predicates_ += predicate ? 1 : 0;
  if (++at_barrier_ == size_) {
    barrier_result_ = predicates_;
    at_barrier_ = predicates_ = 0;
    if (observer_) observer_->block_met();
    make_ready_if([](const Thread&) { return true; });
  }
  suspend(thread);
  return barrier_result_;
}

}  // namespace kw::host_simt
