// Which kernel solves a block, and how it is launched. Made on the host.
#pragma once

#include "ctrsm/block.hpp"
#include "ctrsm/chain_plan.hpp"
#include "ctrsm/strips.hpp"

namespace KW_TARGET {

enum class ComplexWay { chain, lines, warps, strips };

struct ComplexWayChoice {
  ComplexWay way;
  double us;
  ComplexStrip strip = {};
  OwnLines<2> warps = {};
  int chain_lines = 1;  // of a cluster
};

inline ComplexWayChoice choose_complex_way(const ComplexBlock& b, const Device& device) {
  if (complex_solves_by_lines(b, device)) return {ComplexWay::lines, complex_lines_us(b, device)};
  const ComplexStripChoice strips = choose_complex_strip(b.size, b.batch * b.lines, device);
  const OwnLinesChoice<2> warps =
      choose_own_lines(complex_warps_times, b.size, b.lines, b.batch,
                       b.unit_diagonal ? complex_unit_panel : 1, device);
  const ComplexChainChoice chain = choose_complex_chain(b.size, b.lines, b.batch, device);
  // Nobody else solves larger ones.
  if (b.size > complex_sizes[0] || chain.us < std::min(strips.us, warps.us))
    return {ComplexWay::chain, chain.us, {}, {}, chain.lines};
  if (warps.us < strips.us) return {ComplexWay::warps, warps.us, {}, warps.warps};
  return {ComplexWay::strips, strips.us, strips.strip, {}};
}

}  // namespace KW_TARGET
