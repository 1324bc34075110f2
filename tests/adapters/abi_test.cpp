// The adapter's own declarations of cuBLAS's interface against NVIDIA's headers, where those are.
#ifdef KW_HAVE_CUBLAS_HEADERS
#include <cublasLt.h>
#include <cublas_v2.h>
#if __has_include(<cusolverDn.h>)
#include <cusolverDn.h>
#endif

#include <type_traits>

#include "abi.hpp"
#include "forms.hpp"
#include "symbols.hpp"

namespace kw::cublas {
namespace {

static_assert(sizeof(cublasStatus_t) == sizeof(Status) && sizeof(cublasHandle_t) == sizeof(Handle));
static_assert(sizeof(cudaDataType_t) == sizeof(Enum) &&
              sizeof(cublasComputeType_t) == sizeof(Enum));
static_assert(sizeof(cublasGemmAlgo_t) == sizeof(Enum) &&
              sizeof(cublasOperation_t) == sizeof(Enum));
static_assert(status_success == CUBLAS_STATUS_SUCCESS);
static_assert(status_not_initialized == CUBLAS_STATUS_NOT_INITIALIZED);
static_assert(status_execution_failed == CUBLAS_STATUS_EXECUTION_FAILED);
static_assert(op_n == CUBLAS_OP_N && op_t == CUBLAS_OP_T && op_c == CUBLAS_OP_C);
static_assert(fill_lower == CUBLAS_FILL_MODE_LOWER && fill_upper == CUBLAS_FILL_MODE_UPPER);
static_assert(pointer_mode_host == CUBLAS_POINTER_MODE_HOST);
static_assert(pointer_mode_device == CUBLAS_POINTER_MODE_DEVICE);
static_assert(data_r_32f == CUDA_R_32F);
static_assert(compute_32f == CUBLAS_COMPUTE_32F);
static_assert(compute_32f_pedantic == CUBLAS_COMPUTE_32F_PEDANTIC);
static_assert(math_default == CUBLAS_DEFAULT_MATH && math_pedantic == CUBLAS_PEDANTIC_MATH);
// The modes are below the flags.
static_assert(CUBLAS_TF32_TENSOR_OP_MATH <= math_mode_bits);
static_assert(CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION == math_mode_bits + 1);

static_assert(lt::layout_type == CUBLASLT_MATRIX_LAYOUT_TYPE);
static_assert(lt::layout_order == CUBLASLT_MATRIX_LAYOUT_ORDER);
static_assert(lt::layout_rows == CUBLASLT_MATRIX_LAYOUT_ROWS);
static_assert(lt::layout_cols == CUBLASLT_MATRIX_LAYOUT_COLS);
static_assert(lt::layout_ld == CUBLASLT_MATRIX_LAYOUT_LD);
static_assert(lt::layout_batch_count == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
static_assert(lt::layout_batch_stride == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
static_assert(lt::layout_plane_offset == CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET);
static_assert(lt::order_col == CUBLASLT_ORDER_COL && lt::order_row == CUBLASLT_ORDER_ROW);
static_assert(lt::matmul_compute_type == CUBLASLT_MATMUL_DESC_COMPUTE_TYPE);
static_assert(lt::matmul_scale_type == CUBLASLT_MATMUL_DESC_SCALE_TYPE);
static_assert(lt::matmul_pointer_mode == CUBLASLT_MATMUL_DESC_POINTER_MODE);
static_assert(lt::matmul_op_a == CUBLASLT_MATMUL_DESC_TRANSA);
static_assert(lt::matmul_op_b == CUBLASLT_MATMUL_DESC_TRANSB);
static_assert(lt::matmul_op_c == CUBLASLT_MATMUL_DESC_TRANSC);
static_assert(lt::matmul_fill_mode == CUBLASLT_MATMUL_DESC_FILL_MODE);
static_assert(lt::matmul_epilogue == CUBLASLT_MATMUL_DESC_EPILOGUE);
static_assert(lt::matmul_a_scale == CUBLASLT_MATMUL_DESC_A_SCALE_POINTER);
static_assert(lt::matmul_b_scale == CUBLASLT_MATMUL_DESC_B_SCALE_POINTER);
static_assert(lt::matmul_c_scale == CUBLASLT_MATMUL_DESC_C_SCALE_POINTER);
static_assert(lt::matmul_d_scale == CUBLASLT_MATMUL_DESC_D_SCALE_POINTER);
static_assert(lt::matmul_amax_d == CUBLASLT_MATMUL_DESC_AMAX_D_POINTER);
static_assert(lt::matmul_bias == CUBLASLT_MATMUL_DESC_BIAS_POINTER);
static_assert(lt::matmul_bias_stride == CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE);
static_assert(lt::matmul_bias_type == CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
static_assert(lt::fill_mode_full == CUBLAS_FILL_MODE_FULL);
static_assert(lt::epilogue_default == CUBLASLT_EPILOGUE_DEFAULT);
static_assert(lt::epilogue_relu == CUBLASLT_EPILOGUE_RELU);
static_assert(lt::epilogue_bias == CUBLASLT_EPILOGUE_BIAS);
static_assert(lt::epilogue_relu_bias == CUBLASLT_EPILOGUE_RELU_BIAS);
static_assert(lt::epilogue_gelu == CUBLASLT_EPILOGUE_GELU);
static_assert(lt::epilogue_gelu_bias == CUBLASLT_EPILOGUE_GELU_BIAS);

// As many parameters as NVIDIA's functions have, each as large.
template <class Function>
struct Parameters;
template <class Result, class... Types>
struct Parameters<Result(Types...)> {
  static constexpr std::size_t count = sizeof...(Types);
  static constexpr std::size_t sizes[] = {sizeof(Types)...};
};
template <class Ours, class Theirs>
constexpr bool same_call() {
  using A = Parameters<Ours>;
  using B = Parameters<Theirs>;
  if (A::count != B::count) return false;
  for (std::size_t i = 0; i < A::count; ++i) {
    if (A::sizes[i] != B::sizes[i]) return false;
  }
  return true;
}
// cublasGemmEx and its like are overloaded in C++: the one of compute types is the library's.
#define KW_COMPARE(symbol, form, integer, library) KW_COMPARE_##form(symbol, form, integer)
#define KW_COMPARE_PLAIN(symbol, form, integer) \
  static_assert(same_call<Status(KW_PARAMETERS_##form(integer)), decltype(::symbol)>());
#define KW_COMPARE_sgemm KW_COMPARE_PLAIN
#define KW_COMPARE_sgemm_ex KW_COMPARE_PLAIN
#define KW_COMPARE_batched KW_COMPARE_PLAIN
#define KW_COMPARE_strided KW_COMPARE_PLAIN
#define KW_COMPARE_grouped KW_COMPARE_PLAIN
#define KW_COMPARE_grouped_ex KW_COMPARE_PLAIN
#define KW_COMPARE_syrk KW_COMPARE_PLAIN
#define KW_COMPARE_syrkx KW_COMPARE_PLAIN
#define KW_COMPARE_syr2k KW_COMPARE_PLAIN
#define KW_COMPARE_symm KW_COMPARE_PLAIN
#define KW_COMPARE_trmm KW_COMPARE_PLAIN
#define KW_COMPARE_trsm KW_COMPARE_PLAIN
#define KW_COMPARE_cgemm KW_COMPARE_PLAIN
#define KW_COMPARE_cgemm_batched KW_COMPARE_PLAIN
#define KW_COMPARE_cgemm_strided KW_COMPARE_PLAIN
#define KW_COMPARE_csyrk KW_COMPARE_PLAIN
#define KW_COMPARE_cherk KW_COMPARE_PLAIN
#define KW_COMPARE_ctrsm KW_COMPARE_PLAIN
#define KW_COMPARE_lt_matmul KW_COMPARE_PLAIN
#define KW_COMPARE_destroy KW_COMPARE_PLAIN
#define KW_COMPARE_gemm_ex(symbol, form, integer)
#define KW_COMPARE_batched_ex(symbol, form, integer)
#define KW_COMPARE_strided_ex(symbol, form, integer)
KW_CUBLAS_SYMBOLS(KW_COMPARE)

#if __has_include(<cusolverDn.h>)
static_assert(status_success == CUSOLVER_STATUS_SUCCESS);
static_assert(status_not_initialized == CUSOLVER_STATUS_NOT_INITIALIZED);
#define KW_COMPARE_potrf KW_COMPARE_PLAIN
#define KW_COMPARE_xpotrf KW_COMPARE_PLAIN
KW_CUSOLVER_SYMBOLS(KW_COMPARE)
static_assert(
    same_call<Status(KW_PARAMETERS_potrf_size(int)), decltype(::cusolverDnSpotrf_bufferSize)>());
static_assert(same_call<Status(KW_PARAMETERS_xpotrf_size(std::int64_t)),
                        decltype(::cusolverDnXpotrf_bufferSize)>());
#endif

}  // namespace
}  // namespace kw::cublas
#endif
