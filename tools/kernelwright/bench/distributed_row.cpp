// A row's problem and error.
#include "bench/distributed_row.hpp"

#include <algorithm>
#include <cmath>

#include "check/tolerance.hpp"

namespace kw::bench {

Row product_row(std::int64_t m, std::int64_t n, std::int64_t k, const DistributedOptions& options) {
  Row row;
  row.op = "sgemm";
  row.kernel = row.path = options.math == Math::fp32_split ? "kernelwright_split" : "kernelwright";
  row.role = to_string(Role::production);
  row.math = to_string(options.math);
  row.input = to_string(options.input);
  row.m = m;
  row.n = n;
  row.k = k;
  row.ldc = n;
  row.lda = options.op_a == Op::none ? k : m;
  row.ldb = options.op_b == Op::none ? n : k;
  row.op_a = options.op_a == Op::none ? "N" : "T";
  row.op_b = options.op_b == Op::none ? "N" : "T";
  row.alpha = options.alpha;
  row.beta = options.beta;
  row.l2 = "hot";
  row.timing = "alone";
  return row;
}

void fill_error(const std::vector<SampleError>& errors, const DistributedOptions& options,
                std::int64_t k, Row* row) {
  SampleError all;
  for (const SampleError& error : errors) {
    all.max = std::max(all.max, error.max);
    all.sum += error.sum;
    all.sum_squares += error.sum_squares;
    all.elements += error.elements;
    if (all.failures == 0) all.message = error.message;
    all.failures += error.failures;
  }
  const double elements = std::max(1.0, all.elements);
  row->error = {all.max, std::sqrt(all.sum_squares / elements), all.sum / elements,
                check::product_tolerance(options.input, k)};
  row->verified = all.failures == 0;
  row->message = all.message;
}

}  // namespace kw::bench
