// Every matrix-product kernel that computes in host memory, on operands whose rows and entries lie
// more than 2^31 elements apart: an offset of 32 bits anywhere shows. Of the address space that
// this takes only the touched pages are memory.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <limits>
#include <map>
#include <string>

#include "check/workbench.hpp"
#include "support/registry_subjects.hpp"

namespace kw {
namespace {

constexpr std::int64_t far = (std::int64_t{1} << 31) + 8;  // elements

class Sparse {
 public:
  Sparse()
      : data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  Sparse(const Sparse&) = delete;
  Sparse& operator=(const Sparse&) = delete;
  ~Sparse() { munmap(data_, bytes); }

  bool is_there() const { return data_ != MAP_FAILED; }
  float* data() const { return static_cast<float*>(data_); }

 private:
  static constexpr std::size_t bytes = (std::size_t{far} + 64) * 2 * sizeof(float);
  void* data_;
};

// Products of 2 x 2 matrices of small whole numbers, exact in any order.
float value(int first, std::int64_t entry, int row, int col) {
  return static_cast<float>(first + 7 * entry + 2 * row + col);
}

class SgemmFar : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(a.is_there() && b.is_there() && c.is_there()); }

  Sgemm problem(std::int64_t ld) const {
    return {{2, 2, 2, Op::none, Op::none, 1, a.data(), ld, b.data(), ld, 0, c.data(), ld}};
  }

  // By every kernel that takes it; on every device the library has one.
  void compute_by_all(const Sgemm& p) {
    std::map<std::string, int> computed_by_library;
    for (const Subject<Sgemm>& subject : subjects<Sgemm>()) {
      if (subject.device == std::string("gpu")) continue;
      SCOPED_TRACE(subject.device + std::string(" ") + subject.kernel.name);
      const bool computed = compute(p, subject);
      EXPECT_TRUE(computed || subject.kernel.role != Role::rung || !p.plain());
      computed_by_library[subject.device] +=
          computed && subject.kernel.role == Role::production ? 1 : 0;
    }
    EXPECT_FALSE(computed_by_library.empty());
    for (const auto& [device, count] : computed_by_library) EXPECT_GE(count, 1) << device;
  }

 private:
  static bool compute(const Sgemm& p, const Subject<Sgemm>& subject) {
    const Kernel<Sgemm>& kernel = subject.kernel;
    const std::unique_ptr<Runtime> runtime = open_device(subject.device);
    const auto plan = plan_for(kernel, p, runtime->device());
    if (!plan) return false;
    for_each_element(p, [&](std::int64_t e, int i, int j) {
      const_cast<float*>(p.a)[e * p.stride_a + i * p.lda + j] = value(1, e, i, j);
      const_cast<float*>(p.b)[e * p.stride_b + i * p.ldb + j] = value(5, e, i, j);
      p.c[e * p.stride_c + i * p.ldc + j] = std::numeric_limits<float>::quiet_NaN();
    });
    check::Workbench bench(*runtime);
    const std::size_t bytes = plan->workspace_bytes;
    const check::DeviceBuffer scratch(*runtime, bytes);
    const Status status = launch_planned(kernel, p, runtime->device(), *plan,
                                         {scratch.data(), bytes, bench.tickets()}, bench.stream());
    EXPECT_TRUE(status.ok()) << status.message;
    for_each_element(p, [&](std::int64_t e, int i, int j) {
      const float want =
          value(1, e, i, 0) * value(5, e, 0, j) + value(1, e, i, 1) * value(5, e, 1, j);
      EXPECT_EQ(p.c[e * p.stride_c + i * p.ldc + j], want)
          << "entry " << e << ", row " << i << ", column " << j;
    });
    return true;
  }

  template <class Each>
  static void for_each_element(const Sgemm& p, const Each& each) {
    for (std::int64_t e = 0; e < p.batch; ++e) {
      for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) each(e, i, j);
      }
    }
  }

  Sparse a, b, c;
};

TEST_F(SgemmFar, Rows) { compute_by_all(problem(far)); }

TEST_F(SgemmFar, Entries) {
  Sgemm p = problem(2);
  p.batch = 2;
  p.stride_a = p.stride_b = p.stride_c = far;
  compute_by_all(p);
}

}  // namespace
}  // namespace kw
