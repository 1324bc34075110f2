// Decisions that need no device.
#include "judge.hpp"

#include <cmath>

#include "vendor_time.hpp"

namespace kw::cublas {

double operations_of(const Product& p) {
  const double whole = (p.is_complex ? 8.0 : 2.0) * static_cast<double>(p.m) *
                       static_cast<double>(p.n) * static_cast<double>(p.k) *
                       static_cast<double>(p.batch);
  const bool is_half =
      p.routine != Routine::gemm && p.routine != Routine::syr2k && p.routine != Routine::symm;
  return p.routine == Routine::potrf ? whole / 6 : is_half ? whole / 2 : whole;
}

Reason judge_times(const Policy& policy, bool measured, double operations, double time_us,
                   double vendor_time_us) {
  if (operations < policy.smallest) return Reason::small;
  if (!measured) return policy.take_unmeasured ? Reason::none : Reason::unmeasured;
  const bool slower =
      vendor_time_us > 0 && std::isfinite(time_us) && time_us * vendor_margin > vendor_time_us;
  return slower && !policy.take_slower ? Reason::slower : Reason::none;
}

double epilogue_us(const Product& p) {
  if (epilogue_kind(p) == 0) return 0;
  constexpr double least_us = 2, bytes_per_us = 0.8e6;
  const double elements =
      static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.batch);
  return least_us + 2 * sizeof(float) * elements / bytes_per_us;
}

Reason check_arguments(const Product& p) {
  if (p.m < 0 || p.n < 0 || p.k < 0 || p.batch < 0) return Reason::arguments;
  if (p.alpha == nullptr || p.beta == nullptr) return Reason::arguments;
  // The matrices as they are stored: so many elements between lines of so many.
  const bool by_rows = p.layout == KW_ROW_MAJOR;
  const auto line = [&](kwOp_t op, std::int64_t rows, std::int64_t cols) {
    return by_rows != (op != KW_OP_NONE) ? cols : rows;
  };
  const auto fits = [](std::int64_t ld, std::int64_t length) { return ld >= length && ld >= 1; };
  const bool has_square_a = p.routine >= Routine::symm;
  if (!fits(p.lda, has_square_a ? p.k : line(p.op_a, p.m, p.k)) ||
      !fits(p.ldb, has_square_a ? line(KW_OP_NONE, p.m, p.n) : line(p.op_b, p.k, p.n)) ||
      !fits(p.ldc, line(KW_OP_NONE, p.m, p.n))) {
    return Reason::arguments;
  }
  if (p.source != nullptr && !fits(p.ld_source, line(KW_OP_NONE, p.m, p.n))) {
    return Reason::arguments;
  }
  for (const std::int64_t stride :
       {p.stride_a, p.stride_b, p.stride_c, p.stride_bias, p.stride_source}) {
    if (stride < 0) return Reason::arguments;
  }
  const bool alpha_is_zero =
      !p.scalars_on_device && p.alpha[0] == 0 && (!p.is_complex || p.alpha[1] == 0);
  if (p.m == 0 || p.n == 0 || p.k == 0 || p.batch == 0 || alpha_is_zero) {
    return Reason::nothing_to_do;
  }
  if (p.a == nullptr || p.b == nullptr || p.c == nullptr) return Reason::arguments;
  if (p.routine == Routine::potrf && p.info == nullptr) return Reason::arguments;
  return Reason::none;
}

bool is_empty(const Product& group) { return group.m == 0 || group.n == 0 || group.batch == 0; }

Reason check_arguments(const std::vector<Product>& groups) {
  bool all_empty = true;
  for (const Product& group : groups) {
    const Reason reason = check_arguments(group);
    const bool skipped = reason == Reason::nothing_to_do && is_empty(group);
    if (reason != Reason::none && !skipped) return reason;
    all_empty = all_empty && skipped;
  }
  return all_empty ? Reason::nothing_to_do : Reason::none;
}

}  // namespace kw::cublas
