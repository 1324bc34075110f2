// The OpenMP loop that everybody writes, as a row of the list: float32, whole arrays, one pragma.
// It is what a reduction on the CPU costs without this library, and has no rule for NaN.
#include <algorithm>
#include <limits>

#include "reduce/kernels.hpp"

namespace kw::peers {

#ifdef _OPENMP
namespace {

bool supports(const Reduce& p, const Device& device) {
  const bool has_loop = p.op == ReduceOp::sum || p.op == ReduceOp::min || p.op == ReduceOp::max;
  return device.kind == DeviceKind::cpu && has_loop && p.type == DataType::float32 &&
         p.shape == ReduceShape::whole;
}

float sum_of(const float* x, std::int64_t n) {
  float sum = 0;
#pragma omp parallel for simd reduction(+ : sum)
  for (std::int64_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}

float min_of(const float* x, std::int64_t n) {
  float least = std::numeric_limits<float>::infinity();
#pragma omp parallel for simd reduction(min : least)
  for (std::int64_t i = 0; i < n; ++i) least = std::min(least, x[i]);
  return least;
}

float max_of(const float* x, std::int64_t n) {
  float most = -std::numeric_limits<float>::infinity();
#pragma omp parallel for simd reduction(max : most)
  for (std::int64_t i = 0; i < n; ++i) most = std::max(most, x[i]);
  return most;
}

Status launch(const Reduce& p, const Device&, Workspace, Stream) {
  const auto* x = static_cast<const float*>(p.data);
  auto* out = static_cast<float*>(p.out);
  if (p.op == ReduceOp::sum) {
    *out = sum_of(x, p.cols);
  } else {
    *out = p.op == ReduceOp::min ? min_of(x, p.cols) : max_of(x, p.cols);
  }
  return Status::success();
}

}  // namespace

KernelList<Reduce> reduce_cpu() {
  return {{"openmp", nullptr, "the loop with an OpenMP pragma, all CPU threads", Role::peer,
           Math::fp32, supports, no_workspace<Reduce>, launch}};
}
#else
KernelList<Reduce> reduce_cpu() { return {}; }
#endif

}  // namespace kw::peers
