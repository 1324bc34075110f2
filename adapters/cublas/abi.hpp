// What the adapter must know of cuBLAS's binary interface, as NVIDIA's public documentation has it
// (docs.nvidia.com/cuda/cublas), so that it is built without NVIDIA's headers. Where those are at
// hand, tests/adapters/abi_test.cpp compares every value here with theirs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kw::cublas {

using Handle = void*;  // cublasHandle_t or cublasLtHandle_t
using Stream = void*;  // cudaStream_t, a CUstream
using Enum = std::int32_t;
using Status = Enum;

constexpr Status status_success = 0;
constexpr Status status_not_initialized = 1;
constexpr Status status_execution_failed = 13;

constexpr Enum op_n = 0, op_t = 1, op_c = 2;  // op_c of real numbers is op_t
constexpr Enum fill_lower = 0, fill_upper = 1;
constexpr Enum side_left = 0, side_right = 1;
constexpr Enum diagonal_of_any = 0, diagonal_of_ones = 1;
constexpr Enum pointer_mode_host = 0, pointer_mode_device = 1;
constexpr Enum data_r_32f = 0, data_c_32f = 4;

// Before cuBLAS 11 a compute type was a data type.
constexpr Enum compute_as_data_r_32f = data_r_32f;
constexpr Enum compute_32f = 68, compute_32f_pedantic = 69;

// The mode itself is in the low bits, flags are above.
constexpr Enum math_mode_bits = 15;
constexpr Enum math_default = 0, math_pedantic = 2;

namespace lt {

// Matrix layouts.
constexpr Enum layout_type = 0, layout_order = 1, layout_rows = 2, layout_cols = 3, layout_ld = 4,
               layout_batch_count = 5, layout_batch_stride = 6, layout_plane_offset = 7,
               layout_batch_mode = 8;
constexpr Enum order_col = 0, order_row = 1;

// Descriptions of a product.
constexpr Enum matmul_compute_type = 0, matmul_scale_type = 1, matmul_pointer_mode = 2,
               matmul_op_a = 3, matmul_op_b = 4, matmul_op_c = 5, matmul_fill_mode = 6,
               matmul_epilogue = 7, matmul_a_scale = 17, matmul_b_scale = 18, matmul_c_scale = 19,
               matmul_d_scale = 20, matmul_amax_d = 21;
constexpr Enum matmul_bias = 8, matmul_bias_stride = 10, matmul_bias_type = 26;
constexpr Enum bias_type_of_d = -1;  // the default
constexpr Enum fill_mode_full = 2;
// Those with a bit of 128 or above write or read more than D.
constexpr Enum epilogue_default = 1, epilogue_relu = 2, epilogue_bias = 4, epilogue_relu_bias = 6,
               epilogue_gelu = 32, epilogue_gelu_bias = 36;

}  // namespace lt

}  // namespace kw::cublas
