// Blocks that keep pace (sgemm/hopper/pace.hpp): what a block waits for, and that it does not wait
// for ever.
#include "sgemm/hopper/pace.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "fixture.hpp"

namespace KW_TARGET {
namespace {

using hopper::Control;
using hopper::pace_stages;

constexpr int steps = 20, stages = steps * pace_stages + 3;

// A warp a block goes through `tiles` tiles. `gave_up`: after so many stages the block did not wait
// any more, or 0.
__global__ void keep_pace(const hopper::ProductParams params, int tiles, int* gave_up) {
  hopper::Pace pace(params);
  for (int i = 0; i < tiles * stages; ++i) {
    const bool waited = pace.waits();
    const int tile = i / stages * params.schedule.blocks + static_cast<int>(blockIdx.x);
    pace.before(tile, i % stages);
    if (threadIdx.x == 0 && waited && !pace.waits()) gave_up[blockIdx.x] = i;
  }
}

// Two blocks, one after the other. Each has two tiles of which the blocks keep pace.
class Paces : public HostSimt {
 protected:
  Paces() {
    options().workers = 1;
    options().order = host_simt::Order::forward;
    params_.control = control_.get();
    params_.schedule = hopper::whole_schedule(5, stages, 2);
    params_.schedule.paced_tiles = 4;
  }
  void run(unsigned blocks, int tiles, unsigned arrived = 0) {
    control_->paced = arrived;
    gave_up_[0] = gave_up_[1] = 0;
    expect_ok(gpu::launch(keep_pace, {blocks, 32}, params_, tiles, gave_up_));
  }

  std::unique_ptr<Control> control_ = std::make_unique<Control>();
  hopper::ProductParams params_;
  int gave_up_[2];
};

TEST_F(Paces, ABlockWaitsForTheOthersAtTheStepBefore) {
  for (const int others : {0, 1, 7, steps - 1}) {
    run(1, 1, static_cast<unsigned>(others));
    EXPECT_EQ(gave_up_[0], others < steps - 1 ? (others + 2) * pace_stages : 0) << others;
  }
}

// The first block would wait for the second one for ever.
TEST_F(Paces, AllArriveWhereABlockWaitsForOneThatDoesNotRun) {
  run(2, 2);
  EXPECT_EQ(control_->paced, 2u * 2 * steps) << "each block, at each step of two tiles";
  EXPECT_GT(gave_up_[0], 0);
}

// The last round has a tile for one block only.
TEST_F(Paces, AreKeptInTheFirstTilesAlone) {
  run(2, 3);
  EXPECT_EQ(control_->paced, 2u * 2 * steps);
  params_.schedule.paced_tiles = 0;
  run(2, 3);
  EXPECT_EQ(control_->paced, 0u);
  EXPECT_EQ(gave_up_[0], 0);
}

}  // namespace
}  // namespace KW_TARGET
