// Host SIMT as host code sees it: how kernels are run, what they are run on, and what went wrong.
// Every setting has an environment variable, read once when the program first asks for options():
//   KW_HOST_SIMT_WARP_SIZE  32 or 64 lanes
//   KW_HOST_SIMT_ORDER      forward, reverse or random: who runs next when a thread waits
//   KW_HOST_SIMT_SEED       what the random order follows from; a seed repeats a run exactly
//   KW_HOST_SIMT_POISON     1: shared memory is NaN when a block starts; 0: what was left there
//   KW_HOST_SIMT_WORKERS    operating-system threads that run blocks; always 1 under
//   AddressSanitizer
//   KW_HOST_SIMT_FENCES     1: touching what lies 16 bytes behind an allocation ends the program;
//   0: only writing there is found, when it is released
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "host_simt/vector_types.hpp"
#include "status.hpp"

namespace kw::host_simt {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool address_sanitizer = true;
#else
inline constexpr bool address_sanitizer = false;
#endif

class LaunchObserver;

enum class Order { forward, reverse, random };
const char* to_string(Order order);
bool parse_order(std::string_view name, Order* order);

struct Options {
  int warp_size = 32;
  Order order = Order::random;
  std::uint64_t seed = 1;
  bool poison = true;
  bool fences = false;                 // of later allocations; AddressSanitizer has its own
  int workers = 0;                     // 0: one a hardware thread, at most 16
  int multiprocessors = 0;             // that the device has; 0: one a worker
  std::size_t block_shared_bytes = 0;  // that a block can ask for; 0: max_shared_bytes
  LaunchObserver* observer = nullptr;  // of every launch; null: nobody watches
};

// The options of every later launch. Change them only while no launch is running.
Options& options();
// An error where an environment variable has a value that means nothing; every launch returns it.
Status environment_status();
int worker_count(const Options& options);

// The limits of the device that is modelled.
inline constexpr unsigned max_threads_per_block = 1024;
inline constexpr dim3 max_block{1024, 1024, 64};
inline constexpr dim3 max_grid{2147483647, 65535, 65535};
inline constexpr std::size_t max_shared_bytes = 232448;
inline constexpr int max_cluster = 16;

struct LaunchConfig {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes = 0;
  int cluster = 1;  // neighbouring blocks along x that run side by side
};

// Runs `body`, a call of `kernel`, once a GPU thread, and returns when the whole grid is done or a
// fault has ended it. A fault is a device_error that names kernel, block, thread, file and line.
// Any number of threads may launch; their launches take turns.
Status launch(const void* kernel, const LaunchConfig& config, const std::function<void()>& body);

// Ends the worker threads and frees their memory; the next launch starts new ones.
void shutdown();

// The __shared__ arrays that `kernel` can reach, as the program's symbol table has them: its own
// and those of device functions.
struct SharedArray {
  std::string name;       // "as"
  std::uintptr_t offset;  // from the worker's thread-local storage; under ASan from the program
  std::size_t bytes;
};
std::vector<SharedArray> shared_arrays(const void* kernel);
// Empty, or why static shared memory cannot be poisoned (the program has no symbol table).
std::string poison_obstacle();

}  // namespace kw::host_simt
