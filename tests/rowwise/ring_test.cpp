// Rings of teams of every size that host SIMT runs side by side, and of teams that are clusters,
// also where the model chooses others.
#include <gtest/gtest.h>

#include <memory>

#include "check/rowwise/case.hpp"
#include "host_simt/host_simt.hpp"
#include "rowwise/gpu_kernels.hpp"
#include "support/kept_options.hpp"
#include "support/registry_subjects.hpp"
#include "support/run_seed.hpp"

namespace kw {
namespace {

// A kernel's row has functions without a state.
struct Teams {
  int blocks;
  bool clusters;
  bool groups = false;  // of threads, which norms of float32 have
} forced_teams;

Kernel<Rowwise> ring_of_forced_teams() {
  Kernel<Rowwise> kernel = {};
  kernel.name = "rowwise_ring";
  kernel.role = Role::production;
  kernel.math = Math::fp32;
  kernel.make_plan = [](const Rowwise& p, const Device& device) {
    return on_host::rowwise_ring_plan_of(p, device, forced_teams.blocks, forced_teams.clusters,
                                         forced_teams.groups);
  };
  kernel.launch_plan = on_host::rowwise_ring_launch_plan;
  return kernel;
}

class RowwiseRing : public testing::TestWithParam<RowwiseOp> {
 protected:
  RowwiseRing() { host_simt::options().multiprocessors = 8; }

 private:
  const test::KeptOptions kept_;
};

TEST_P(RowwiseRing, TeamsOfEverySize) {
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  check::Workbench bench(*runtime);
  const Kernel<Rowwise> kernel = ring_of_forced_teams();
  // Rows go round the ring and the tickets; some have an edge, and the last slices another length.
  struct Shape {
    Teams teams;
    DataType type;
    std::int64_t rows, cols, pad;
  };
  constexpr Shape shapes[] = {{{1, false}, DataType::float32, 11, 2070, 1},
                              {{4, false}, DataType::float32, 45, 1100, 3},
                              {{3, false}, DataType::float32, 5, 4099, 0},
                              {{2, false}, DataType::float16, 5, 4500, 1},
                              {{8, false}, DataType::bfloat16, 19, 4400, 5},
                              {{6, false}, DataType::bfloat16, 9, 3570, 3},
                              {{2, false}, DataType::float32, 5, 26001, 0},
                              {{8, true}, DataType::float32, 37, 4099, 1},
                              {{4, false, true}, DataType::float32, 90, 1100, 3},
                              {{2, false, true}, DataType::float32, 7, 26001, 0},
                              {{1, false, true}, DataType::float32, 41, 2070, 1},
                              {{4, true}, DataType::float16, 21, 4500, 3},
                              {{2, true}, DataType::bfloat16, 40, 2570, 0},
                              {{8, true}, DataType::bfloat16, 3, 30001, 5}};
  for (const Shape& shape : shapes) {
    forced_teams = shape.teams;
    check::RowwiseCase c;
    c.op = GetParam();
    c.type = shape.type;
    c.rows = shape.rows, c.cols = shape.cols;
    c.ldx_pad = c.ldy_pad = shape.pad;
    c.misalign = shape.pad;
    c.affine = is_norm(c.op);
    c.gamma_alone = shape.pad == 3;
    c.input = shape.cols % 2 == 0 ? check::Input::unit
                                  : check::Input::uniform;  // means far from zero, and near
    c.in_place = shape.pad == 1;
    c.seed = run_seed();
    const check::VerifyResult result = check::RowwiseTrial(bench, c).verify(kernel);
    EXPECT_TRUE(result.ok()) << describe(c) << " by " << forced_teams.blocks
                             << (forced_teams.clusters ? " of a cluster: "
                                 : forced_teams.groups ? " in groups: "
                                                       : ": ")
                             << result.message;
#if defined(__SANITIZE_ADDRESS__)
    break;  // one is enough of each
#endif
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, RowwiseRing,
                         testing::Values(RowwiseOp::softmax, RowwiseOp::log_softmax,
                                         RowwiseOp::layer_norm, RowwiseOp::rms_norm),
                         [](const auto& of_op) { return std::string(to_string(of_op.param)); });

}  // namespace
}  // namespace kw
