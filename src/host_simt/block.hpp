// Runs the blocks of a grid on one worker: a fiber a GPU thread, barriers and warp exchanges that
// switch fibers, copies that land later, and the bookkeeping that finds divergence and deadlock.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "host_simt/execution.hpp"
#include "host_simt/fiber.hpp"
#include "host_simt/host_simt.hpp"
#include "host_simt/observer.hpp"
#include "host_simt/shared_memory.hpp"
#include "host_simt/wgmma.hpp"

namespace kw::host_simt {

// Thrown through a kernel's frames to end a thread whose block has failed. Deliberately no
// std::exception.
struct Unwind {};

struct AsyncCopy {
  void* to;
  const void* from;
  int bytes;
  int source_bytes;
  const void* call;
};

struct AsyncGroupEnd {};
struct AsyncArrival {
  std::uint64_t* mbarrier;
  Site site;
};
using AsyncStep = std::variant<AsyncCopy, AsyncGroupEnd, AsyncArrival>;

struct Thread;
struct BulkCopy {
  void* to;
  const void* from;
  unsigned bytes;
  std::uint64_t* mbarrier;
  const Thread* thread;
  Site site;
  const void* call = nullptr;
};

class BlockRunner;
class ClusterRunner;

struct Thread : BuiltIns {
  enum class State { ready, waiting, exited };

  Thread(BlockRunner& runner_, int index_);

  BlockRunner& runner;
  int lane = 0;
  State state = State::exited;
  const char* function = "";  // where it waits, or did last
  Site site;
  std::uint64_t value = 0;                     // what it brings to a warp exchange,
  int source_lane = 0;                         // whose value it asks for there
  std::uint64_t result = 0;                    // and what it gets
  const std::uint64_t* mbarrier = nullptr;     // that it waits for, for the end of a phase
  unsigned parity = 0;                         // of this parity
  int named_barrier = 0;                       // that it waits at, or 0
  std::optional<std::uint64_t> cluster_phase;  // of the cluster's barrier where it has arrived
  std::vector<AsyncStep> async;                // what has not landed yet, oldest first
  WgmmaThread wgmma;
  Fiber fiber;
};

// Lanes that wait for each other at one shuffle, vote or warp barrier.
struct Exchange {
  std::uint64_t mask = 0;
  std::uint64_t arrived = 0;
  const char* function = "";
  Site site;
  bool vote = false;         // else a shuffle
  bool at_one_place = true;  // the lanes must meet at the same call, not just the same function
};

// Some threads of the block that wait for each other.
struct NamedBarrier {
  int threads = 0;  // that it waits for
  int arrived = 0;
  const Thread* first = nullptr;
};

struct Grid {
  LaunchConfig config;
  Options options;
  const std::function<void()>* body = nullptr;
  const std::string* kernel_name = nullptr;
  const std::vector<SharedSymbol>* arrays = nullptr;
};

constexpr std::uint64_t lane_bit(int lane) { return std::uint64_t{1} << lane; }

struct Warp {
  std::vector<Exchange> pending;  // disjoint masks may coexist
  std::uint64_t left = 0;         // lanes that have left the kernel
};

class BlockRunner {
 public:
  explicit BlockRunner(ClusterRunner& cluster) : cluster_(cluster) {}
  ~BlockRunner();
  BlockRunner(const BlockRunner&) = delete;
  BlockRunner& operator=(const BlockRunner&) = delete;

  // --- for the cluster

  // Makes it block `rank` of a cluster of the grid, before its first turn.
  void begin(const Grid& grid, std::uint64_t cluster, int rank);
  // Runs the block until it has ended or can go on only when other blocks have done something.
  void resume();
  int size() const { return size_; }
  bool has_ended() const { return exited_ == size_; }
  bool has_fault() const { return fault_.has_value(); }
  // Whether no thread is ready to run.
  bool is_stuck() const { return ready_begin_ == ready_end_; }
  // The text of the first fault, if any, once the block has ended.
  std::optional<std::string> fault_text() const { return fault_; }
  // Unwinds what runs yet, for a fault elsewhere.
  void abandon();
  // Which block has the first turn.
  int first_turn(int blocks);
  void wake_from_cluster();
  // Lands what another block's thread sends.
  void receive(const BulkCopy& copy);
  bool all_wait_for_cluster() const;
  void report_deadlock();

  // --- for the running thread (execution.hpp)

  const std::string& kernel_name() const { return *grid_->kernel_name; }
  ClusterRunner& cluster() { return cluster_; }
  // Lets all others run, of other blocks of the cluster too, before this thread looks again.
  void let_all_run(Thread& thread);
  void wait_for_cluster(Thread& thread, bool must_wait, Site site);
  int barrier(Thread& thread, const char* function, bool predicate, Site site);
  std::uint64_t exchange(Thread& thread, std::uint64_t mask, Exchange what);
  void init_mbarrier(const Thread& thread, std::uint64_t* state, unsigned arrivals, Site site);
  void arrive_at_mbarrier(Thread& thread, std::uint64_t* state, Site site);
  void arrive_expecting(Thread& thread, std::uint64_t* state, unsigned bytes, Site site);
  void arrive_after_copies(Thread& thread, std::uint64_t* state, Site site);
  void wait_for_mbarrier(Thread& thread, const std::uint64_t* state, unsigned parity, Site site);
  void sync_some_threads(Thread& thread, int id, int threads, Site site);
  void start_copy(Thread& thread, const AsyncCopy& copy);
  void wait_for_copies(Thread& thread, std::size_t pending_groups);
  void start_bulk_copy(const Thread& thread, const BulkCopy& copy);
  void issue_product(Thread& thread, const WgmmaProduct& product, float* acc);
  void wait_for_products(Thread& thread, std::uint64_t pending_groups, Site site);
  std::uint64_t existing_lanes(const Thread& thread) const;
  std::uint64_t running_lanes(const Thread& thread) const;
  [[noreturn]] void fault(const Thread& thread, const Site* site, const std::string& text);
  Fiber& home() { return home_; }
  void* dynamic_shared() const { return shared_.dynamic(); }

