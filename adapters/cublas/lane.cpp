// Contexts of the library, and what is decided for a shape.
#include "lane.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "fork_lock.hpp"
#include "judge.hpp"
#include "session.hpp"

namespace kw::cublas {

namespace {

// What a plan may depend on: whether a scalar is 0, 1 or another, and how far an address is a
// multiple of 16.
std::int64_t kind_of(const float* scalar, const Product& p) {
  if (p.scalars_on_device) return 3;
  if (p.has_complex_scalars() && scalar[1] != 0) return 4;
  return *scalar == 0 ? 0 : *scalar == 1 ? 1 : 2;
}
std::int64_t last_bits(const void* address) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(address) % 16);
}

kwMath_t to_library(Arithmetic math) {
  return math == Arithmetic::fp32 ? KW_MATH_FP32 : KW_MATH_FP32_SPLIT;
}

template <class T>
const T* as(const void* data) {
  return static_cast<const T*>(data);
}

// The functions of the library for products of one type, and for level 3: those that compute, or
// those that plan.
template <class One, class Strided, class Pointers>
struct Products {
  One one;
  Strided strided;
  Pointers pointers;
};
template <class One, class Strided, class Pointers>
Products(One, Strided, Pointers) -> Products<One, Strided, Pointers>;
template <class Syrk, class Csyrk, class Cherk, class Syrkx, class Symm, class Trmm, class Trsm,
          class Ctrsm, class Potrf>
struct Routines {
  Syrk syrk;
  Csyrk csyrk;
  Cherk cherk;
  Syrkx syrkx, syr2k;
  Symm symm;
  Trmm trmm;
  Trsm trsm;
  Ctrsm ctrsm;
  Potrf potrf;
};

template <class Syrk, class Csyrk, class Cherk, class Syrkx, class Symm, class Trmm, class Trsm,
          class Ctrsm, class Potrf>
Routines(Syrk, Csyrk, Cherk, Syrkx, Syrkx, Symm, Trmm, Trsm, Ctrsm, Potrf)
    -> Routines<Syrk, Csyrk, Cherk, Syrkx, Symm, Trmm, Trsm, Ctrsm, Potrf>;

// A routine of level 3, by one of these.
template <class Library, class Call>
kwStatus_t with_routine(const Product& p, const Library& kw, const Call& call) {
  const kwUplo_t uplo = p.triangle == Triangle::lower ? KW_LOWER : KW_UPPER;
  const kwSide_t side = p.on_right ? KW_RIGHT : KW_LEFT;
  const kwDiag_t diag = p.unit_diagonal ? KW_UNIT : KW_NON_UNIT;
  const auto *a = as<float>(p.a), *b = as<float>(p.b);
  auto* const c = static_cast<float*>(p.c);
  switch (p.routine) {
    case Routine::syrk:
      if (p.is_complex) {
        const auto* const complex_a = as<kwComplex>(p.a);
        auto* const complex_c = static_cast<kwComplex*>(p.c);
        if (p.is_hermitian)
          return call(kw.cherk, p.layout, uplo, p.op_a, p.n, p.k, p.alpha, complex_a, p.lda, p.beta,
                      complex_c, p.ldc);
        return call(kw.csyrk, p.layout, uplo, p.op_a, p.n, p.k, as<kwComplex>(p.alpha), complex_a,
                    p.lda, as<kwComplex>(p.beta), complex_c, p.ldc);
      }
      return call(kw.syrk, p.layout, uplo, p.op_a, p.n, p.k, p.alpha, a, p.lda, p.beta, c, p.ldc);
    case Routine::syrkx:
    case Routine::syr2k:
      return call(p.routine == Routine::syrkx ? kw.syrkx : kw.syr2k, p.layout, uplo, p.op_a, p.n,
                  p.k, p.alpha, a, p.lda, b, p.ldb, p.beta, c, p.ldc);
    case Routine::symm:
      return call(kw.symm, p.layout, side, uplo, p.m, p.n, p.alpha, a, p.lda, b, p.ldb, p.beta, c,
                  p.ldc);
    case Routine::trmm:
      return call(kw.trmm, p.layout, side, uplo, p.op_a, diag, p.m, p.n, p.alpha, a, p.lda, b,
                  p.ldb, c, p.ldc);
    case Routine::trsm:
      if (p.is_complex)
        return call(kw.ctrsm, p.layout, side, uplo, p.op_a, diag, p.m, p.n, as<kwComplex>(p.alpha),
                    as<kwComplex>(p.a), p.lda, static_cast<kwComplex*>(p.c), p.ldc);
      return call(kw.trsm, p.layout, side, uplo, p.op_a, diag, p.m, p.n, p.alpha, a, p.lda, c,
                  p.ldc);
    case Routine::potrf: return call(kw.potrf, p.layout, uplo, p.n, c, p.ldc, p.info);
    case Routine::gemm: break;
  }
  return KW_STATUS_UNSUPPORTED;
}

