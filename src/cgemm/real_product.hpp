// A complex product as a real one: what the real product is, where its operands lie in the
// workspace, how long the expansion pass takes, and which parts a call becomes where the workspace
// is smaller. Made on the host.
//
// As stored, m x k complex elements along k are m x 2k floats, and C's m x n are m x 2n. With B'
// (expand.hpp) in B's place the complex product is the real product [m][2k] * [2k][2n]. Each
// component of C is then one sum of 2k products, as four real products of planes would have it; so
// an error is small beside the component's own sum of sizes, which three products cannot say
// (Higham, Accuracy and Stability of Numerical Algorithms, 2002, 23.2.4).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "arithmetic.hpp"
#include "cgemm/scalars.hpp"
#include "gpu/device.hpp"
#include "sgemm/memory_time.hpp"
#include "status.hpp"
#include "workspace_parts.hpp"

namespace kw {

// NVIDIA H200.
struct ExpandTuning {
  double launch_us;            // what a launch before the product costs
  double bytes_per_us;         // of operands that L2 keeps
  std::int64_t least_columns;  // of C, where a call is cut
  std::int64_t column_step;
  std::int64_t most_elements;  // of B, written at a time: twice as many floats each way
  std::int64_t cut_columns;    // so many are cut in two before k is
};
inline constexpr ExpandTuning expand_tuning = {.launch_us = 3.5,
                                               .bytes_per_us = 5e6,
                                               .least_columns = 256,
                                               .column_step = 128,
                                               .most_elements = std::int64_t{8192} * 16384,
                                               .cut_columns = 4096};

inline bool reads_operands_on_host(const Cgemm& p) {
  return p.loop_k() > 0 && p.m > 0 && p.n > 0 && p.batch > 0;
}
inline bool copies_a(const Cgemm& p) {
  return p.op_a == Op::transpose && reads_operands_on_host(p);
}
// Whether C may have to be multiplied by beta before the product.
inline bool may_scale_c(const Cgemm& p) {
  return !p.hermitian && (p.beta_at != nullptr || p.beta.im != 0);
}
inline bool has_device_scalars(const Cgemm& p) {
  return p.alpha_at != nullptr || p.beta_at != nullptr;
}

// A real operand in the workspace.
struct RealOperand {
  std::int64_t rows = 0, ld = 0, entries = 0;

  std::int64_t stride() const { return rows * ld; }
  std::size_t bytes() const { return static_cast<std::size_t>(stride() * entries) * sizeof(float); }
};

// One entry where all share the operand, and none where it is not written.
inline RealOperand real_operand(std::int64_t rows, std::int64_t cols, bool shared, const Cgemm& p) {
  constexpr std::int64_t step = 4;
  return {rows, ceil_div(cols, step) * step, shared ? 1 : p.batch};
}
inline RealOperand real_b(const Cgemm& p) {
  if (!reads_operands_on_host(p)) return {};
  const bool shared = !p.by_pointers() && p.stride_b == 0, plain = p.op_b == Op::none;
  return real_operand(plain ? 2 * p.k : 2 * p.n, plain ? 2 * p.n : 2 * p.k, shared, p);
}
inline RealOperand real_a(const Cgemm& p) {
  if (!copies_a(p)) return {};
  return real_operand(2 * p.k, p.m, !p.by_pointers() && p.stride_a == 0, p);
}

// Offsets into the workspace, in bytes. The product's own part begins at `end`.
struct RealLayout {
  std::size_t factors = 0, a_pointers = 0, b_pointers = 0, a = 0, b = 0, end = 0;

