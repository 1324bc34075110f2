// A product over several devices beside the library's own call on one of them: both verified, then
// timed in turn, equally warm.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "bench/row.hpp"
#include "check/input.hpp"
#include "distributed/group_state.hpp"
#include "distributed/simulate.hpp"

namespace kw::bench {

struct DistributedOptions {
  Math math = Math::fp32;
  check::Input input = check::Input::uniform;
  std::uint64_t seed = 1;
  std::int64_t panel_k = 0;
  Op op_a = Op::none, op_b = Op::none;
  float alpha = 1, beta = 0;
  std::int64_t block = 0;  // of A and B, dealt out in turn; 0: one block a rank, as C always is
  int rounds = 3;          // of samples; 0: only verify
  bool has_timeline = false;
  double warm_ms = 1000;   // of work before the first sample
  double sample_ms = 100;  // a sample has as many calls as take so long
};

// The row of one shape, verified or not, by the ranks of this process. Throws std::runtime_error
// where a rank fails; the group is then of no more use.
Row run_distributed(detail::GroupState& group, std::int64_t m, std::int64_t n, std::int64_t k,
                    const DistributedOptions& options);

// A product of matrices in host memory, of which the device may hold so many bytes, beside the
// library's call on the same matrices in its memory, which has to hold them for that.
Row run_out_of_core(detail::GroupState& one_rank, std::int64_t m, std::int64_t n, std::int64_t k,
                    const DistributedOptions& options, double device_bytes);

}  // namespace kw::bench
