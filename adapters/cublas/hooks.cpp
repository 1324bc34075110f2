// The exported functions: each has cuBLAS's or cuSOLVER's own parameters, brings them into the one
// form of call.hpp, and hands the call on. All of them follow from the table of symbols.
#include <cstring>
#include <tuple>

#include "decode.hpp"
#include "factor_decode.hpp"
#include "forms.hpp"
#include "grouped_decode.hpp"
#include "lt_decode.hpp"
#include "serve.hpp"
#include "session.hpp"
#include "vendor.hpp"

namespace kw::cublas {

namespace {

// What all forms of gemm have.
template <class Int>
struct Gemm {
  Handle handle;
  Enum op_a, op_b;
  Int m, n, k;
  const void* alpha;
  const void* a;
  Int lda;
  const void* b;
  Int ldb;
  const void* beta;
  void* c;
  Int ldc;
};

template <class Int>
Call to_call(Symbol symbol, const Vendor& vendor, const Gemm<Int>& gemm) {
  Call call;
  call.symbol = symbol;
  call.handle = gemm.handle;
  Product& p = call.product;
  p.op_a = to_op(gemm.op_a, &call);
  p.op_b = to_op(gemm.op_b, &call);
  p.m = gemm.m;
  p.n = gemm.n;
  p.k = gemm.k;
  p.alpha = static_cast<const float*>(gemm.alpha);
  p.a = gemm.a;
  p.lda = gemm.lda;
  p.b = gemm.b;
  p.ldb = gemm.ldb;
  p.beta = static_cast<const float*>(gemm.beta);
  p.c = gemm.c;
  p.ldc = gemm.ldc;
  ask_handle(vendor, gemm.handle, &call);
  return call;
}

void make_strided(std::int64_t stride_a, std::int64_t stride_b, std::int64_t stride_c,
                  std::int64_t batch, Call* call) {
  Product& p = call->product;
  p.form = batch == 1 ? Form::one : Form::strided;
  p.stride_a = stride_a;
  p.stride_b = stride_b;
  p.stride_c = stride_c;
  p.batch = batch;
}

void make_pointers(std::int64_t batch, Call* call) {
  call->product.form = Form::pointers;
  call->product.batch = batch;
}

// ------------------------------------------------------------------ the forms of the table

#define KW_DECODE(form)                                                    \
  template <class Int>                                                     \
  Call decode_##form([[maybe_unused]] const Vendor& vendor, Symbol symbol, \
                     KW_PARAMETERS_##form(Int))

#define KW_ONE_GEMM \
  { handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc }

KW_DECODE(sgemm) { return to_call<Int>(symbol, vendor, KW_ONE_GEMM); }

KW_DECODE(sgemm_ex) {
  Call call = to_call<Int>(symbol, vendor, KW_ONE_GEMM);
  take_types(type_a, type_b, type_c, &call);
  return call;
}

KW_DECODE(gemm_ex) {
  static_cast<void>(algorithm);
  Call call = to_call<Int>(symbol, vendor, KW_ONE_GEMM);
  take_compute_type(compute, &call);
  take_types(type_a, type_b, type_c, op_a, op_b, &call);
  return call;
}

// Of the arrays of pointers nothing is written but what they point to.
template <class T>
void* array(T* const* pointers) {
  return const_cast<T**>(pointers);
}

#define KW_GEMM_OF_POINTERS \
  { handle, op_a, op_b, m, n, k, alpha, a, lda, b, ldb, beta, array(c), ldc }

KW_DECODE(batched) {
  Call call = to_call<Int>(symbol, vendor, KW_GEMM_OF_POINTERS);
  make_pointers(batch, &call);
  return call;
}

KW_DECODE(batched_ex) {
  static_cast<void>(algorithm);
  Call call = to_call<Int>(symbol, vendor, KW_GEMM_OF_POINTERS);
  take_compute_type(compute, &call);
  take_types(type_a, type_b, type_c, op_a, op_b, &call);
  make_pointers(batch, &call);
  return call;
}

KW_DECODE(strided) {
  Call call = to_call<Int>(symbol, vendor, KW_ONE_GEMM);
  make_strided(stride_a, stride_b, stride_c, batch, &call);
  return call;
}

KW_DECODE(strided_ex) {
  static_cast<void>(algorithm);
  Call call = to_call<Int>(symbol, vendor, KW_ONE_GEMM);
  take_compute_type(compute, &call);
  take_types(type_a, type_b, type_c, op_a, op_b, &call);
  make_strided(stride_a, stride_b, stride_c, batch, &call);
  return call;
}

#define KW_DECODE_COMPLEX(form, real_form)                                         \
  KW_DECODE(form) {                                                                \
    Call call = decode_##real_form<Int>(vendor, symbol, KW_ARGUMENTS_##real_form); \
    make_complex(op_a, op_b, &call);                                               \
    return call;                                                                   \
  }
KW_DECODE_COMPLEX(cgemm, sgemm)
KW_DECODE_COMPLEX(cgemm_batched, batched)
KW_DECODE_COMPLEX(cgemm_strided, strided)

#define KW_UNUSED(...) static_cast<void>(std::make_tuple(__VA_ARGS__))

// What all routines of level 3 have.
void take_triangle(Routine routine, Enum fill, Call* call) {
  call->product.routine = routine;
  call->product.triangle = fill == fill_lower ? Triangle::lower : Triangle::upper;
  if (fill != fill_lower && fill != fill_upper) call->reason = Reason::arguments;
}
void take_side(Enum side, Call* call) {
  Product& p = call->product;
  p.on_right = side == side_right;
  p.k = p.on_right ? p.n : p.m;
  if (side != side_left && side != side_right) call->reason = Reason::arguments;
}
void take_diagonal(Enum diagonal, Call* call) {
  call->product.unit_diagonal = diagonal == diagonal_of_ones;
  if (diagonal != diagonal_of_any && diagonal != diagonal_of_ones) call->reason = Reason::arguments;
}
Enum other(Enum op) { return op == op_n ? op_t : op_n; }

// No function of theirs takes a beta; of a complex one both parts are looked at.
const float no_beta[2] = {0, 0};

KW_DECODE(syrk) {
  Call call = to_call<Int>(
      symbol, vendor, {handle, op_a, other(op_a), n, n, k, alpha, a, lda, a, lda, beta, c, ldc});
  take_triangle(Routine::syrk, fill, &call);
  return call;
}

// With the other operation of the two that a routine has: of cherk a conjugate, and of csyrk none.
KW_DECODE(csyrk) {
  Call call = decode_syrk<Int>(vendor, symbol, KW_ARGUMENTS_syrk);
  make_complex(op_a, op_n, &call);
  if (op_a == op_c) call.reason = Reason::arguments;
  return call;
}

KW_DECODE(cherk) {
  Call call = decode_syrk<Int>(vendor, symbol, KW_ARGUMENTS_syrk);
  make_complex(op_a, op_n, &call);
  call.product.is_hermitian = true;
  if (op_a == op_t) call.reason = Reason::arguments;
  return call;
}

KW_DECODE(syrkx) {
  Call call = to_call<Int>(
      symbol, vendor, {handle, op_a, other(op_a), n, n, k, alpha, a, lda, b, ldb, beta, c, ldc});
  take_triangle(Routine::syrkx, fill, &call);
  return call;
}

KW_DECODE(syr2k) {
  Call call = decode_syrkx<Int>(vendor, symbol, KW_ARGUMENTS_syrkx);
  call.product.routine = Routine::syr2k;
  return call;
}

KW_DECODE(symm) {
  Call call = to_call<Int>(symbol, vendor,
                           {handle, op_n, op_n, m, n, 0, alpha, a, lda, b, ldb, beta, c, ldc});
  take_triangle(Routine::symm, fill, &call);
  take_side(side, &call);
  return call;
}

KW_DECODE(trmm) {
  Call call = to_call<Int>(symbol, vendor,
                           {handle, op_a, op_n, m, n, 0, alpha, a, lda, b, ldb, no_beta, c, ldc});
  take_triangle(Routine::trmm, fill, &call);
  take_side(side, &call);
  take_diagonal(diagonal, &call);
  return call;
}

KW_DECODE(trsm) {
  Call call = to_call<Int>(symbol, vendor,
                           {handle, op_a, op_n, m, n, 0, alpha, a, lda, b, ldb, no_beta, b, ldb});
  take_triangle(Routine::trsm, fill, &call);
  take_side(side, &call);
  take_diagonal(diagonal, &call);
  return call;
}

KW_DECODE(ctrsm) {
  Call call = decode_trsm<Int>(vendor, symbol, KW_ARGUMENTS_trsm);
  make_complex(op_a, op_n, &call);
  return call;
}

KW_DECODE(potrf) { return decode_factorisation(vendor, symbol, {KW_ARGUMENTS_potrf}); }
KW_DECODE(xpotrf) { return decode_factorisation(vendor, symbol, {KW_ARGUMENTS_xpotrf}); }

KW_DECODE(lt_matmul) {
  KW_UNUSED(algorithm, workspace, workspace_bytes);
  Call call;
  call.symbol = symbol;
  call.handle = handle;
  call.stream = stream;
  decode({description, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout},
         vendor.lt_getters, &call);
  if (handle == nullptr) call.reason = Reason::arguments;
  return call;
}

// Looks the vendor's function up, and makes the call there where nothing is to be looked at: the
// adapter is off, or cuBLAS itself calls.
template <class... Parameters, class Answer>
Status hook(Symbol symbol, const void* caller, const Answer& answer, Parameters... parameters) {
  const Vendor* const vendor = vendor_of(symbol, caller);
  if (vendor == nullptr) return status_not_initialized;
  const auto function = reinterpret_cast<Status (*)(Parameters...)>(vendor->function);
  const auto forward = [&] { return function(parameters...); };
  if (is_nested() || is_switched_off()) return forward();
  return answer(*vendor, Forward(forward));
}

#define KW_SERVED(form)                                                                \
  template <class Int>                                                                 \
  Status answer_##form(Symbol symbol, const void* caller, KW_PARAMETERS_##form(Int)) { \
    const auto answer = [&](const Vendor& vendor, const Forward& forward) {            \
      Call call = decode_##form<Int>(vendor, symbol, KW_ARGUMENTS_##form);             \
      return serve(call, forward);                                                     \
    };                                                                                 \
    return hook(symbol, caller, answer, KW_ARGUMENTS_##form);                          \
  }
KW_SERVED(sgemm)
KW_SERVED(sgemm_ex)
KW_SERVED(gemm_ex)
KW_SERVED(batched)
KW_SERVED(batched_ex)
KW_SERVED(strided)
KW_SERVED(strided_ex)
KW_SERVED(cgemm)
KW_SERVED(cgemm_batched)
KW_SERVED(cgemm_strided)
KW_SERVED(syrk)
KW_SERVED(csyrk)
KW_SERVED(cherk)
KW_SERVED(syrkx)
KW_SERVED(syr2k)
KW_SERVED(symm)
KW_SERVED(trmm)
KW_SERVED(trsm)
KW_SERVED(ctrsm)
KW_SERVED(lt_matmul)
KW_SERVED(potrf)
KW_SERVED(xpotrf)

// Of groups cuBLAS is asked for those that the library has not computed: all, but where it refused
// one after others.
template <class Int>
Status answer_grouped_ex(Symbol symbol, const void* caller, KW_PARAMETERS_grouped_ex(Int)) {
  const auto answer = [&](const Vendor& vendor, const Forward&) {
    GroupedCall grouped = decode_groups<Int>(vendor, symbol, KW_ARGUMENTS_grouped_ex);
    const auto function =
        reinterpret_cast<Status (*)(KW_PARAMETERS_grouped_ex(Int))>(vendor.function);
    const auto forward_rest = [&] {
      const std::size_t g = grouped.done;
      const std::int64_t p = grouped.done_products;
      return function(handle, op_a + g, op_b + g, m + g, n + g, k + g, scalars_from(alpha, g),
                      a + p, type_a, lda + g, b + p, type_b, ldb + g, scalars_from(beta, g), c + p,
                      type_c, ldc + g, groups - static_cast<Int>(g), group_size + g, compute);
    };
    return serve_groups(grouped, Forward(forward_rest));
  };
  return hook(symbol, caller, answer, KW_ARGUMENTS_grouped_ex);
}

template <class Int>
Status answer_grouped(Symbol symbol, const void* caller, KW_PARAMETERS_grouped(Int)) {
  const auto answer = [&](const Vendor& vendor, const Forward&) {
    GroupedCall grouped = decode_groups<Int>(
        vendor, symbol, handle, op_a, op_b, m, n, k, alpha, plain(a), data_r_32f, lda, plain(b),
        data_r_32f, ldb, beta, plain(c), data_r_32f, ldc, groups, group_size, compute_32f);
    const auto function = reinterpret_cast<Status (*)(KW_PARAMETERS_grouped(Int))>(vendor.function);
    const auto forward_rest = [&] {
      const std::size_t g = grouped.done;
      const std::int64_t p = grouped.done_products;
      return function(handle, op_a + g, op_b + g, m + g, n + g, k + g, alpha + g, a + p, lda + g,
                      b + p, ldb + g, beta + g, c + p, ldc + g, groups - static_cast<Int>(g),
                      group_size + g);
    };
    return serve_groups(grouped, Forward(forward_rest));
  };
  return hook(symbol, caller, answer, KW_ARGUMENTS_grouped);
}

// The end of a handle is followed, not decided.
template <class Int>
Status answer_destroy(Symbol symbol, const void* caller, KW_PARAMETERS_destroy(Int)) {
  const auto answer = [&](const Vendor&, const Forward& forward) {
    session().forget(handle);
    return pass_on(forward);
  };
  return hook(symbol, caller, answer, handle);
}

}  // namespace

}  // namespace kw::cublas