  explicit RealLayout(const Cgemm& p) {
    const auto take = [&](std::size_t bytes) { return take_part(end, bytes); };
    const std::size_t array =
        p.by_pointers() && reads_operands_on_host(p) ? static_cast<std::size_t>(p.batch) * 8 : 0;
    factors = take(has_device_scalars(p) ? 2 * sizeof(float) : 0);
    a_pointers = take(copies_a(p) ? array : 0);
    b_pointers = take(array);
    a = take(real_a(p).bytes());
    b = take(real_b(p).bytes());
  }
};

// The real product, with its operands and scalars in a workspace that begins at `base`: at an
// address that nobody follows, for a plan.
inline Sgemm real_product(const Cgemm& p, char* base) {
  const RealLayout at(p);
  const SplitScalar alpha = split_scalar(p.alpha);
  const RealOperand a = real_a(p), b = real_b(p);
  const auto floats = [](const Complex* data) { return reinterpret_cast<const float*>(data); };
  const auto stride_of = [](const RealOperand& of) { return of.entries > 1 ? of.stride() : 0; };
  Sgemm real;
  real.m = p.m;
  real.n = 2 * p.n;
  real.k = 2 * p.k;
  real.op_a = copies_a(p) ? Op::transpose : Op::none;
  real.op_b = p.op_b;
  real.alpha = reads_operands_on_host(p) ? alpha.factor : 0;
  real.a = copies_a(p) ? reinterpret_cast<const float*>(base + at.a) : floats(p.a);
  real.lda = copies_a(p) ? a.ld : 2 * p.lda;
  real.b = reinterpret_cast<const float*>(base + at.b);
  real.ldb = b.ld;
  real.beta = beta_of_product(p.beta);
  real.c = reinterpret_cast<float*>(p.c);
  real.ldc = 2 * p.ldc;
  real.triangle = p.triangle;
  real.column_shift = p.triangle == Triangle::none ? 0 : 1;
  real.batch = p.batch;
  real.stride_a = copies_a(p) ? stride_of(a) : 2 * p.stride_a;
  real.stride_b = stride_of(b);
  real.stride_c = 2 * p.stride_c;
  if (p.by_pointers()) {
    const auto array = [&](std::size_t offset) {
      return reinterpret_cast<const float* const*>(base + offset);
    };
    real.c_array = reinterpret_cast<float* const*>(p.c_array);
    real.b_array = array(at.b_pointers);
    real.a_array =
        copies_a(p) ? array(at.a_pointers) : reinterpret_cast<const float* const*>(p.a_array);
  }
  if (has_device_scalars(p)) {
    const auto* const factors = reinterpret_cast<const float*>(base + at.factors);
    real.alpha_at = reads_operands_on_host(p) ? factors : nullptr;
    real.beta_at = factors + 1;
  }
  return real;
}
inline char* nowhere() { return reinterpret_cast<char*>(std::uintptr_t{256}); }
inline Sgemm real_product_to_plan(const Cgemm& p) { return real_product(p, nowhere()); }

// Whether the pass has nothing to do: k or alpha is 0, and beta is real and known.
inline bool needs_no_expansion(const Cgemm& p) {
  return !reads_operands_on_host(p) && !may_scale_c(p) && !has_device_scalars(p);
}

// What a pass takes that moves so many bytes.
inline double moving_us(double bytes, const Device& device) {
  const double lost = share_lost(bytes, device, memory_tuning.kept_share, memory_tuning.lost_share);
  return expand_tuning.launch_us + bytes * (1 - lost) / expand_tuning.bytes_per_us +
         bytes * lost / memory_bytes_per_us(device);
}

inline double expand_us(const Cgemm& p, const Device& device) {
  if (needs_no_expansion(p)) return 0;
  const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n),
             k = static_cast<double>(p.k);
  const auto entries = [](const RealOperand& of) { return static_cast<double>(of.entries); };
  const double bytes = 24 * k * n * entries(real_b(p)) + 16 * m * k * entries(real_a(p)) +
                       (may_scale_c(p) ? 16 * m * n * static_cast<double>(p.batch) : 0);
  return moving_us(bytes, device);
}

// How a call is cut whose B' would be larger than most_elements: into parts of so many columns of C
// and so many of k, one after the other in the same workspace. A part of k more reads and writes C
// once more and has shorter sums, a part of the columns more splits A once more: 16384 cubed in two
// parts of the columns is a twentieth faster than in two of each.
struct RealCut {
  std::int64_t columns, depth;

  explicit RealCut(const Cgemm& p) : columns(p.n), depth(p.k) {
    if (p.by_pointers() || p.batch > 1 || !reads_operands_on_host(p)) return;
    const std::int64_t step = expand_tuning.column_step;
    const auto halve = [&](std::int64_t& size) { size = ceil_div(ceil_div(size, 2), step) * step; };
    // A triangle's columns stay together.
    const bool cuts_columns = p.triangle == Triangle::none;
    while (static_cast<double>(columns) * static_cast<double>(depth) >
               static_cast<double>(expand_tuning.most_elements) &&
           (cuts_columns || depth > step))
      halve(cuts_columns && columns >= std::min(depth, expand_tuning.cut_columns) ? columns
                                                                                  : depth);
  }
  // Calls visit(Cgemm) with each part until one fails.
  template <class Visit>
  Status each_part(const Cgemm& p, const Visit& visit) const {
    if (columns >= p.n && depth >= p.k) return visit(p);
    for (std::int64_t column = 0; column < p.n; column += columns) {
      const Cgemm some = some_columns(p, column, std::min(columns, p.n - column));
      for (std::int64_t first = 0; first < p.k; first += depth) {
        Status status = visit(some_depth(some, first, std::min(depth, p.k - first)));
        if (!status.ok()) return status;
      }
    }
    return Status::success();
  }
};

// The parts of a call whose workspace is too small for all of it: entries of the batch, then
// columns of C. The last part may be smaller.
struct RealParts {
  std::int64_t entries = 0, columns = 0;

  Cgemm first_of(const Cgemm& p) const {
    return columns < p.n ? some_columns(some_entries(p, 0, entries), 0, columns)
                         : some_entries(p, 0, entries);
  }
};
// The next smaller parts; the same where there are none.
inline RealParts smaller(const Cgemm& p, const RealParts& parts) {
  if (parts.entries > 1) return {ceil_div(parts.entries, 2), p.n};
  if (p.by_pointers() || p.triangle != Triangle::none ||
      parts.columns <= expand_tuning.least_columns)
    return parts;
  // One part more than before.
  const std::int64_t count = ceil_div(p.n, parts.columns) + 1;
  const std::int64_t step = expand_tuning.column_step;
  const std::int64_t columns = ceil_div(ceil_div(p.n, count), step) * step;
  return {1, std::max(std::min(columns, parts.columns - step), expand_tuning.least_columns)};
}
inline std::size_t least_workspace_bytes(const Cgemm& p) {
  const bool keeps_columns = p.by_pointers() || p.triangle != Triangle::none;
  const std::int64_t columns = keeps_columns ? p.n : std::min(p.n, expand_tuning.least_columns);
  return RealLayout(RealParts{std::min<std::int64_t>(p.batch, 1), columns}.first_of(p)).end;
}

}  // namespace kw
