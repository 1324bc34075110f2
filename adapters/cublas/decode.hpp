// What the parameters of every function say of a call: operations, types, compute types, and the
// state of the handle.
#pragma once

#include "call.hpp"
#include "vendor.hpp"

namespace kw::cublas {

inline kwOp_t to_op(Enum op, Call* call) {
  if (op != op_n && op != op_t && op != op_c) call->reason = Reason::operation;
  return op == op_n ? KW_OP_NONE : KW_OP_TRANSPOSE;
}

// Of complex numbers a conjugate is one.
inline void make_complex(Enum op_a, Enum op_b, Call* call) {
  call->product.is_complex = true;
  if (op_a == op_c) call->product.op_a = KW_OP_CONJUGATE_TRANSPOSE;
  if (op_b == op_c) call->product.op_b = KW_OP_CONJUGATE_TRANSPOSE;
}

// Stream, pointer mode and math mode, as the handle has them now.
inline void ask_handle(const Vendor& vendor, Handle handle, Call* call) {
  const Getters& getters = vendor.getters;
  Enum pointer_mode = 0, math_mode = 0;
  if (handle == nullptr || !getters.complete() ||
      getters.stream(handle, &call->stream) != status_success ||
      getters.pointer_mode(handle, &pointer_mode) != status_success ||
      getters.math_mode(handle, &math_mode) != status_success) {
    call->reason = Reason::arguments;
    return;
  }
  call->product.scalars_on_device = pointer_mode == pointer_mode_device;
  const Enum mode = math_mode & math_mode_bits;
  call->pedantic = mode == math_pedantic;
  if (mode != math_default && mode != math_pedantic) call->reason = Reason::math_mode;
}

// For the functions that take one.
inline void take_compute_type(Enum type, Call* call) {
  if (type == compute_32f_pedantic) {
    call->pedantic = true;
  } else if (type != compute_32f && type != compute_as_data_r_32f) {
    call->reason = Reason::compute_type;
  }
}

inline void take_types(Enum a, Enum b, Enum c, Call* call) {
  if (a != data_r_32f || b != data_r_32f || c != data_r_32f) call->reason = Reason::types;
}

// The same where the call may be of complex numbers. Before cuBLAS 11 their compute type was
// theirs.
inline void take_types(Enum a, Enum b, Enum c, Enum op_a, Enum op_b, Call* call) {
  if (a != data_c_32f || b != data_c_32f || c != data_c_32f) return take_types(a, b, c, call);
  make_complex(op_a, op_b, call);
}

}  // namespace kw::cublas
