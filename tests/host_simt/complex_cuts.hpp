// What the tests of cuts of complex products share: products with whatever a call may ask for, and
// a row of the registry with a plan of the test's own.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>

#include "cgemm/kernels.hpp"
#include "check/verify_cgemm.hpp"
#include "support/kernel_named.hpp"
#include "support/run_seed.hpp"

namespace kw::test {

// The rest of a case that has its sides.
inline void draw_call(check::CgemmCase& c, std::mt19937& engine, unsigned number) {
  const auto draw = [&](int sides) { return static_cast<std::int64_t>(engine()) % sides; };
  const auto op = [&] { return draw(2) == 0 ? Op::none : Op::transpose; };
  c.op_a = op(), c.op_b = op();
  c.conj_a = draw(2) == 0, c.conj_b = draw(2) == 0;
  c.lda_pad = draw(4), c.ldb_pad = draw(4), c.ldc_pad = draw(2);
  c.alpha = -1.5f, c.alpha_im = draw(2) == 0 ? 0.25f : 0;
  c.beta = draw(2) == 0 ? 0.5f : 0;
  c.batch = draw(4) == 0 ? 2 : 1;
  c.seed = seed_of(number);
}

inline Kernel<Cgemm> row_with_plan(const std::string& name,
                                   std::optional<Plan<Cgemm>> (*make_plan)(const Cgemm&,
                                                                           const Device&)) {
  Kernel<Cgemm> kernel = kernel_named(on_host::cgemm_production(), name);
  kernel.make_plan = make_plan;
  return kernel;
}

}  // namespace kw::test
