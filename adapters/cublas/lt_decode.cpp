// The descriptors are opaque: all is asked of cuBLASLt itself.
#include "lt_decode.hpp"

#include <utility>

namespace kw::cublas {

namespace {

// The epilogues that the library has. One that it is taught enters here. cuBLASLt's GELU is the one
// by tanh.
struct Epilogue {
  Enum value;
  bool has_bias;
  kwActivation_t activation;
};
constexpr Epilogue epilogues[] = {
    {lt::epilogue_default, false, KW_ACTIVATION_NONE},
    {lt::epilogue_relu, false, KW_ACTIVATION_RELU},
    {lt::epilogue_bias, true, KW_ACTIVATION_NONE},
    {lt::epilogue_relu_bias, true, KW_ACTIVATION_RELU},
    {lt::epilogue_gelu, false, KW_ACTIVATION_GELU_TANH},
    {lt::epilogue_gelu_bias, true, KW_ACTIVATION_GELU_TANH},
};

// Null where the library has none.
const Epilogue* find_epilogue(std::uint32_t wanted) {
  for (const Epilogue& had : epilogues) {
    if (static_cast<std::uint32_t>(had.value) == wanted) return &had;
  }
  return nullptr;
}

using Getter = Status (*)(void*, Enum, void*, std::size_t, std::size_t*);

// Asks one descriptor for its attributes; after a failure `ok` stays false.
class Asked {
 public:
  Asked(Getter getter, void* descriptor) : getter_(getter), descriptor_(descriptor) {}
  template <class T>
  T get(Enum attribute, T otherwise = {}) {
    T value{};
    std::size_t written = 0;
    const bool had =
        getter_(descriptor_, attribute, &value, sizeof value, &written) == status_success &&
        written == sizeof value;
    ok_ = ok_ && had;
    return had ? value : otherwise;
  }
  // Of attributes that some versions of cuBLAS do not know: then nothing of the kind is asked for.
  template <class T>
  T get_if_known(Enum attribute, T otherwise) {
    const bool before = ok_;
    const T value = get(attribute, otherwise);
    ok_ = before;
    return value;
  }
  bool ok() const { return ok_; }

 private:
  Getter getter_;
  void* descriptor_;
  bool ok_ = true;
};

struct Matrix {
  Enum type = 0, order = 0, batch = 0, batch_mode = 0;
  std::uint64_t rows = 0, cols = 0;
  std::int64_t ld = 0, stride = 0, plane_offset = 0;
  bool known = false;

