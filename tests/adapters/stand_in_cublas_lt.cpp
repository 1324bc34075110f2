// A stand-in for libcublasLt: descriptors with attributes, and a product of FP32 that honours
// orders, transposes, batches and C apart from D; of epilogues it knows bias, ReLU and GELU.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <vector>

#include "forms.hpp"
#include "stand_in.hpp"
#include "stand_in_loops.hpp"
#include "symbols.hpp"

using namespace kw::cublas;

namespace {

constexpr Status invalid_value = 7, not_supported = 15;
std::atomic<long> matmuls{0};

using Attributes = std::map<int, std::vector<unsigned char>>;

template <class T>
void put(Attributes& in, int attribute, T value) {
  std::vector<unsigned char> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  in[attribute] = bytes;
}
template <class T>
T get(const Attributes& in, int attribute) {
  T value{};
  std::memcpy(&value, in.at(attribute).data(), sizeof value);
  return value;
}

int set_attribute(void* to, int attribute, const void* value, std::size_t bytes) {
  auto& attributes = *static_cast<Attributes*>(to);
  const auto found = attributes.find(attribute);
  if (found == attributes.end() || found->second.size() != bytes) return invalid_value;
  std::memcpy(found->second.data(), value, bytes);
  return status_success;
}
int get_attribute(void* from, int attribute, void* value, std::size_t bytes, std::size_t* written) {
  const auto& attributes = *static_cast<Attributes*>(from);
  const auto found = attributes.find(attribute);
  if (found == attributes.end() || bytes != found->second.size()) return invalid_value;
  std::memcpy(value, found->second.data(), found->second.size());
  if (written != nullptr) *written = found->second.size();
  return status_success;
}

struct Matrix {
  explicit Matrix(const void* layout) {
    const auto& said = *static_cast<const Attributes*>(layout);
    type = get<int>(said, lt::layout_type);
    order = get<int>(said, lt::layout_order);
    rows = static_cast<std::int64_t>(get<std::uint64_t>(said, lt::layout_rows));
    cols = static_cast<std::int64_t>(get<std::uint64_t>(said, lt::layout_cols));
    ld = get<std::int64_t>(said, lt::layout_ld);
    batch = get<int>(said, lt::layout_batch_count);
    stride = get<std::int64_t>(said, lt::layout_batch_stride);
  }
  stand_in::Steps steps(const void* data, std::int64_t entry, bool transposed) const {
    const bool by_rows = (order == lt::order_row) != transposed;
    return {static_cast<const float*>(data) + entry * stride, by_rows ? ld : 1, by_rows ? 1 : ld};
  }
  int type, order, batch;
  std::int64_t rows, cols, ld, stride;
};

// Of those that also write or read a matrix beside D only what becomes of D.
struct Epilogue {
  explicit Epilogue(const Attributes& said)
      : bits(get<std::uint32_t>(said, lt::matmul_epilogue)),
        bias(get<const float*>(said, lt::matmul_bias)),
        bias_stride(get<std::int64_t>(said, lt::matmul_bias_stride)),
        bias_type(get<int>(said, lt::matmul_bias_type)) {}
  bool has(Enum kind) const { return (bits & static_cast<std::uint32_t>(kind)) != 0; }
  Status judge() const {
    if (!has(lt::epilogue_bias)) return status_success;
    if (bias == nullptr) return invalid_value;
    const bool is_fp32 = bias_type == lt::bias_type_of_d || bias_type == data_r_32f;
    return is_fp32 ? status_success : not_supported;
  }
  float finish(float value, std::int64_t entry, std::int64_t row) const {
    if (has(lt::epilogue_bias)) value += bias[entry * bias_stride + row];
    if (has(lt::epilogue_relu)) value = std::max(value, 0.0f);
    return has(lt::epilogue_gelu) ? stand_in::gelu(value) : value;
  }
  std::uint32_t bits;
  const float* bias;
  std::int64_t bias_stride;
  int bias_type;
};

template <class Int>
Status answer_lt_matmul(KW_PARAMETERS_lt_matmul(Int)) {
  static_cast<void>(algorithm), static_cast<void>(workspace), static_cast<void>(workspace_bytes);
  static_cast<void>(stream);
  ++matmuls;
  if (handle == nullptr || !description || !a_layout || !b_layout || !c_layout || !d_layout) {
    return invalid_value;
  }
  const auto& said = *static_cast<const Attributes*>(description);
  const Matrix ma(a_layout), mb(b_layout), mc(c_layout), md(d_layout);
  const bool ta = get<int>(said, lt::matmul_op_a) != op_n;
  const bool tb = get<int>(said, lt::matmul_op_b) != op_n;
  const std::int64_t k = ta ? ma.rows : ma.cols;
  if (md.rows != (ta ? ma.cols : ma.rows) || md.cols != (tb ? mb.rows : mb.cols) ||
      k != (tb ? mb.cols : mb.rows)) {
    return invalid_value;
  }
  if (ma.type != 0 || get<int>(said, lt::matmul_pointer_mode) > 1) return not_supported;
  const void* const read = c == nullptr ? d : c;  // where beta is 0 there may be none
  const Epilogue epilogue(said);
  if (epilogue.judge() != status_success) return epilogue.judge();
  for (int entry = 0; entry < md.batch; ++entry) {
    float* const into = static_cast<float*>(d) + entry * md.stride;
    const stand_in::Steps out = md.steps(into, 0, false);
    for (std::int64_t i = 0; i < md.rows; ++i) {
      for (std::int64_t j = 0; j < md.cols; ++j) {
        const stand_in::Steps sa = ma.steps(a, entry, ta), sb = mb.steps(b, entry, tb);
        const stand_in::Steps sc = mc.steps(read, entry, false);
        float value = 0;
        const float beta_value = *static_cast<const float*>(beta);
        stand_in::multiply(1, 1, k, *static_cast<const float*>(alpha),
                           {sa.data + i * sa.row, sa.row, sa.col},
                           {sb.data + j * sb.col, sb.row, sb.col}, beta_value,
                           {sc.data + i * sc.row + j * sc.col, sc.row, sc.col}, &value);
        into[i * out.row + j * out.col] = epilogue.finish(value, entry, i);
      }
    }
  }
  return status_success;
}

template <class Int>
Status answer_destroy(KW_PARAMETERS_destroy(Int)) {
  delete static_cast<int*>(handle);
  return status_success;
}

}  // namespace

