// cpu_cholesky: potrf by the steps of level3/cholesky_steps.hpp: blocks as plain loops, systems and
// updates by the machine's CBLAS where there is one, else by loops whose lines threads share.
#include <cmath>

#include "cpu/kernels.hpp"
#include "level3/cholesky_steps.hpp"

namespace kw::cpu {

namespace {

constexpr std::int64_t factored_alone = 64;

// Column after column, until a pivot is not positive.
void factor_block(const level3::DiagonalBlock& b) {
  const auto at = [&](int row, int col) -> float& {
    return b.a[row * b.row_step + col * b.col_step];
  };
  for (int j = 0; j < b.size; ++j) {
    const float pivot = at(j, j);
    if (!(pivot > 0)) {
      *b.info = static_cast<int>(b.first) + j + 1;
      return;
    }
    const float root = std::sqrt(pivot), reciprocal = 1 / root;
    at(j, j) = root;
    for (int i = j + 1; i < b.size; ++i) at(i, j) *= reciprocal;
    for (int q = j + 1; q < b.size; ++q) {
      const float factor = at(q, j);
      for (int i = q; i < b.size; ++i) at(i, q) -= at(i, j) * factor;
    }
  }
}

Status compute(const Level3& p, const Device& device) {
#ifdef KW_HAVE_CBLAS
  if (cpu_level3_cblas_supports(p, device)) return cpu_level3_cblas(p, device, {}, {});
#endif
  return cpu_level3_loop(p, device, {}, {});
}

}  // namespace

bool cpu_cholesky_supports(const Level3& p, const Device&) { return p.factors(); }

Status cpu_cholesky(const Level3& p, const Device& device, Workspace, Stream) {
  *p.info = 0;
  const auto block = [](const level3::DiagonalBlock& b) {
    if (*b.info == 0) factor_block(b);
    return Status::success();
  };
  const auto unless_failed = [&](const Level3& step) {
    return *p.info == 0 ? compute(step, device) : Status::success();
  };
  return level3::Cholesky(p, factored_alone).each_step(block, unless_failed, unless_failed);
}

}  // namespace kw::cpu