  bool by_rows() const { return order == lt::order_row; }
  bool is_plain() const {
    return (order == lt::order_col || order == lt::order_row) && batch_mode == 0 &&
           plane_offset == 0;
  }
};

Matrix read_matrix(Getter getter, void* layout) {
  Asked asked(getter, layout);
  Matrix read;
  // Types, orders and counts are 32 bits, sizes and distances 64.
  read.type = asked.get<Enum>(lt::layout_type);
  read.order = asked.get<Enum>(lt::layout_order);
  read.rows = asked.get<std::uint64_t>(lt::layout_rows);
  read.cols = asked.get<std::uint64_t>(lt::layout_cols);
  read.ld = asked.get<std::int64_t>(lt::layout_ld);
  read.batch = asked.get<Enum>(lt::layout_batch_count);
  read.stride = asked.get<std::int64_t>(lt::layout_batch_stride);
  read.plane_offset = asked.get<std::int64_t>(lt::layout_plane_offset);
  read.batch_mode = asked.get_if_known<Enum>(lt::layout_batch_mode, 0);
  read.known = asked.ok();
  return read;
}

struct Description {
  Enum compute = 0, scale = 0, pointer_mode = 0, op_a = 0, op_b = 0, op_c = 0, fill = 0;
  const Epilogue* epilogue = nullptr;
  const float* bias = nullptr;  // of an epilogue that has one
  std::int64_t bias_stride = 0;
  Enum bias_type = lt::bias_type_of_d;
  bool is_scaled = false, known = false;
};

Description read_description(Getter getter, void* description) {
  Asked asked(getter, description);
  Description read;
  read.compute = asked.get<Enum>(lt::matmul_compute_type);
  read.scale = asked.get<Enum>(lt::matmul_scale_type);
  read.pointer_mode = asked.get<Enum>(lt::matmul_pointer_mode);
  read.op_a = asked.get<Enum>(lt::matmul_op_a);
  read.op_b = asked.get<Enum>(lt::matmul_op_b);
  read.op_c = asked.get<Enum>(lt::matmul_op_c);
  read.fill = asked.get<Enum>(lt::matmul_fill_mode);
  read.epilogue = find_epilogue(asked.get<std::uint32_t>(lt::matmul_epilogue));
  if (read.epilogue != nullptr && read.epilogue->has_bias) {
    read.bias = asked.get<const float*>(lt::matmul_bias);
    read.bias_stride = asked.get_if_known<std::int64_t>(lt::matmul_bias_stride, 0);
    read.bias_type = asked.get_if_known<Enum>(lt::matmul_bias_type, lt::bias_type_of_d);
  }
  for (const Enum scale : {lt::matmul_a_scale, lt::matmul_b_scale, lt::matmul_c_scale,
                           lt::matmul_d_scale, lt::matmul_amax_d}) {
    read.is_scaled = read.is_scaled || asked.get_if_known<const void*>(scale, nullptr) != nullptr;
  }
  read.known = asked.ok();
  return read;
}

// Rows and columns of op(X).
std::pair<std::uint64_t, std::uint64_t> size_after(Enum op, const Matrix& matrix) {
  return op == op_n ? std::pair(matrix.rows, matrix.cols) : std::pair(matrix.cols, matrix.rows);
}

bool is_op(Enum op) { return op == op_n || op == op_t || op == op_c; }

// In the layout of D, a matrix of the other order is its transpose.
kwOp_t op_beside(Enum op, const Matrix& matrix, const Matrix& d) {
  return (op != op_n) != (matrix.by_rows() != d.by_rows()) ? KW_OP_TRANSPOSE : KW_OP_NONE;
}

// cuBLASLt has biases of column-major D alone: what it says to others is its own to say.
Reason judge_epilogue(const Description& said, const Matrix& d) {
  if (said.epilogue == nullptr) return Reason::lt_epilogue;
  if (!said.epilogue->has_bias) return Reason::none;
  const bool is_fp32 = said.bias_type == lt::bias_type_of_d || said.bias_type == data_r_32f;
  if (!is_fp32) return Reason::types;
  if (d.by_rows()) return Reason::lt_epilogue;
  return said.bias == nullptr ? Reason::arguments : Reason::none;
}

Reason judge(const Description& said, const Matrix& a, const Matrix& b, const Matrix& c,
             const Matrix& d) {
  if (!said.known || !a.known || !b.known || !c.known || !d.known) return Reason::lt_unknown;
  for (const Matrix* matrix : {&a, &b, &c, &d}) {
    if (matrix->type != data_r_32f) return Reason::types;
  }
  if (said.compute != compute_32f && said.compute != compute_32f_pedantic) {
    return Reason::compute_type;
  }
  if (said.scale != data_r_32f) return Reason::types;
  if (said.pointer_mode != pointer_mode_host && said.pointer_mode != pointer_mode_device) {
    return Reason::lt_pointer_mode;
  }
  if (const Reason reason = judge_epilogue(said, d); reason != Reason::none) return reason;
  if (said.is_scaled) return Reason::lt_scale;
  if (said.op_c != op_n || said.fill != lt::fill_mode_full) return Reason::lt_output;
  if (!is_op(said.op_a) || !is_op(said.op_b)) return Reason::operation;
  for (const Matrix* matrix : {&a, &b, &c, &d}) {
    if (!matrix->is_plain()) return Reason::lt_order;
  }
  const auto [m, k] = size_after(said.op_a, a);
  const auto [k_of_b, n] = size_after(said.op_b, b);
  const bool fit = k == k_of_b && d.rows == m && d.cols == n && c.rows == m && c.cols == n &&
                   a.batch == d.batch && b.batch == d.batch && c.batch == d.batch;
  return fit ? Reason::none : Reason::lt_shapes;
}

// C, where it is read and is not D itself.
Reason take_source(const LtMatmul& matmul, const Matrix& c, const Matrix& d, Product* p) {
  const bool reads_c = p->scalars_on_device || p->beta == nullptr || *p->beta != 0;
  if (!reads_c) return Reason::none;
  if (c.by_rows() != d.by_rows()) return Reason::lt_output;
  const bool is_d = matmul.c == matmul.d && c.ld == d.ld && (p->batch == 1 || c.stride == d.stride);
  if (is_d) return Reason::none;
  p->source = static_cast<const float*>(matmul.c);
  p->ld_source = c.ld;
  p->stride_source = p->batch == 1 ? 0 : c.stride;
  return p->source == nullptr ? Reason::arguments : Reason::none;
}

}  // namespace

void decode(const LtMatmul& matmul, const LtGetters& getters, Call* call) {
  if (matmul.description == nullptr || matmul.a_layout == nullptr || matmul.b_layout == nullptr ||
      matmul.c_layout == nullptr || matmul.d_layout == nullptr) {
    call->reason = Reason::arguments;
    return;
  }
  if (!getters.complete()) {
    call->reason = Reason::lt_unknown;
    return;
  }
  const Description said = read_description(getters.matmul, matmul.description);
  const Matrix a = read_matrix(getters.layout, matmul.a_layout);
  const Matrix b = read_matrix(getters.layout, matmul.b_layout);
  const Matrix c = read_matrix(getters.layout, matmul.c_layout);
  const Matrix d = read_matrix(getters.layout, matmul.d_layout);

  Product& p = call->product;
  p.layout = d.by_rows() ? KW_ROW_MAJOR : KW_COL_MAJOR;
  p.op_a = op_beside(said.op_a, a, d);
  p.op_b = op_beside(said.op_b, b, d);
  p.m = static_cast<std::int64_t>(d.rows);
  p.n = static_cast<std::int64_t>(d.cols);
  p.k = static_cast<std::int64_t>(size_after(said.op_a, a).second);
  p.alpha = static_cast<const float*>(matmul.alpha);
  p.a = matmul.a;
  p.lda = a.ld;
  p.stride_a = a.stride;
  p.b = matmul.b;
  p.ldb = b.ld;
  p.stride_b = b.stride;
  p.beta = static_cast<const float*>(matmul.beta);
  p.c = matmul.d;
  p.ldc = d.ld;
  p.stride_c = d.stride;
  p.batch = d.batch;
  p.form = d.batch == 1 ? Form::one : Form::strided;
  p.scalars_on_device = said.pointer_mode == pointer_mode_device;
  call->pedantic = said.compute == compute_32f_pedantic;
  call->reason = judge(said, a, b, c, d);
  if (call->reason != Reason::none) return;

  p.bias = said.bias;
  p.stride_bias = p.batch == 1 ? 0 : said.bias_stride;
  p.activation = said.epilogue->activation;
  call->reason = take_source(matmul, c, d, &p);
}

}  // namespace kw::cublas
