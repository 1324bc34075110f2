// What measuring needs to know of each operation, by overloads: its operands, its work, its rates.
#pragma once

#include <vector>

#include "bench/ceilings.hpp"
#include "bench/operand_sets.hpp"
#include "bench/row.hpp"
#include "check/rowwise/case.hpp"
#include "check/verify_attention.hpp"
#include "check/verify_cgemm.hpp"
#include "check/verify_ctrsm.hpp"
#include "check/verify_level3.hpp"

namespace kw::bench {

// All memory that a call reads or writes, as `on_set` takes it.
std::vector<Operand> operands(const Sgemm& problem);
std::vector<Operand> operands(const Level3& problem);
std::vector<Operand> operands(const ScaleAdd& problem);
std::vector<Operand> operands(const Reduce& problem);
std::vector<Operand> operands(const Cgemm& problem);
std::vector<Operand> operands(const Ctrsm& problem);
std::vector<Operand> operands(const Rowwise& problem);
std::vector<Operand> operands(const Attention& problem);

// The same problem on one of the rotating sets.
Sgemm on_set(Sgemm problem, const OperandSets& sets, std::int64_t set);
Level3 on_set(Level3 problem, const OperandSets& sets, std::int64_t set);
ScaleAdd on_set(ScaleAdd problem, const OperandSets& sets, std::int64_t set);
Reduce on_set(Reduce problem, const OperandSets& sets, std::int64_t set);
Cgemm on_set(Cgemm problem, const OperandSets& sets, std::int64_t set);
Ctrsm on_set(Ctrsm problem, const OperandSets& sets, std::int64_t set);
Rowwise on_set(Rowwise problem, const OperandSets& sets, std::int64_t set);
Attention on_set(Attention problem, const OperandSets& sets, std::int64_t set);

// What a call's time grows with: operations, bytes.
double work(const check::SgemmCase& c);
double work(const check::Level3Case& c);
double work(const check::ScaleAddCase& c);
double work(const check::ReduceCase& c);
double work(const check::CgemmCase& c);
double work(const check::CtrsmCase& c);
double work(const check::RowwiseCase& c);
double work(const check::AttentionCase& c);

// The same problem, small enough to find out how fast a slow kernel is.
check::SgemmCase probe(check::SgemmCase c);
check::Level3Case probe(check::Level3Case c);
check::ScaleAddCase probe(check::ScaleAddCase c);
check::ReduceCase probe(check::ReduceCase c);
check::CgemmCase probe(check::CgemmCase c);
check::CtrsmCase probe(check::CtrsmCase c);
check::RowwiseCase probe(check::RowwiseCase c);
check::AttentionCase probe(check::AttentionCase c);

// GFLOP/s, GB/s of compulsory traffic (each operand once) and share of the limit that applies, from
// the row's median time. A reduction has GB/s alone: what an addition is depends on the operation.
void fill_rates(Row& row, const Sgemm& problem, const Ceilings& ceilings);
void fill_rates(Row& row, const Level3& problem, const Ceilings& ceilings);
void fill_rates(Row& row, const ScaleAdd& problem, const Ceilings& ceilings);
void fill_rates(Row& row, const Reduce& problem, const Ceilings& ceilings);
void fill_rates(Row& row, const Cgemm& problem, const Ceilings& ceilings);
void fill_rates(Row& row, const Ctrsm& problem, const Ceilings& ceilings);
void fill_rates(Row& row, const Attention& problem, const Ceilings& ceilings);
// As of a reduction; the limit is that of a copy, which reads and writes.
void fill_rates(Row& row, const Rowwise& problem, const Ceilings& ceilings);

// The least time of a call of level 3, or of a complex system, by reference_roofline
// (roofline.hpp).
double roofline_us(const check::Level3Case& c);
double roofline_us(const check::CtrsmCase& c);

}  // namespace kw::bench
