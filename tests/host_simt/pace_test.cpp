// Blocks that keep pace (sgemm/hopper/pace.hpp): how far one gets ahead of another, and that it
// does not wait for one that never comes.
#include "sgemm/hopper/pace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "fixture.hpp"

namespace KW_TARGET {
namespace {

using hopper::Control;
using hopper::pace_stages;

constexpr int stages = 20 * pace_stages + 3, steps = 20;

// Where each block is, in stages, and by how much block 1 was ahead of block 0 at most.
struct Progress {
  std::atomic<int> at[2] = {};
  std::atomic<int> lead = 0;
};

// A warp a block goes through `tiles` tiles; block 0 takes its time at first.
__global__ void keep_pace(const hopper::ProductParams params, int tiles, int looks,
                          Progress* progress) {
  hopper::Pace pace(params, looks);
  const unsigned block = blockIdx.x;
  for (int i = 0; i < tiles * stages; ++i) {
    pace.before(i / stages * params.schedule.blocks + static_cast<int>(block), i % stages);
    if (threadIdx.x != 0) continue;
    if (block == 0 && i < 2 * pace_stages)
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    progress->at[block] = i;
    if (block == 1) progress->lead = std::max<int>(progress->lead, i - progress->at[0]);
  }
}

class Paces : public HostSimt {
 protected:
  Paces() {
    params_.control = control_.get();
    params_.schedule = hopper::whole_schedule(5, stages, 2);
    params_.schedule.paced_tiles = 4;
  }
  void run(int tiles, int looks = hopper::most_looks) {
    control_->paced = 0;
    expect_ok(gpu::launch(keep_pace, {2, 32}, params_, tiles, looks, &progress_));
  }

  std::unique_ptr<Control> control_ = std::make_unique<Control>();
  hopper::ProductParams params_;
  Progress progress_;
};

TEST_F(Paces, NoBlockIsMoreThanTwoStepsAhead) {
  options().workers = 2;
  run(2, 100'000'000);  // seconds
  EXPECT_LE(progress_.lead, 2 * pace_stages);
  EXPECT_EQ(control_->paced, 2u * 2 * steps) << "each block, at each step of two tiles";
}

// One block after the other: the first one would wait for ever.
TEST_F(Paces, EndWhereABlockWaitsForOneThatDoesNotRun) {
  options().workers = 1;
  run(2);
  EXPECT_EQ(control_->paced, 2u * 2 * steps);
}

// The last round has a tile for one block only.
TEST_F(Paces, AreKeptInTheFirstTilesAlone) {
  run(3);
  EXPECT_EQ(control_->paced, 2u * 2 * steps);
  params_.schedule.paced_tiles = 0;
  run(3);
  EXPECT_EQ(control_->paced, 0u);
}

}  // namespace
}  // namespace KW_TARGET