// ------------------------------------------------------------------ what is exported

using namespace kw::cublas;

#define KW_EXPORT(symbol, form, integer, library)                                                 \
  extern "C" __attribute__((visibility("default"))) Status symbol(KW_PARAMETERS_##form(integer)); \
  extern "C" Status symbol(KW_PARAMETERS_##form(integer)) {                                       \
    return answer_##form<integer>(Symbol::symbol, __builtin_return_address(0),                    \
                                  KW_ARGUMENTS_##form);                                           \
  }
KW_SYMBOLS(KW_EXPORT)

void* kw::cublas::hook_of(const char* name, Symbol* symbol) {
#define KW_ADDRESS(symbol, form, integer, library) reinterpret_cast<void*>(&::symbol),
  static void* const hooks[] = {KW_SYMBOLS(KW_ADDRESS)};
  for (std::size_t index = 0; index < symbol_count; ++index) {
    if (std::strcmp(name, symbols[index].name) != 0) continue;
    *symbol = static_cast<Symbol>(index);
    return hooks[index];
  }
  return nullptr;
}

// The process ends: what was counted is written. Contexts stay; the driver frees what they have.
__attribute__((destructor)) static void tell_what_happened() {
  Session* const so_far = session_so_far();
  if (so_far == nullptr) return;
  so_far->record().write_file(true);
  so_far->record().write_summary();
}
