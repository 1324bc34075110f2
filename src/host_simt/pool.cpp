// See pool.hpp; and the entry point of every launch.
#include "host_simt/pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <system_error>
#include <utility>

namespace kw::host_simt {

Pool::Pool(int workers) {
  try {
    for (int i = 0; i < workers; ++i) threads_.emplace_back([this, i] { work(i); });
  } catch (...) {
    stop();
    throw;
  }
}

Pool::~Pool() { stop(); }

void Pool::stop() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
  }
  started_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::optional<std::string> Pool::run(const Grid& grid) {
  std::unique_lock lock(mutex_);
  const dim3& extent = grid.config.grid;
  grid_ = &grid;
  const auto size = static_cast<unsigned>(grid.config.cluster);
  clusters_ = std::uint64_t{extent.x / size} * extent.y * extent.z;
  next_cluster_ = 0;
  fault_.reset();
  // The blocks of a cluster need as many stacks as those of so many workers.
  const std::size_t workers = std::max<std::size_t>(1, threads_.size() / size);
  busy_ = wanted_ = static_cast<int>(std::min<std::uint64_t>(clusters_, workers));
  ++generation_;
  started_.notify_all();
  finished_.wait(lock, [&] { return busy_ == 0; });
  return std::move(fault_);
}

void Pool::work(int worker) {
  ClusterRunner runner;
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    started_.wait(lock, [&] { return quit_ || generation_ != seen; });
    if (quit_) return;
    seen = generation_;
    if (worker >= wanted_) continue;
    lock.unlock();
    run_clusters(runner);
    lock.lock();
    if (--busy_ == 0) finished_.notify_one();
  }
}

void Pool::run_clusters(ClusterRunner& runner) {
  for (std::uint64_t cluster; (cluster = next_cluster_++) < clusters_;) {
    std::optional<std::string> fault;
    try {
      fault = runner.run(*grid_, cluster);
    } catch (const std::bad_alloc&) {
      const dim3& extent = grid_->config.block;
      fault = fmt::format(
          "no memory for the stacks of {} GPU threads on each of {} workers: set "
          "KW_HOST_SIMT_WORKERS lower",
          extent.x * extent.y * extent.z * static_cast<unsigned>(grid_->config.cluster), workers());
    }
    if (!fault) continue;
    next_cluster_ = clusters_;  // the launch ends here
    const std::lock_guard lock(mutex_);
    if (!fault_) fault_ = std::move(fault);
  }
}

namespace {

template <class... Args>
Status invalid(const std::string& kernel, fmt::format_string<Args...> text, Args&&... args) {
  return Status::failure(
      StatusCode::device_error,
      fmt::format("kernel {}: {}", kernel, fmt::format(text, std::forward<Args>(args)...)));
}

std::string to_text(const dim3& extent) {
  return host_simt::to_text(uint3{extent.x, extent.y, extent.z});
}

bool exceeds(const dim3& extent, const dim3& limit) {
  return extent.x > limit.x || extent.y > limit.y || extent.z > limit.z;
}

Status check_config(const std::string& kernel, const LaunchConfig& config) {
  const dim3& block = config.block;
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  if (threads == 0) {
    return invalid(kernel, "block {} has no threads: every extent must be 1 or more",
                   to_text(block));
  }
  if (threads > max_threads_per_block || exceeds(block, max_block)) {
    return invalid(kernel, "block {} has {} threads: at most {} in all and {} along the axes",
                   to_text(block), threads, max_threads_per_block, to_text(max_block));
  }
  if (exceeds(config.grid, max_grid)) {
    return invalid(kernel, "grid {} is too large: at most {} blocks along the axes",
                   to_text(config.grid), to_text(max_grid));
  }
  if (config.shared_bytes > max_shared_bytes) {
    return invalid(kernel, "{} bytes of dynamic shared memory a block: at most {}",
                   config.shared_bytes, max_shared_bytes);
  }
  if (config.cluster < 1 || config.cluster > max_cluster ||
      config.grid.x % static_cast<unsigned>(config.cluster) != 0) {
    return invalid(kernel,
                   "clusters of {} blocks in grid {}: make them 1 to {} blocks along x, of "
                   "which the grid is a multiple",
                   config.cluster, to_text(config.grid), max_cluster);
  }
  return Status::success();
}

struct Kernel {
  std::string name;
  std::vector<SharedSymbol> arrays;
};

// The blocks of a cluster run on one worker, which has each static array once.
Status check_arrays(const Kernel& kernel, const LaunchConfig& config) {
  if (config.cluster == 1) return Status::success();
  for (const SharedSymbol& array : kernel.arrays) {
    if (!is_of_kernel(array)) continue;
    return invalid(kernel.name,
                   "clusters of {} blocks, which have static shared memory ({}): use dynamic",
                   config.cluster, short_name(array.symbol));
  }
  return Status::success();
}

struct Launcher {
  std::mutex mutex;  // launches take turns
  std::unique_ptr<Pool> pool;
  std::map<const void*, Kernel> kernels;

  const Kernel& find(const void* address) {
    const auto known = kernels.find(address);
    if (known != kernels.end()) return known->second;
    const ProgramSymbols& symbols = ProgramSymbols::instance();
    return kernels[address] = {symbols.kernel_name(address), symbols.reachable_from(address)};
  }
};

Launcher& launcher() {
  static Launcher launcher;
  return launcher;
}

}  // namespace

Status launch(const void* kernel, const LaunchConfig& config, const std::function<void()>& body) {
  if (built_ins != nullptr) {
    return Status::failure(StatusCode::device_error,
                           "a kernel cannot launch another one: launch it from host code");
  }
  if (Status status = environment_status(); !status.ok()) return status;
  Launcher& self = launcher();
  const std::lock_guard lock(self.mutex);
  const Kernel& known = self.find(kernel);
  if (Status status = check_config(known.name, config); !status.ok()) return status;
  if (Status status = check_arrays(known, config); !status.ok()) return status;
  if (std::uint64_t{config.grid.x} * config.grid.y * config.grid.z == 0) return Status::success();

  const Grid grid{config, options(), &body, &known.name, &known.arrays};
  const int workers = worker_count(grid.options);
  if (!self.pool || self.pool->workers() != workers) {
    self.pool.reset();
    try {
      self.pool = std::make_unique<Pool>(workers);
    } catch (const std::system_error& error) {
      return Status::failure(
          StatusCode::device_error,
          fmt::format(
              "host SIMT cannot start {} worker threads ({}): set KW_HOST_SIMT_WORKERS lower",
              workers, error.what()));
    }
  }
  if (grid.options.observer != nullptr) grid.options.observer->begin_launch(known.name, config);
  if (std::optional<std::string> fault = self.pool->run(grid)) {
    return Status::failure(StatusCode::device_error, *fault);
  }
  return Status::success();
}

void shutdown() {
  Launcher& self = launcher();
  const std::lock_guard lock(self.mutex);
  self.pool.reset();
}

}  // namespace kw::host_simt