extern "C" {
long stand_in_lt_calls() { return matmuls; }
int cublasLtCreate(void** handle) { return *handle = new int(0), 0; }
int cublasLtMatmulDescCreate(void** description, int compute, int scale) {
  auto* const made = new Attributes;
  put<int>(*made, lt::matmul_compute_type, compute);
  put<int>(*made, lt::matmul_scale_type, scale);
  for (const int attribute :
       {lt::matmul_pointer_mode, lt::matmul_op_a, lt::matmul_op_b, lt::matmul_op_c}) {
    put<int>(*made, attribute, 0);
  }
  put<int>(*made, lt::matmul_fill_mode, lt::fill_mode_full);
  put<std::uint32_t>(*made, lt::matmul_epilogue, lt::epilogue_default);
  put<std::int64_t>(*made, lt::matmul_bias_stride, 0);
  put<int>(*made, lt::matmul_bias_type, lt::bias_type_of_d);
  for (const int attribute : {lt::matmul_bias, lt::matmul_a_scale, lt::matmul_b_scale,
                              lt::matmul_c_scale, lt::matmul_d_scale, lt::matmul_amax_d}) {
    put<const void*>(*made, attribute, nullptr);
  }
  return *description = made, 0;
}
int cublasLtMatmulDescDestroy(void* description) {
  return delete static_cast<Attributes*>(description), 0;
}
int cublasLtMatmulDescSetAttribute(void* description, int attribute, const void* value,
                                   std::size_t bytes) {
  return set_attribute(description, attribute, value, bytes);
}
int cublasLtMatmulDescGetAttribute(void* description, int attribute, void* value, std::size_t bytes,
                                   std::size_t* written) {
  return get_attribute(description, attribute, value, bytes, written);
}
int cublasLtMatrixLayoutCreate(void** layout, int type, std::uint64_t rows, std::uint64_t cols,
                               std::int64_t ld) {
  auto* const made = new Attributes;
  put<int>(*made, lt::layout_type, type);
  put<int>(*made, lt::layout_order, lt::order_col);
  put<std::uint64_t>(*made, lt::layout_rows, rows);
  put<std::uint64_t>(*made, lt::layout_cols, cols);
  put<std::int64_t>(*made, lt::layout_ld, ld);
  put<int>(*made, lt::layout_batch_count, 1);
  put<std::int64_t>(*made, lt::layout_batch_stride, 0);
  put<std::int64_t>(*made, lt::layout_plane_offset, 0);
  return *layout = made, 0;  // of an age that knows no batch modes
}
int cublasLtMatrixLayoutDestroy(void* layout) { return delete static_cast<Attributes*>(layout), 0; }
int cublasLtMatrixLayoutSetAttribute(void* layout, int attribute, const void* value,
                                     std::size_t bytes) {
  return set_attribute(layout, attribute, value, bytes);
}
int cublasLtMatrixLayoutGetAttribute(void* layout, int attribute, void* value, std::size_t bytes,
                                     std::size_t* written) {
  return get_attribute(layout, attribute, value, bytes, written);
}
}

#define KW_DEFINE(symbol, form, integer, library) KW_DEFINE_##library(symbol, form, integer)
#define KW_DEFINE_cublas(symbol, form, integer)
#define KW_DEFINE_cublasLt(symbol, form, integer)           \
  extern "C" Status symbol(KW_PARAMETERS_##form(integer));  \
  extern "C" Status symbol(KW_PARAMETERS_##form(integer)) { \
    return answer_##form<integer>(KW_ARGUMENTS_##form);     \
  }
KW_CUBLAS_SYMBOLS(KW_DEFINE)