// The three forms of a product are one list of arguments each, of real elements or complex ones.
template <class T, class Library, class Call>
kwStatus_t with_form(const Product& p, const Library& kw, const Call& call) {
  const T *const alpha = as<T>(p.alpha), *const beta = as<T>(p.beta);
  if (p.form == Form::one) {
    return call(kw.one, p.layout, p.op_a, p.op_b, p.m, p.n, p.k, alpha, as<T>(p.a), p.lda,
                as<T>(p.b), p.ldb, beta, static_cast<T*>(p.c), p.ldc);
  }
  if (p.form == Form::strided) {
    return call(kw.strided, p.layout, p.op_a, p.op_b, p.m, p.n, p.k, alpha, as<T>(p.a), p.lda,
                p.stride_a, as<T>(p.b), p.ldb, p.stride_b, beta, static_cast<T*>(p.c), p.ldc,
                p.stride_c, p.batch);
  }
  return call(kw.pointers, p.layout, p.op_a, p.op_b, p.m, p.n, p.k, alpha, as<const T*>(p.a), p.lda,
              as<const T*>(p.b), p.ldb, beta, static_cast<T* const*>(p.c), p.ldc, p.batch);
}

template <class Real, class Complex, class Level3, class Call>
kwStatus_t with_functions(const Product& p, const Real& real, const Complex& complex,
                          const Level3& level3, const Call& call) {
  if (p.routine != Routine::gemm) return with_routine(p, level3, call);
  return p.is_complex ? with_form<kwComplex>(p, complex, call) : with_form<float>(p, real, call);
}

}  // namespace

std::shared_ptr<Lane> Lane::open(Device& device, const Policy& policy, std::size_t workspace_bytes,
                                 std::string* why_not) {
  const KernelwrightLibrary& kw = library();
  const auto lock = lock_over_forks();  // the library makes things once, too
  const AllocatesBesideCaptures allocates;
  kwHandle_t handle = nullptr;
  const kwStatus_t status =
      policy.on_cpu ? kw.kwCreateCpu(&handle) : kw.kwCreateGpu(&handle, device.ordinal);
  if (status != KW_STATUS_OK) {
    *why_not = kw.kwLastErrorMessage(nullptr);
    return nullptr;
  }
  static_cast<void>(kw.kwSetWorkspaceLimit(handle, workspace_bytes));
  return std::shared_ptr<Lane>(new Lane(device, handle));
}

Lane::Lane(Device& device, kwHandle_t handle) : device_(&device), handle_(handle) {
  if (device.name.empty()) {
    device.name = library().kwDeviceName(handle);
    device.times = vendor_times_of(device.name);
  }
}

Lane::~Lane() { close(); }

void Lane::close() {
  const std::lock_guard<std::mutex> lock(mutex_);
  const AllocatesBesideCaptures allocates;
  library().kwDestroy(handle_);
  handle_ = nullptr;
}

// A context of the CPU has no stream.
bool Lane::use_stream(Stream stream) {
  decisions_.clear();
  const bool on_cpu = device_->session->policy().on_cpu;
  return library().kwSetStream(handle_, on_cpu ? nullptr : stream) == KW_STATUS_OK;
}

// Where the device has no more, the library plans with what there is.
void Lane::reserve(std::size_t bytes) {
  const AllocatesBesideCaptures allocates;
  static_cast<void>(library().kwReserveWorkspace(handle_, bytes));
}

Lane::Key Lane::key_of(const Call& call) {
  const Product& p = call.product;
  const bool arrays = p.form == Form::pointers;
  std::int64_t small = static_cast<std::int64_t>(call.symbol);
  const auto put = [&](std::int64_t value, int bits) { small = small << bits | value; };
  put(p.layout, 1);
  put(p.op_a, 2);
  put(p.op_b, 2);
  put((p.is_complex ? 1 : 0) + (p.is_hermitian ? 2 : 0), 2);
  put(static_cast<std::int64_t>(p.form), 2);
  put(call.pedantic ? 1 : 0, 1);
  put(static_cast<std::int64_t>(p.routine), 3);
  put(static_cast<std::int64_t>(p.triangle), 2);
  put((p.on_right ? 2 : 0) + (p.unit_diagonal ? 1 : 0), 2);
  put(p.routine == Routine::trmm && p.b == p.c ? 1 : 0, 1);  // in place
  put(kind_of(p.alpha, p), 3);
  put(kind_of(p.beta, p), 3);
  put(epilogue_kind(p), 4);
  put(arrays ? 0 : last_bits(p.a), 4);
  put(arrays ? 0 : last_bits(p.b), 4);
  put(arrays ? 0 : last_bits(p.c), 4);
  return {p.m, p.n, p.k, p.lda, p.ldb, p.ldc, p.batch, p.stride_a, p.stride_b, p.stride_c, small};
}

