// Every row-wise kernel of every list on every device that is here, host SIMT included, on every
// edge case. Kernels come from the registries: a new one is tested without being named here.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "check/rowwise/case.hpp"
#include "host_simt/host_simt.hpp"
#include "rowwise/kernel_on_host.hpp"
#include "support/kept_options.hpp"
#include "support/registry_subjects.hpp"
#include "support/run_seed.hpp"

namespace kw {
namespace {

using test::KernelOnHost;

// An address sanitizer gets every eighth case, of each run others.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t every_row_case = 8;
#else
constexpr std::size_t every_row_case = 1;
#endif

class RowwiseKernels : public testing::TestWithParam<Subject<Rowwise>> {};

TEST_P(RowwiseKernels, EdgeCases) {
  const std::unique_ptr<Runtime> runtime = open_device(GetParam().device);
  check::Workbench bench(*runtime);
  const Kernel<Rowwise>& kernel = GetParam().kernel;
  int computed = 0;
  const std::vector<check::RowwiseCase> cases = check::rowwise_edge_cases(run_seed());
  // Some kernels are for few of the cases: where none of an eighth is, the next eighth.
  for (std::size_t part = 0; part < every_row_case && computed == 0; ++part) {
    for (std::size_t i = (run_seed() + part) % every_row_case; i < cases.size();
         i += every_row_case) {
      const check::VerifyResult result = check::RowwiseTrial(bench, cases[i]).verify(kernel);
      if (result.outcome == check::Outcome::unsupported) continue;
      EXPECT_TRUE(result.ok()) << kernel.name << " " << describe(cases[i]) << ": "
                               << result.message;
      ++computed;
    }
  }
  EXPECT_GT(computed, 0) << "a kernel that takes no case is not tested";
}

INSTANTIATE_TEST_SUITE_P(Registry, RowwiseKernels, testing::ValuesIn(subjects<Rowwise>()),
                         subject_name<Rowwise>);

// A kernel whose blocks keep gamma and beta takes as many as run at once: of a cluster no fewer
// than it has, on however small a device.
TEST(RowwiseClusters, RunWhereTheDeviceHasRoomForFewBlocks) {
  const test::KeptOptions kept;
  host_simt::options().multiprocessors = 1;
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  check::Workbench bench(*runtime);
  check::RowwiseCase c;
  c.op = RowwiseOp::layer_norm;
  c.rows = 2, c.cols = 40000;
  c.affine = true;
  const auto kernels = all_kernels<Rowwise>(DeviceKind::host_simt);
  EXPECT_FALSE(kernels.empty());
  for (const Kernel<Rowwise>& kernel : kernels) {
    const check::VerifyResult result = check::RowwiseTrial(bench, c).verify(kernel);
    if (result.outcome == check::Outcome::unsupported) continue;
    EXPECT_TRUE(result.ok()) << kernel.name << ": " << result.message;
  }
}

// Of many rows the first blocks have several one after the other and the last ones one; those of a
// norm's block begin alike past a boundary, of rows that lie anyhow every eighth or fourth one.
// Sums of 16-bit values are about zero, or, of a mean that is large beside the deviation, about it.
TEST(RowwisePlain, HasEveryRowOfBlocksThatHaveSeveral) {
  const test::KeptOptions kept;
  host_simt::options().multiprocessors = 1;
  KernelOnHost kernel("rowwise_plain");
  for (const DataType type : {DataType::float32, DataType::float16, DataType::bfloat16}) {
    for (const RowwiseOp op : {RowwiseOp::layer_norm, RowwiseOp::log_softmax}) {
      for (const std::int64_t cols : {97, 261, 262, 640, 641, 643, 1001, 1024, 1601, 3001}) {
        check::RowwiseCase c;
        c.op = op;
        c.type = type;
        c.rows = cols < 1500 ? 301 : 61, c.cols = cols;
        c.affine = is_norm(op);
        c.misalign = cols % 3;
        c.input = kernel.computed() % 2 == 0 ? check::Input::unit : check::Input::uniform;
        kernel.verify(c);
      }
    }
  }
  EXPECT_EQ(kernel.computed(), 60);
  // Shorter norms, in blocks with three teams, where a call is large.
  for (const RowwiseOp op : {RowwiseOp::layer_norm, RowwiseOp::rms_norm}) {
    check::RowwiseCase c;
    c.op = op;
    c.rows = 43, c.cols = 24003;
    c.affine = true;
    c.in_place = op == RowwiseOp::rms_norm;
    kernel.verify(c);
  }
  EXPECT_EQ(kernel.computed(), 62);
}

// Norms of float32 up to a warp's packs, where there are enough rows.
TEST(RowwisePlain, HasLongerNormsOfFloatInOneWarp) {
  const test::KeptOptions kept;
  host_simt::options().multiprocessors = 1;
  KernelOnHost kernel("rowwise_plain");
  for (const RowwiseOp op : {RowwiseOp::layer_norm, RowwiseOp::rms_norm}) {
    for (const std::int64_t cols : {641, 778, 895, 959, 960}) {
      check::RowwiseCase c;
      c.op = op;
      c.rows = 35, c.cols = cols;
      c.affine = kernel.computed() % 3 != 0;
      c.misalign = kernel.computed() % 5;
      c.in_place = kernel.computed() % 2 == 0;
      c.input = kernel.computed() % 5 < 2 ? check::Input::unit : check::Input::uniform;
      kernel.verify(c);
    }
  }
  EXPECT_EQ(kernel.computed(), 10);
}

// Rows of 16-bit types that are a little longer than some lanes hold have a pack more a lane where
// a call is large, and a warp has ten packs; the boundaries are those of 32, 40, 64, 80, 128, 160,
// 256 and 320 packs.
TEST(RowwisePlain, HasSomewhatLongerRowsInAsManyLanes) {
  const test::KeptOptions kept;
  host_simt::options().multiprocessors = 1;
  KernelOnHost kernel("rowwise_plain");
  for (const DataType type : {DataType::float16, DataType::bfloat16}) {
    for (const RowwiseOp op :
         {RowwiseOp::softmax, RowwiseOp::log_softmax, RowwiseOp::layer_norm, RowwiseOp::rms_norm}) {
      for (const std::int64_t cols :
           {255, 256, 319, 320, 519, 639, 640, 1024, 1111, 1279, 1280, 2048, 2559, 2560}) {
        check::RowwiseCase c;
        c.op = op;
        c.type = type;
        c.rows = 130000 / cols, c.cols = cols;
        c.ldx_pad = c.ldy_pad = kernel.computed() % 4;
        c.affine = kernel.computed() % 3 != 0;
        c.misalign = kernel.computed() % 9;
        c.in_place = kernel.computed() % 2 == 0;
        c.input = kernel.computed() % 5 < 2 ? check::Input::unit : check::Input::uniform;
        kernel.verify(c);
      }
    }
  }
  EXPECT_EQ(kernel.computed(), 112);
}

// Long rows are sixteen blocks' where the device has so many multiprocessors; a softmax's of 16-bit
// types are rings' before they have seven warps of a block.
TEST(RowwisePlain, HasLongRowsInClustersOfManyBlocks) {
  const test::KeptOptions kept;
  host_simt::options().multiprocessors = 16;
  KernelOnHost kernel("rowwise_plain");
  for (const DataType type : {DataType::float32, DataType::float16, DataType::bfloat16}) {
    for (const RowwiseOp op :
         {RowwiseOp::softmax, RowwiseOp::log_softmax, RowwiseOp::layer_norm, RowwiseOp::rms_norm}) {
      for (const std::int64_t cols : {41001, 82001, 95996, 102400, 114687}) {
        check::RowwiseCase c;
        c.op = op;
        c.type = type;
        c.rows = 1 + kernel.computed() % 7,
        c.cols = type == DataType::float32 ? cols : 2 * cols + 1;
        if (type != DataType::float32 && op == RowwiseOp::softmax)
          c.cols = std::min<std::int64_t>(c.cols, 196607);
        c.affine = is_norm(op);
        c.misalign = kernel.computed() % 9;
        c.in_place = kernel.computed() % 2 == 0;
        c.input = kernel.computed() % 5 < 2 ? check::Input::unit : check::Input::uniform;
        kernel.verify(c);
      }
    }
  }
  EXPECT_EQ(kernel.computed(), 60);
}

// Norms whose rows begin in eight ways, and those of a few blocks, are those of teams, of which a
// block has several: not each of them has a row in each turn.
TEST(RowwisePlain, HasRowsOfSeveralTeamsInABlock) {
  const test::KeptOptions kept;
  host_simt::options().multiprocessors = 1;
  KernelOnHost kernel("rowwise_plain");
  for (const DataType type : {DataType::float32, DataType::float16, DataType::bfloat16}) {
    for (const RowwiseOp op : {RowwiseOp::layer_norm, RowwiseOp::rms_norm}) {
      for (const std::int64_t cols : {2577, 5377, 9001, 12001, 20003, 20480, 22716, 33335}) {
        check::RowwiseCase c;
        c.op = op;
        c.type = type;
        const bool has_many = type == DataType::float32 && cols < 12000;
        c.rows = (has_many ? 25 : 1) + kernel.computed() % 11, c.cols = cols;
        if (cols == 20480) c.ldx_pad = c.ldy_pad = 1;
        c.affine = kernel.computed() % 4 != 0;
        c.misalign = kernel.computed() % 9;
        c.in_place = kernel.computed() % 2 == 0;
        c.input = kernel.computed() % 5 < 2 ? check::Input::unit : check::Input::uniform;
        kernel.verify(c);
      }
    }
  }
  EXPECT_EQ(kernel.computed(), 48);
}

// Layer norms of 16-bit types of some lengths are rings' in large calls, where rows begin in many
// ways.
TEST(RowwisePlain, LeavesSomeLayerNormsToRings) {
  const test::KeptOptions kept;
  host_simt::options().multiprocessors = 8;
  KernelOnHost plain("rowwise_plain"), ring("rowwise_ring");
  check::RowwiseCase c;
  c.op = RowwiseOp::layer_norm;
  c.type = DataType::float16;
  c.rows = 6, c.cols = 178433;
  c.affine = true;
  EXPECT_EQ(plain.result_of(c).outcome, check::Outcome::unsupported);
  ring.verify(c);
  c.ldx_pad = c.ldy_pad = 7;  // all begin alike
  plain.verify(c);
}

// Rows of float32 longer than five packs a lane: a softmax's are a warp's alone.
TEST(RowwisePlain, HasLongerSoftmaxRowsOfFloatInOneWarp) {
  const test::KeptOptions kept;
  host_simt::options().multiprocessors = 1;
  KernelOnHost kernel("rowwise_plain");
  for (const RowwiseOp op : {RowwiseOp::softmax, RowwiseOp::log_softmax}) {
    for (const std::int64_t cols : {639, 640, 702, 767, 768, 893, 1020, 1023, 1024}) {
      for (const std::int64_t rows : {3, 61}) {
        check::RowwiseCase c;
        c.op = op;
        c.rows = rows, c.cols = cols;
        c.ldx_pad = c.ldy_pad = kernel.computed() % 3;
        c.misalign = kernel.computed() % 5;
        c.in_place = kernel.computed() % 2 == 0;
        c.input = kernel.computed() % 5 < 2 ? check::Input::unit : check::Input::uniform;
        kernel.verify(c);
      }
    }
  }
  EXPECT_EQ(kernel.computed(), 36);
}

// Production kernels share the work, but each case has one, on each device.
TEST(RowwiseRegistry, ProductionKernelsTakeEveryCase) {
  add_developer_backends();
  for (const Backend& backend : backends()) {
    if (backend.device_count() == 0) continue;
    std::unique_ptr<Runtime> runtime;
    ASSERT_TRUE(backend.open(0, &runtime).ok());
    const KernelList<Rowwise> kernels = backend.rowwise();
    for (const check::RowwiseCase& c : check::rowwise_edge_cases()) {
      Rowwise p;
      p.op = c.op;
      p.rows = c.rows;
      p.cols = c.cols;
      EXPECT_TRUE(std::any_of(
          kernels.begin(), kernels.end(),
          [&](const Kernel<Rowwise>& kernel) { return supports(kernel, p, runtime->device()); }))
          << to_string(backend.kind) << " " << describe(c);
    }
  }
}

}  // namespace
}  // namespace kw
