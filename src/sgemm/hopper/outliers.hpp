// Elements that fp16x3's pieces cannot hold. The split pass leaves zeros in their places and lists
// them; the product's epilogue adds their products (unscale.hpp). Each work item of the split pass
// has a list of its own, which its block sorts: so no block waits for another, a tile reads the
// lists of its own rows and columns alone, and sums have the same bits in every run.
#pragma once

#include "device/warp.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/hopper/split_items.hpp"
#include "sgemm/hopper/split_pass_tuning.hpp"

namespace KW_TARGET::hopper {

using namespace kw::hopper;

// The lists of one operand, in the workspace.
struct OutlierLists {
  unsigned* counts;   // [entry][row block][segment]
  Outlier* elements;  // listed_outliers of each
  unsigned row_blocks, segments;
  unsigned long long ns;  // that all tiles take for the products of each

  __device__ __forceinline__ std::int64_t first_of(std::int64_t entry,
                                                   std::int64_t row_block) const {
    return (entry * row_blocks + row_block) * segments;
  }
};

__device__ __forceinline__ bool comes_before(const Outlier& x, const Outlier& y) {
  return x.row != y.row ? x.row < y.row : x.k < y.k;
}

// In shared memory: the outliers of the items that a block splits, one after the other. Items take
// turns at two lists and at three counts, so that the block meets once an item: whoever comes late
// from there reads what nobody writes before the next meeting.
class FoundOutliers {
 public:
  // One thread calls this, before the block meets.
  __device__ __forceinline__ void begin() { counts_[0] = counts_[1] = counts_[2] = 0; }

  __device__ __forceinline__ void add(unsigned turn, const Outlier& found) {
    unsigned& count = counts_[turn % 3];
    // Once there are too many no more are counted: graded data would have all threads wait for it.
    if (*static_cast<volatile unsigned*>(&count) > listed_outliers) return;
    const unsigned at = atomicAdd(&count, 1u);
    if (at < listed_outliers) lists_[turn % 2][at] = found;
  }

  // Writes the sorted list of an item, and adds it to the totals. All threads of the block call it,
  // `tid` among them; they meet.
  __device__ __forceinline__ void write(unsigned turn, const OutlierLists& to, std::int64_t list,
                                        OutlierTotals& totals, int tid) {
    __syncthreads();
    const unsigned count = counts_[turn % 3];
    const unsigned listed = count < listed_outliers ? count : listed_outliers;
    if (tid == 0) {
      counts_[(turn + 2) % 3] = 0;
      to.counts[list] = listed;
      if (count > 0) {
        atomicAdd(&totals.count, count);
        atomicAdd(&totals.ns, listed * to.ns);
        if (count > listed) atomicMax(&totals.unlisted, 1u);
      }
    }
    if (tid >= static_cast<int>(listed)) return;
    const Outlier(&found)[listed_outliers] = lists_[turn % 2];
    const Outlier own = found[tid];
    unsigned rank = 0;
    for (unsigned other = 0; other < listed; ++other)
      rank += comes_before(found[other], own) ? 1 : 0;
    to.elements[list * listed_outliers + rank] = own;
  }

 private:
  Outlier lists_[2][listed_outliers];
  unsigned counts_[3];
};

// Calls body(held, count) for the lists of the row blocks from `row_block` on, in their order: each
// of the first `count` lanes holds an outlier. A warp calls it, and body, together.
template <class Body>
__device__ __forceinline__ void each_outliers(const OutlierLists& lists, std::int64_t entry,
                                              std::int64_t row_block, std::int64_t end_block,
                                              int lane, Body body) {
  const std::int64_t end =
      lists.first_of(entry, end_block < lists.row_blocks ? end_block : lists.row_blocks);
  for (std::int64_t first = lists.first_of(entry, row_block); first < end; first += warp_lanes) {
    const unsigned own = first + lane < end ? lists.counts[first + lane] : 0;
    for (auto some = static_cast<std::uint32_t>(__ballot_sync(whole_warp(), own != 0 ? 1 : 0));
         some != 0; some &= some - 1) {
      const int list = __ffs(static_cast<int>(some)) - 1;
      const int count = static_cast<int>(__shfl_sync(whole_warp(), own, list, warp_lanes));
      const Outlier* const elements = lists.elements + (first + list) * listed_outliers;
#pragma unroll 1
      for (int at = 0; at < count; at += warp_lanes) {
        const int here = count - at < warp_lanes ? count - at : warp_lanes;
        body(elements[at + (lane < here ? lane : 0)], here);
      }
    }
  }
}

}  // namespace KW_TARGET::hopper
