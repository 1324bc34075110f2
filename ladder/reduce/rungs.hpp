// The rungs' launch functions, one a file, and how each of them shares out the work. rungs.cu makes
// the table of them.
#pragma once

#include <algorithm>

#include "gpu/gpu.hpp"
#include "reduce/problem.hpp"

namespace KW_TARGET {

KernelLaunch<Reduce> r01_modulo_tree, r02_strided_index, r03_sequential, r04_first_add,
    r05_unrolled_warp, r06_unrolled, r07_many_loads, r08_shuffle, r09_vector_loads, r10_one_launch;

constexpr int block_size = 256;  // threads, as in S4

// How a launch shares n elements out among blocks.
struct Share {
  int elements_a_thread;  // at least so many, where there are enough
  bool resident;          // no more blocks than the device runs at once: they loop
};
constexpr Share one_element{1, false}, two_elements{2, false}, many_elements{8, true},
    many_vectors{16, true};

// At least one block: it writes the sum of nothing, 0.
inline std::int64_t blocks_for(Share share, std::int64_t n, const Device& device) {
  const std::int64_t wanted =
      std::max<std::int64_t>(ceil_div(n, std::int64_t{share.elements_a_thread} * block_size), 1);
  const std::int64_t at_once =
      std::int64_t{device.sm_count} * (device.max_threads_per_sm / block_size);
  return share.resident ? std::min(wanted, at_once) : wanted;
}

// Room for the partial sums of a launch, one a block; the next ones begin on a 256-byte boundary.
constexpr std::int64_t room_for(std::int64_t blocks) { return ceil_div(blocks, 64) * 64; }

// For rungs that launch again until one sum is left: the first launch's partial sums and the
// second's. The third writes over the first's, and so on.
template <Share share>
std::size_t two_partials(const Reduce& p, const Device& device) {
  const std::int64_t first = blocks_for(share, p.cols, device);
  const std::int64_t second = blocks_for(share, first, device);
  return static_cast<std::size_t>(room_for(first) + room_for(second)) * sizeof(float);
}

// For one launch.
template <Share share>
std::size_t one_partial(const Reduce& p, const Device& device) {
  return static_cast<std::size_t>(blocks_for(share, p.cols, device)) * sizeof(float);
}

}  // namespace KW_TARGET
