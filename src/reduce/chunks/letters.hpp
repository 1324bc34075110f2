// The totals that blocks have left in letters (device/mailbox.hpp), merged by the block that waits
// for them.
#pragma once

#include <cstdint>

#include "device/mailbox.hpp"
#include "device/warp.hpp"
#include "gpu/gpu.hpp"

namespace KW_TARGET {

// What blocks `first` to `last` - 1, one at least, have left, of which each of `threads` threads
// merges every so many; the letters are empty again. All lanes of a warp look as long as one of
// them misses something: a warp that stays together looks faster than one that splits.
template <class A, int threads, class Index>
__device__ __forceinline__ typename A::Total merge_letters(Letter* box, Index first, Index last,
                                                           int thread) {
  using Total = typename A::Total;
  Total total = A::empty_total();
  for (Index block = first + thread; block - thread % warp_lanes < last; block += threads) {
    const bool mine = block < last;
    Letter* const letter = box + letters_of<Total> * (mine ? block : last - 1);
    Total delivered;
    while (__any_sync(whole_warp(), !look(letter, &delivered) && mine)) {
    }
    if (mine) {
      A::merge(total, delivered);
      clear<Total>(letter);
    }
  }
  return total;
}

}  // namespace KW_TARGET
