// What the tests of stream_tile's plans share: devices, products, and a tile whose times tell
// prices apart.
#pragma once

#include <cstdint>

#include "sgemm/stream/plan.hpp"
#include "sgemm/tile_support.hpp"

namespace kw {

inline Device stream_device(int sms = 132) {
  Device device;
  device.sm_count = sms;
  return device;
}

inline Sgemm stream_product(std::int64_t m, std::int64_t n, std::int64_t k,
                            std::int64_t batch = 1) {
  Sgemm p = test::padded_product(m, n, k);
  p.batch = batch;
  return p;
}

// The times of a configuration whose copies and stores differ by how the operands lie.
inline StreamTile tile_of_times(int bm, int bn, int bk) {
  StreamTile tile = stream_tiles[0];
  tile.config.bm = bm, tile.config.bn = bn, tile.config.bk = bk;
  tile.times = {.start_us = 10,
                .tile_us = 5,
                .iteration_us = 4,
                .crowded_iteration_us = 7,
                .along_k_us = 0.9,
                .by_4_us = 0.3,
                .store_by_4_us = 2,
                .exposed = 0.5,
                .part_us = 3,
                .each_part_us = 0.25};
  return tile;
}

}  // namespace kw
