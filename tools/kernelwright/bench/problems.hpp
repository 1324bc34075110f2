// What measuring needs to know of each operation, by overloads: its operands, its work, its rates.
#pragma once

#include <vector>

#include "bench/ceilings.hpp"
#include "bench/operand_sets.hpp"
#include "bench/row.hpp"
#include "check/verify.hpp"

namespace kw::bench {

// A, B and, last, the output.
std::vector<OperandShape> operand_shapes(const Sgemm& problem, const check::SgemmCase& c);
std::vector<OperandShape> operand_shapes(const ScaleAdd& problem, const check::ScaleAddCase& c);

// The same problem on one of the rotating sets.
Sgemm on_set(Sgemm problem, const OperandSets& sets, std::int64_t set);
ScaleAdd on_set(ScaleAdd problem, const OperandSets& sets, std::int64_t set);

// What a call's time grows with: operations, bytes.
double work(const check::SgemmCase& c);
double work(const check::ScaleAddCase& c);

// The same problem, small enough to find out how fast a slow kernel is.
check::SgemmCase probe(check::SgemmCase c);
check::ScaleAddCase probe(check::ScaleAddCase c);

// GFLOP/s, GB/s of compulsory traffic (each operand once) and share of the limit that applies, from
// the row's median time.
void fill_rates(Row& row, const Sgemm& problem, const Ceilings& ceilings);
void fill_rates(Row& row, const ScaleAdd& problem, const Ceilings& ceilings);

}  // namespace kw::bench
