// The plain copy beside which row-wise operations are measured, and its judge, which must refuse
// what is no copy.
#include <gtest/gtest.h>

#include "rowwise/kernel_on_host.hpp"

namespace kw {
namespace {

using test::KernelOnHost;

Kernel<Rowwise> kernel_of(const char* name) {
  return select_kernels(all_kernels<Rowwise>(DeviceKind::host_simt), name).at(0);
}
check::VerifyResult verdict_of(const Kernel<Rowwise>& kernel, const check::RowwiseCase& c) {
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  return check::verify_rowwise(*runtime, kernel, c);
}

// Rows of each length of its forms: some lanes', all threads' of a block, chunks of several blocks;
// with gaps and without, in place and not, wherever they begin.
TEST(RowwiseCopy, CopiesPlainRowsOfAnyLength) {
  KernelOnHost kernel("copy");
  for (const DataType type : {DataType::float32, DataType::float16, DataType::bfloat16}) {
    for (const std::int64_t cols :
         {1, 2, 7, 8, 15, 33, 64, 112, 129, 255, 514, 1024, 5003, 20001}) {
      for (const std::int64_t gap : {0, 1, 5, 32}) {
        check::RowwiseCase c;
        c.op = kernel.computed() % 2 == 0 ? RowwiseOp::softmax : RowwiseOp::rms_norm;
        c.type = type;
        c.rows = cols < 1000 ? 67 : 3, c.cols = cols;
        c.ldx_pad = c.ldy_pad = gap;
        c.misalign = kernel.computed() % 13;
        c.in_place = kernel.computed() % 3 == 0;
        c.sprinkle = kernel.computed() % 5 == 0 ? check::Sprinkle::nan : check::Sprinkle::none;
        kernel.verify(c);
      }
    }
  }
  EXPECT_EQ(kernel.computed(), 3 * 14 * 4);
}

TEST(RowwiseCopy, RefusesRowsThatAreNotPlain) {
  KernelOnHost kernel("copy");
  check::RowwiseCase c;
  c.rows = 5, c.cols = 40;
  c.bias = true;
  EXPECT_EQ(kernel.result_of(c).outcome, check::Outcome::unsupported);
  c.bias = false;
  c.step_x = 2;
  EXPECT_EQ(kernel.result_of(c).outcome, check::Outcome::unsupported);
  EXPECT_TRUE(check::may_refuse(Role::peer, c));
}

TEST(RowwiseCopy, IsJudgedBitForBit) {
  check::RowwiseCase c;
  c.rows = 9, c.cols = 50;
  c.ldx_pad = c.ldy_pad = 3;
  Kernel<Rowwise> other = kernel_of("rowwise_rows");
  other.role = Role::peer;
  EXPECT_EQ(verdict_of(other, c).outcome, check::Outcome::failed) << "a softmax is no copy";

  Kernel<Rowwise> flawed = kernel_of("copy");
  flawed.launch = [](const Rowwise& p, const Device& device, Workspace workspace, Stream stream) {
    Status status = kernel_of("copy").launch(p, device, workspace, stream);
    static_cast<std::uint32_t*>(p.y)[8 * p.ldy + 49] ^= 1;
    return status;
  };
  const check::VerifyResult result = verdict_of(flawed, c);
  EXPECT_EQ(result.failures, 1) << result.message;

  Kernel<Rowwise> beyond = kernel_of("copy");
  beyond.launch = [](const Rowwise& p, const Device& device, Workspace workspace, Stream stream) {
    Status status = kernel_of("copy").launch(p, device, workspace, stream);
    static_cast<std::uint32_t*>(p.y)[p.cols] = 0;
    return status;
  };
  EXPECT_FALSE(verdict_of(beyond, c).ok()) << "what lies between two rows is nobody's";
}

}  // namespace
}  // namespace kw
