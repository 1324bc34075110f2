// The launch of a row whose kernels are compiled for each pair of transposes.
#pragma once

#include "gpu/gpu.hpp"
#include "sgemm/problem.hpp"

namespace KW_TARGET {

// Row::start<op_a, op_b>(p, device, stream) launches one of them. Nothing is launched where C has
// no element.
template <class Row>
Status start_by_ops(const Sgemm& p, const Device& device, Stream stream) {
  if (p.m == 0 || p.n == 0 || p.batch == 0) return Status::success();
  if (p.op_a == Op::none)
    return p.op_b == Op::none ? Row::template start<Op::none, Op::none>(p, device, stream)
                              : Row::template start<Op::none, Op::transpose>(p, device, stream);
  return p.op_b == Op::none ? Row::template start<Op::transpose, Op::none>(p, device, stream)
                            : Row::template start<Op::transpose, Op::transpose>(p, device, stream);
}

}  // namespace KW_TARGET
