// Attention, forward: O = softmax(scale * Q K^T + mask) V for every head of every entry of a batch.
//
// Shapes     Q and O: [batch, heads, T, D]; K and V: [batch, kv_heads, S, D]. D is 1 to 256 and its
//            elements are neighbours in memory; all other strides are free. heads is a multiple of
//            kv_heads: query head h reads K's and V's head h / (heads / kv_heads).
// Lengths    T and S are free, also of each other. With offsets every entry has its own (below).
// Weights    Of query t and key s: exp(x - m) / (their sum over s), m the largest x of the query,
//            x = scale * (q_t . k_s) + mask[t, s], over the keys that the causal rule lets it see.
// No key     A query that sees no key, or whose x are all -Inf, has a row of zeros in O.
// NaN, Inf   x of -Inf is a weight of 0. A NaN or +Inf among a query's x makes its whole row NaN;
//            which products of Q and K overflow is FP32's matter. Where a row of V whose weight is
//            0 holds NaN or Inf, the elements under it are NaN or as if it were not there; this
//            includes keys that the causal rule hides, and excludes keys beyond an entry's length,
//            which are never read.
// Accuracy   Math::fp32: products and sums as in an FP32 product, weights by an exponential of
//            FP32. Math::fp32_split: an element may lack up to 2^-39 of the largest |V|, and of the
//            |V| of each key that has a weight; beyond that the RMS error is with hundreds of keys
//            at most that of two FP32 products with a softmax between them, or 2^-25 of sum P |V|
//            where theirs is less (one weight is 1 and all others are next to nothing), and can be
//            some times theirs with a few keys (docs/accuracy.md has what was measured). The data
//            decide on the device, as math.hpp has it. It serves D of 17 to 256 on Hopper; others
//            take fp32.
// Method     Online softmax (Milakov and Gimelshein 2018), in tiles (Dao et al. 2022): the T x S
//            weights are never in memory. With few queries S is cut over the device, and the parts
//            are merged.
// Same bits  As context.hpp has it.
// Time       Asynchronous on the context's stream, capturable in a graph. Math::fp32 is one launch.
// Errors     kw::Error, as context.hpp has it. argument() is a view or a field of it ("q",
// "k.rows",
//            "o.row_stride"), "mask", "scale", "causal", "math", "query_offsets", "key_offsets".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "kernelwright/context.hpp"
#include "kernelwright/export.h"
#include "kernelwright/math.hpp"

namespace kw {

/// [batch, heads, rows, dim] elements of the caller: (b, h, t, d) is at
/// data[b * batch_stride + h * head_stride + t * row_stride + d]. Sizes and strides count elements.
template <class T>
struct HeadsView {
  T* data = nullptr;
  std::int64_t batch = 0, heads = 0, rows = 0, dim = 0;
  std::int64_t batch_stride = 0, head_stride = 0, row_stride = 0;

  /// A view that may write serves wherever one that only reads is asked for.
  template <class U, std::enable_if_t<std::is_same_v<U, const T> && !std::is_const_v<T>, int> = 0>
  operator HeadsView<U>() const {
    return {data, batch, heads, rows, dim, batch_stride, head_stride, row_stride};
  }
};

/// Dense, head by head: [batch][heads][rows][dim] in memory.
template <class T>
HeadsView<T> heads_view(T* data, std::int64_t batch, std::int64_t heads, std::int64_t rows,
                        std::int64_t dim) {
  return {data, batch, heads, rows, dim, heads * rows * dim, rows * dim, dim};
}

/// Token by token, as a projection leaves them: batch * rows lines, `ld` elements apart, each with
/// its heads one behind the other. A packed Q, K, V is three such views of one array.
template <class T>
HeadsView<T> token_heads(T* data, std::int64_t batch, std::int64_t rows, std::int64_t heads,
                         std::int64_t dim, std::int64_t ld) {
  return {data, batch, heads, rows, dim, rows * ld, dim, ld};
}

/// What is added to the scaled products: element (b, h, t, s) is at
/// data[b * batch_stride + h * head_stride + t * row_stride + s]; a stride of 0 shares it among
/// entries, heads or queries. Null: nothing is added. -Inf hides a key.
struct MaskView {
  const float* data = nullptr;
  std::int64_t batch_stride = 0, head_stride = 0, row_stride = 0;
};

/// Which keys query t of T sees among S. The two rules differ where T != S.
enum class Causal : int {
  none = 0,
  from_start = 1,  ///< keys 0 to t: query 0 and key 0 are the same token
  from_end = 2,    ///< keys 0 to t + S - T: the last query is the last token (a KV cache)
};

struct AttentionOptions {
  std::optional<float> scale = std::nullopt;  ///< 1 / sqrt(D) where none is given
  Causal causal = Causal::none;
  MaskView mask = {};
  Math math = Math::fp32;
  /// Lengths of an entry's own: device memory, batch + 1 entries that do not descend. Entry b has
  /// queries query_offsets[b] .. query_offsets[b + 1] - 1, so (b, h, t, d) of Q and O is
  /// query_offsets[b] rows further on than the view says, and the view's `rows` is the most that an
  /// entry has; likewise keys. With views whose batch_stride is 0 all entries lie packed one behind
  /// the other. As only the device can read the offsets, what breaks the rule is not reported: a
  /// negative length counts as 0, a longer one as `rows`.
  const std::int64_t* query_offsets = nullptr;
  const std::int64_t* key_offsets = nullptr;
};

/// O = attention of Q over K and V, on the context's stream. O shares no element with what is read,
/// and its own elements are apart: each stride is no less than what the smaller ones span.
KW_API void attention(Context& context, const HeadsView<const float>& q,
                      const HeadsView<const float>& k, const HeadsView<const float>& v,
                      const HeadsView<float>& o, const AttentionOptions& options = {});

/// Workspace that the same call of `attention` takes; with less it takes a slower way. Looks at no
/// pointer but whether there are a mask and offsets.
KW_API std::size_t attention_workspace_bytes(const Context& context,
                                             const HeadsView<const float>& q,
                                             const HeadsView<const float>& k,
                                             const HeadsView<const float>& v,
                                             const HeadsView<float>& o,
                                             const AttentionOptions& options = {});

}  // namespace kw