bool Lane::set(const Product& product, Arithmetic math) {
  const kwPointerMode_t mode =
      product.scalars_on_device ? KW_POINTER_MODE_DEVICE : KW_POINTER_MODE_HOST;
  if (mode != pointer_mode_) {
    if (library().kwSetPointerMode(handle_, mode) != KW_STATUS_OK) return false;
    pointer_mode_ = mode;
  }
  if (math != math_) {
    if (library().kwSetMath(handle_, to_library(math)) != KW_STATUS_OK) return false;
    math_ = math;
  }
  return true;
}

Decision Lane::decide(const Call& call, const Policy& policy) {
  Decision made;
  const Product& p = call.product;
  made.outlook.math = call.pedantic ? policy.pedantic : policy.math;
  made.reason = made.outlook.math == Arithmetic::off ? Reason::pedantic : Reason::none;
  kwSgemmPlan plan = {nullptr, 0, 0};
  if (made.reason == Reason::none && !make_plan(p, made.outlook.math, &plan)) {
    made.reason = Reason::refused;
  }
  if (made.reason != Reason::none) return made;
  plan.time_us += epilogue_us(p);
  const VendorTimes* const times = device_->times;
  if (times != nullptr && !call.is_group) {
    made.outlook.vendor_time_us = predict_vendor_us(*times, p);
  }
  if (!call.is_group) {
    made.reason = judge_times(policy, times != nullptr || policy.on_cpu, operations_of(p),
                              plan.time_us, made.outlook.vendor_time_us);
  }
  if (plan.kernel != nullptr) made.outlook.kernel = plan.kernel;
  if (std::isfinite(plan.time_us)) made.outlook.time_us = plan.time_us;
  made.workspace_bytes = plan.workspace_bytes;
  return made;
}

// A plan depends on no epilogue, and what is wrong in one the product itself says: so that a bias
// of one address does not decide for those of others.
bool Lane::make_plan(const Product& product, Arithmetic math, kwSgemmPlan* plan) {
  const KernelwrightLibrary& kw = library();
  const Products real = {kw.kwPlanSgemm, kw.kwPlanSgemmStridedBatched, kw.kwPlanSgemmBatched};
  const Products complex = {kw.kwPlanCgemm, kw.kwPlanCgemmStridedBatched, kw.kwPlanCgemmBatched};
  const Routines routines = {kw.kwPlanSsyrk,  kw.kwPlanCsyrk, kw.kwPlanCherk, kw.kwPlanSsyrkx,
                             kw.kwPlanSsyr2k, kw.kwPlanSsymm, kw.kwPlanStrmm, kw.kwPlanStrsm,
                             kw.kwPlanCtrsm,  kw.kwPlanSpotrf};
  const auto ask = [&](auto function, auto... arguments) {
    return function(handle_, arguments..., plan);
  };
  const auto lock = lock_over_forks();
  return set(product, math) &&
         with_functions(product, real, complex, routines, ask) == KW_STATUS_OK;
}

bool Lane::set_epilogue(const Product& p) {
  kwEpilogue epilogue = {};
  epilogue.bias = p.bias;
  epilogue.bias_of = KW_BIAS_OF_ROWS;
  epilogue.stride_bias = p.stride_bias;
  epilogue.activation = p.activation;
  epilogue.source = p.source;
  epilogue.ld_source = p.ld_source;
  epilogue.stride_source = p.stride_source;
  return library().kwSetEpilogue(handle_, &epilogue) == KW_STATUS_OK;
}

// An epilogue is the handle's for this product alone, whatever becomes of it. Taking it back, which
// a handle cannot refuse, also clears the handle's last sentence.
kwStatus_t Lane::multiply(const Product& product, Arithmetic math) {
  const kwStatus_t status = compute(product, math);
  if (status != KW_STATUS_OK) last_error_ = library().kwLastErrorMessage(handle_);
  if (epilogue_kind(product) != 0) static_cast<void>(library().kwSetEpilogue(handle_, nullptr));
  return status;
}

kwStatus_t Lane::compute(const Product& product, Arithmetic math) {
  if (!set(product, math)) return KW_STATUS_INTERNAL_ERROR;
  if (epilogue_kind(product) != 0 && !set_epilogue(product)) return KW_STATUS_INTERNAL_ERROR;
  const KernelwrightLibrary& kw = library();
  const Products real = {kw.kwSgemm, kw.kwSgemmStridedBatched, kw.kwSgemmBatched};
  const Products complex = {kw.kwCgemm, kw.kwCgemmStridedBatched, kw.kwCgemmBatched};
  const Routines routines = {kw.kwSsyrk, kw.kwCsyrk, kw.kwCherk, kw.kwSsyrkx, kw.kwSsyr2k,
                             kw.kwSsymm, kw.kwStrmm, kw.kwStrsm, kw.kwCtrsm,  kw.kwSpotrf};
  return with_functions(product, real, complex, routines, [&](auto function, auto... arguments) {
    return function(handle_, arguments...);
  });
}

}  // namespace kw::cublas
