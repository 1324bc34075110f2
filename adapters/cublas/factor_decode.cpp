// Factorisations of cuSOLVER: their handle is asked for the stream, cuSOLVER for what it needs.
#include "factor_decode.hpp"

namespace kw::cublas {

namespace {

constexpr float one = 1, zero = 0;

template <class Arguments>
Call to_call(const Vendor& vendor, Symbol symbol, const Arguments& from) {
  Call call;
  call.symbol = symbol;
  call.handle = from.handle;
  Product& p = call.product;
  p.routine = Routine::potrf;
  p.triangle = from.fill == fill_lower ? Triangle::lower : Triangle::upper;
  p.m = p.n = p.k = from.n;
  p.alpha = &one;
  p.beta = &zero;
  p.a = p.b = p.c = from.a;
  p.lda = p.ldb = p.ldc = from.lda;
  p.info = from.info;
  const bool is_known = from.fill == fill_lower || from.fill == fill_upper;
  if (!is_known || from.handle == nullptr || vendor.solver.stream == nullptr ||
      vendor.solver.stream(from.handle, &call.stream) != status_success) {
    call.reason = Reason::arguments;
  }
  return call;
}

bool has_room(const Vendor& vendor, const Potrf& p) {
  int needed = 0;
  const auto size = vendor.solver.potrf_size;
  return size != nullptr && size(p.handle, p.fill, p.n, p.a, p.lda, &needed) == status_success &&
         p.workspace_floats >= needed && (p.workspace != nullptr || needed == 0);
}
bool has_room(const Vendor& vendor, const Xpotrf& p) {
  std::size_t on_device = 0, on_host = 0;
  const auto size = vendor.solver.xpotrf_size;
  return size != nullptr &&
         size(p.handle, p.options, p.fill, p.n, p.type_a, p.a, p.lda, p.compute, &on_device,
              &on_host) == status_success &&
         p.device_bytes >= on_device && (p.on_device != nullptr || on_device == 0) &&
         p.host_bytes >= on_host && (p.on_host != nullptr || on_host == 0);
}

template <class Arguments>
Call checked(Call call, const Vendor& vendor, const Arguments& from) {
  if (call.reason == Reason::none && !has_room(vendor, from)) call.reason = Reason::arguments;
  return call;
}

}  // namespace

Call decode_factorisation(const Vendor& vendor, Symbol symbol, const Potrf& potrf) {
  return checked(to_call(vendor, symbol, potrf), vendor, potrf);
}

Call decode_factorisation(const Vendor& vendor, Symbol symbol, const Xpotrf& potrf) {
  Call call = to_call(vendor, symbol, potrf);
  if (potrf.type_a != data_r_32f || potrf.compute != data_r_32f) call.reason = Reason::types;
  return checked(call, vendor, potrf);
}

}  // namespace kw::cublas
