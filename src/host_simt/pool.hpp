// The worker threads that a grid's blocks are spread over.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "host_simt/cluster.hpp"

namespace kw::host_simt {

class Pool {
 public:
  explicit Pool(int workers);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  int workers() const { return static_cast<int>(threads_.size()); }
  // Runs all blocks; the text of the first fault, if any. One call at a time.
  std::optional<std::string> run(const Grid& grid);

 private:
  void stop();
  void work(int worker);
  void run_clusters(ClusterRunner& runner);

  std::mutex mutex_;
  std::condition_variable started_, finished_;
  std::uint64_t generation_ = 0;  // grids so far
  int wanted_ = 0;                // workers that this grid has clusters for
  int busy_ = 0;                  // of those, how many are not done
  bool quit_ = false;

  const Grid* grid_ = nullptr;
  std::uint64_t clusters_ = 0;  // a block alone is one, too
  std::atomic<std::uint64_t> next_cluster_ = 0;
  std::optional<std::string> fault_;

  std::vector<std::thread> threads_;
};

}  // namespace kw::host_simt