  // The life of a fiber: one GPU thread after the other, until the runner is destroyed.
  void live(Thread& thread);

 private:
  Thread& thread_at(int index) const { return *threads_[static_cast<std::size_t>(index)]; }
  Thread& lane_of(const Thread& thread, int lane) const;
  std::size_t warp_of(const Thread& thread) const;
  void complete(const Thread& thread, const Exchange& done);
  void execute(Thread& thread);
  void exit(Thread& thread);
  void check_leaving(Thread& thread);
  void check_end();
  void observe(std::uint64_t block);
  void suspend(Thread& thread);
  void let_others_run(Thread& thread);
  void make_ready(Thread& thread);
  template <class Chosen>
  void make_ready_if(Chosen chosen);
  Thread* take_ready();
  void let_other_blocks_run();
  std::uint32_t random_ready();
  std::uint64_t haste_of(const Thread& thread) const;
  std::uint32_t random_below(std::uint32_t bound);
  bool is_random() const { return grid_->options.order == Order::random; }

  bool is_usable(const Thread& thread, const std::uint64_t* state, const char* function, Site site);
  void arrive(const Thread& thread, const AsyncArrival& arrival, const char* function,
              unsigned bytes = 0);
  void complete_bytes(const Thread& thread, std::uint64_t* state, unsigned bytes, const Site& site);
  void end_phase_if_complete(const Thread& thread, std::uint64_t* state, const char* function,
                             const Site& site);
  void check_mbarriers_at_end();
  void land(Thread& thread, std::size_t steps);
  void land_some(Thread& thread);
  void land_until_ready();
  bool land_oldest_arrivals();

  void check_bulk_copy(const BulkCopy& copy);
  void land_bulk_copy(std::size_t index);
  void land_some_bulk_copies();
  void land_next_bulk_copy();
  void check_bulk_copies_at_end();

  void check_operand(const Thread& thread, const WgmmaProduct& product, const WgmmaOperand& operand,
                     const char* name, int rows);
  WgmmaProduct& enter_product(const Thread& thread, const WgmmaProduct& product);
  void take_accumulator(Thread& thread, WgmmaProduct& product, float* acc);
  void compute_products(const Thread& thread, std::uint64_t end);
  void compute_some(const Thread& thread);
  void give_back_accumulators(Thread& thread, std::uint64_t end, const Site& site);
  void check_products_left(const Thread& thread);
  void check_products_at_end();

  std::string describe_mbarrier(const std::uint64_t* state) const;
  bool waits_for_bytes_only(const std::uint64_t* state) const;
  std::string describe_wait(const Thread& thread) const;

  void record_fault(const Thread& thread, const Site* site, const std::string& text);
  std::string describe_waits() const;

  ClusterRunner& cluster_;
  const Grid* grid_ = nullptr;
  int size_ = 0;  // threads of the block
  bool quit_ = false;
  std::optional<std::string> fault_;
  std::uint64_t random_ = 1;
  std::uint64_t block_seed_ = 0;

  int exited_ = 0;
  int at_barrier_ = 0;
  int predicates_ = 0;      // of those at the barrier
  int barrier_result_ = 0;  // of the last one that was complete
  const Thread* first_at_barrier_ = nullptr;
  std::vector<Warp> warps_;
  std::unique_ptr<BlockObserver> observer_;
  std::array<NamedBarrier, 16> named_barriers_;
  std::vector<std::uint64_t*> mbarriers_;  // that this block has initialised
  std::vector<BulkCopy> bulk_copies_;      // that have not landed yet, oldest first
  std::vector<Warpgroup> warpgroups_;      // as many as have issued products

  // A ring: every thread is in it once at most.
  std::vector<Thread*> ready_ = std::vector<Thread*>(max_threads_per_block);
  std::uint32_t ready_begin_ = 0, ready_end_ = 0;

  SharedMemory shared_;
  Fiber home_;              // the worker's own stack
  Thread* next_ = nullptr;  // with whom the next turn begins
  std::vector<std::unique_ptr<Thread>> threads_;
};

// The GPU thread that runs now on this worker. Kernels cannot change their built-in variables; the
// scheduler's Thread around them it may.
inline Thread& this_thread() { return const_cast<Thread&>(static_cast<const Thread&>(*built_ins)); }

template <class Chosen>
void BlockRunner::make_ready_if(Chosen chosen) {
  const bool reverse = grid_->options.order == Order::reverse;
  for (int i = 0; i < size_; ++i) {
    Thread& thread = thread_at(reverse ? size_ - 1 - i : i);
    if (chosen(thread)) make_ready(thread);
  }
}

bool waits_for_cluster(const Thread& thread);
bool same_place(const Site& a, const Site& b);
// "(3,0,0)"
std::string to_text(const uint3& index);
// "r03_shared_tile.cu:31"
std::string to_text(const Site& site);

}  // namespace kw::host_simt
