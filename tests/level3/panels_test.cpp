// How many rows a block of threads takes of a Cholesky factorisation's panel: all are had, and they
// fit into what shared memory a device has.
#include <gtest/gtest.h>

#include "level3/cholesky_panel.hpp"

namespace kw {
namespace {

TEST(CholeskyPanels, RowsFitAndCoverWhatIsBelow) {
  // Compute capability 8.6, 8.0 and 9.0.
  for (const std::size_t shared : {101376u, 166912u, 232448u}) {
    for (const int multiprocessors : {1, 84, 132}) {
      Device device;
      device.shared_bytes_per_block_optin = shared;
      device.sm_count = multiprocessors;
      ASSERT_TRUE(on_host::has_panels(device));
      for (const std::int64_t below : {0, 1, 32, 33, 4096, 32640, 1 << 20}) {
        const int rows = on_host::panel_rows_for(below, device);
        EXPECT_LE(on_host::panel_shared_bytes(rows), shared);
        EXPECT_LE(rows, on_host::panel_most_rows);
        EXPECT_EQ(rows % on_host::panel_row_step, 0);
        EXPECT_EQ(rows == 0, below == 0) << below;
      }
    }
  }
  Device small;
  small.shared_bytes_per_block_optin = 65536;
  EXPECT_FALSE(on_host::has_panels(small));
}

}  // namespace
}  // namespace kw
