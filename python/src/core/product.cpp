// Products: batches are put together, then each is one call.
#include "core/product.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/error.hpp"
#include "core/matrix.hpp"

namespace kw::python {

namespace {

// The dimensions before the last two.
int batch_dimensions(const Strided& array) { return array.dimensions - 2; }

// The operands of a product, in the order of `Batch::stride`.
enum Operand { in_a, in_b, in_c, in_source, operands };

// The batch: how often, and how far each operand goes on in each of its dimensions.
struct Batch {
  int dimensions = 0;
  std::array<std::int64_t, most_dimensions> size;
  std::array<std::array<std::int64_t, most_dimensions>, operands> stride;
};

// `array`'s stride in dimension i of a batch of `dimensions`.
std::int64_t batch_stride(const Strided& array, int i, int dimensions) {
  const int own = i - (dimensions - batch_dimensions(array));
  return own < 0 || array.size[own] == 1 ? 0 : array.stride[own];
}

// Dimensions of length 1 are left out, and neighbours put together where all operands allow it.
Batch batch_of(const Product& product) {
  Batch batch;
  const int count = batch_dimensions(product.c);
  for (int i = 0; i < count; ++i) {
    const std::int64_t size = product.c.size[i];
    if (size == 1) continue;
    const std::array<std::int64_t, operands> step = {
        batch_stride(product.a, i, count), batch_stride(product.b, i, count),
        batch_stride(product.c, i, count),
        product.source ? batch_stride(*product.source, i, count) : 0};
    const int last = batch.dimensions - 1;
    bool joins = last >= 0;
    for (int o = 0; joins && o < operands; ++o) joins = batch.stride[o][last] == size * step[o];
    const int at = joins ? last : batch.dimensions++;
    batch.size[at] = joins ? batch.size[at] * size : size;
    for (int o = 0; o < operands; ++o) batch.stride[o][at] = step[o];
  }
  return batch;
}

// One call: `count` products at equal distances.
struct One {
  std::int64_t m, n, k;
  float *a, *b, *c, *source;
  Matrix in_a, in_b, in_c, in_source;
  std::int64_t count = 1;
  std::array<std::int64_t, operands> stride{};
};

// Of complex64, which has no epilogue.
void call_complex(Context& context, const Product& product, const One& one) {
  const auto at = [](float* data) { return reinterpret_cast<kwComplex*>(data); };
  context.use_epilogue(nullptr);
  const kwComplex alpha = {product.alpha, product.alpha_im}, beta = {product.beta, product.beta_im};
  if (one.count == 1) {
    context.check(kwCgemm(context.handle, KW_ROW_MAJOR, one.in_a.op, one.in_b.op, one.m, one.n,
                          one.k, &alpha, at(one.a), one.in_a.ld, at(one.b), one.in_b.ld, &beta,
                          at(one.c), one.in_c.ld));
    return;
  }
  context.check(kwCgemmStridedBatched(context.handle, KW_ROW_MAJOR, one.in_a.op, one.in_b.op, one.m,
                                      one.n, one.k, &alpha, at(one.a), one.in_a.ld,
                                      one.stride[in_a], at(one.b), one.in_b.ld, one.stride[in_b],
                                      &beta, at(one.c), one.in_c.ld, one.stride[in_c], one.count));
}

kwOp_t flipped(kwOp_t op) { return op == KW_OP_NONE ? KW_OP_TRANSPOSE : KW_OP_NONE; }

// C stored transposed: the transpose of the product, computed in C's own layout.
void turn(One* one) {
  std::swap(one->m, one->n);
  std::swap(one->a, one->b);
  std::swap(one->in_a, one->in_b);
  std::swap(one->stride[in_a], one->stride[in_b]);
  one->in_a.op = flipped(one->in_a.op);
  one->in_b.op = flipped(one->in_b.op);
  one->in_c.op = KW_OP_NONE;
}

void call(Context& context, const Product& product, One one) {
  const bool turned = one.in_c.op == KW_OP_TRANSPOSE;
  if (turned) turn(&one);
  if (product.is_complex) return call_complex(context, product, one);
  kwEpilogue epilogue = {};
  const bool finishes = product.bias != nullptr || product.activation != KW_ACTIVATION_NONE ||
                        (one.source != nullptr && product.beta != 0);
  if (finishes) {
    epilogue.bias = product.bias;
    const bool of_rows = (product.bias_of == KW_BIAS_OF_ROWS) != turned;
    epilogue.bias_of = of_rows ? KW_BIAS_OF_ROWS : KW_BIAS_OF_COLUMNS;
    epilogue.activation = product.activation;
    if (product.beta != 0) epilogue.source = one.source;
    epilogue.ld_source = one.in_source.ld;
    epilogue.stride_source = one.stride[in_source];
  }
  context.use_epilogue(finishes ? &epilogue : nullptr);
  if (one.count == 1) {
    context.check(kwSgemm(context.handle, KW_ROW_MAJOR, one.in_a.op, one.in_b.op, one.m, one.n,
                          one.k, &product.alpha, one.a, one.in_a.ld, one.b, one.in_b.ld,
                          &product.beta, one.c, one.in_c.ld));
    return;
  }
  context.check(kwSgemmStridedBatched(
      context.handle, KW_ROW_MAJOR, one.in_a.op, one.in_b.op, one.m, one.n, one.k, &product.alpha,
      one.a, one.in_a.ld, one.stride[in_a], one.b, one.in_b.ld, one.stride[in_b], &product.beta,
      one.c, one.in_c.ld, one.stride[in_c], one.count));
}

// Entries whose rows follow each other, all times one B: more rows of one product.
bool join_rows(const Batch& batch, int dimension, const Product& product, One* one) {
  const std::int64_t count = batch.size[dimension];
  const auto follows = [&](Operand operand, const Matrix& matrix) {
    return matrix.op == KW_OP_NONE && batch.stride[operand][dimension] == one->m * matrix.ld;
  };
  if (batch.stride[in_b][dimension] != 0 || one->m <= 0 || !follows(in_a, one->in_a) ||
      !follows(in_c, one->in_c)) {
    return false;
  }
  if (one->source != nullptr && !follows(in_source, one->in_source)) return false;
  if (product.bias != nullptr && product.bias_of == KW_BIAS_OF_ROWS) return false;
  one->m *= count;
  return true;
}

// One row has no distance to the next in its own matrix: the batch has it.
void lay_single_rows(const Batch& batch, int dimension, One* one) {
  if (one->m != 1) return;
  const auto lay = [&](Operand operand, std::int64_t cols, Matrix* matrix) {
    const std::int64_t step = batch.stride[operand][dimension];
    if (matrix->op == KW_OP_NONE && step >= std::max<std::int64_t>(cols, 1)) matrix->ld = step;
  };
  lay(in_a, one->k, &one->in_a);
  lay(in_c, one->n, &one->in_c);
  lay(in_source, one->n, &one->in_source);
}

// The last dimension of the batch in one call, those before in a loop.
void walk(Context& context, const Product& product, const Batch& batch, One one, int dimension) {
  if (dimension == batch.dimensions) return call(context, product, one);
  if (dimension == batch.dimensions - 1) {
    lay_single_rows(batch, dimension, &one);
    if (join_rows(batch, dimension, product, &one)) return call(context, product, one);
    bool descends = false;
    for (int o = 0; o < operands; ++o) {
      one.stride[o] = batch.stride[o][dimension];
      descends = descends || one.stride[o] < 0;
    }
    if (!descends) {
      one.count = batch.size[dimension];
      return call(context, product, one);
    }
    one.stride = {};
  }
  const std::int64_t floats = product.is_complex ? 2 : 1;  // an element
  for (std::int64_t i = 0; i < batch.size[dimension]; ++i) {
    walk(context, product, batch, one, dimension + 1);
    one.a += floats * batch.stride[in_a][dimension];
    one.b += floats * batch.stride[in_b][dimension];
    one.c += floats * batch.stride[in_c][dimension];
    if (one.source != nullptr) one.source += floats * batch.stride[in_source][dimension];
  }
}

}  // namespace

void multiply(Context& context, const Product& product) {
  const Strided& c = product.c;
  if (c.elements() == 0) return;
  const auto address = [](const Strided& array) { return static_cast<float*>(array.data); };
  One one = {c.size[c.dimensions - 2],
             c.size[c.dimensions - 1],
             product.a.size[product.a.dimensions - 1],
             address(product.a),
             address(product.b),
             address(c),
             product.source ? address(*product.source) : nullptr,
             expressed(product.a, "a"),
             expressed(product.b, "b"),
             expressed(c, "out"),
             product.source ? expressed(*product.source, "source") : Matrix{}};
  if (product.source && one.in_source.op != one.in_c.op) {
    refuse(
        "source and out have their elements in different order: pass both by rows, or both by "
        "columns");
  }
  context.use_math(product.math);
  walk(context, product, batch_of(product), one, 0);
}

}  // namespace kw::python
