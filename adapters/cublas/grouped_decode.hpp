// Reads the arrays of cublasGemmGroupedBatchedEx: those of shapes and scalars lie on the host,
// those of pointers on the device, all groups' one after the other.
#pragma once

#include "decode.hpp"
#include "forms.hpp"

namespace kw::cublas {

inline const float* scalars_from(const void* scalars, std::size_t group) {
  return scalars == nullptr ? nullptr : static_cast<const float*>(scalars) + group;
}

inline const void* const* plain(const float* const* pointers) {
  return reinterpret_cast<const void* const*>(pointers);
}
inline void* const* plain(float* const* pointers) {
  return reinterpret_cast<void* const*>(pointers);
}

template <class Int>
GroupedCall decode_groups(const Vendor& vendor, Symbol symbol, KW_PARAMETERS_grouped_ex(Int)) {
  GroupedCall grouped;
  Call& call = grouped.call;
  call.symbol = symbol;
  call.handle = handle;
  call.is_group = true;
  ask_handle(vendor, handle, &call);
  take_compute_type(compute, &call);
  take_types(type_a, type_b, type_c, &call);
  // cuBLAS has them with scalars on the host alone.
  if (groups <= 0 || !op_a || !op_b || !m || !n || !k || !alpha || !beta || !lda || !ldb || !ldc ||
      !group_size || !a || !b || !c || call.product.scalars_on_device) {
    call.reason = Reason::arguments;
    return grouped;
  }
  std::int64_t entries = 0;
  grouped.groups.reserve(static_cast<std::size_t>(groups));
  for (Int g = 0; g < groups; ++g) {
    Product p;
    p.form = Form::pointers;
    p.op_a = to_op(op_a[g], &call);
    p.op_b = to_op(op_b[g], &call);
    p.m = m[g], p.n = n[g], p.k = k[g], p.batch = group_size[g];
    p.lda = lda[g], p.ldb = ldb[g], p.ldc = ldc[g];
    p.alpha = scalars_from(alpha, static_cast<std::size_t>(g));
    p.beta = scalars_from(beta, static_cast<std::size_t>(g));
    p.a = a + entries;
    p.b = b + entries;
    p.c = const_cast<void**>(c + entries);
    if (group_size[g] > 0) entries += group_size[g];
    grouped.groups.push_back(p);
  }
  call.product = grouped.groups.front();
  call.product.batch = entries;
  return grouped;
}

}  // namespace kw::cublas
