// r01: attention as it is written down: S = scale Q K^T, P = softmax(S), O = P V.
//
// Idea        Three kernels. A thread computes one score, a block the softmax of one row, a thread
//             one element of O. S and P are in memory, T x S numbers a head.
// Prediction  At 2 x 16 heads, 4096 x 4096, D = 128: each score's step loads a word of Q, one for
//             half a warp, and one of K, 16 rows 512 bytes apart, so 16 tags and as many cycles of
//             the L1: 2.1e9 requests on 132 multiprocessors, 150 ms. P V reads its words in a row,
//             two requests for an FMA: 2.1e9 x 2 at one a cycle, 19 ms. Softmax passes over 2.1 GB
//             four times: 2 ms. Together 170 ms, 1.6 TFLOP/s.
// Limits      L1 requests; and 2.1 GB of scores that exist only to be read again.
#include "rung.hpp"

namespace KW_TARGET {
namespace {

constexpr int score_edge = 16, softmax_threads = 128, output_threads = 128;

__device__ __forceinline__ float* scores_of_row(const Attention& p, float* scores,
                                                std::int64_t query) {
  return scores + (std::int64_t{blockIdx.y} * p.queries + query) * p.keys;
}

// A block has 16 x 16 scores; blocks along x go through the keys first.
__global__ void unfused_scores(Attention p, float* scores) {
  const AttentionHead head = head_of(p, blockIdx.y / p.heads, blockIdx.y % p.heads);
  const std::int64_t across = ceil_div(p.keys, std::int64_t{score_edge});
  const std::int64_t key = blockIdx.x % across * score_edge + threadIdx.x % score_edge,
                     query = blockIdx.x / across * score_edge + threadIdx.x / score_edge;
  if (query >= p.queries || key >= p.keys) return;
  const float *q = head.q + query * p.q_strides.row, *k = head.k + key * p.k_strides.row;
  float sum = 0;
  for (int d = 0; d < p.dim; ++d) sum = fmaf(q[d], k[d], sum);
  scores_of_row(p, scores, query)[key] = score(p, head, query, key, sum);
}

// Over all threads of the block; `room` is for one number each.
template <class Combine>
__device__ float combined(float own, float* room, const Combine& combine) {
  const unsigned tid = threadIdx.x;
  room[tid] = own;
  __syncthreads();
  for (unsigned s = softmax_threads / 2; s > 0; s /= 2) {
    if (tid < s) room[tid] = combine(room[tid], room[tid + s]);
    __syncthreads();
  }
  own = room[0];
  __syncthreads();
  return own;
}

__global__ void unfused_softmax(Attention p, float* scores) {
  __shared__ float room[softmax_threads];
  float* const x = scores_of_row(p, scores, blockIdx.x);
  float largest = minus_infinity(), sum = 0;
  for (std::int64_t key = threadIdx.x; key < p.keys; key += softmax_threads)
    largest = fmaxf(largest, x[key]);
  const float reference =
      reference_of(combined(largest, room, [](float a, float b) { return fmaxf(a, b); }));
  for (std::int64_t key = threadIdx.x; key < p.keys; key += softmax_threads)
    sum += power_of_2(x[key] - reference);
  const float factor = divisor(combined(sum, room, [](float a, float b) { return a + b; }));
  for (std::int64_t key = threadIdx.x; key < p.keys; key += softmax_threads)
    x[key] = power_of_2(x[key] - reference) * factor;
}

__global__ void unfused_outputs(Attention p, float* weights) {
  const AttentionHead head = head_of(p, blockIdx.y / p.heads, blockIdx.y % p.heads);
  const std::int64_t i = std::int64_t{blockIdx.x} * output_threads + threadIdx.x;
  const std::int64_t query = i / p.dim, d = i % p.dim;
  if (query >= p.queries) return;
  const float* const w = scores_of_row(p, weights, query);
  float sum = 0;
  for (std::int64_t key = 0; key < p.keys; ++key)
    sum = fmaf(w[key], head.v[key * p.v_strides.row + d], sum);
  head.o[query * p.o_strides.row + d] = sum;
}

}  // namespace

std::size_t bytes_of_scores(const Attention& p, const Device&) {
  return static_cast<std::size_t>(p.batch * p.heads * p.queries * p.keys) * sizeof(float);
}

Status r01_unfused(const Attention& p, const Device&, Workspace workspace, Stream stream) {
  auto* const scores = static_cast<float*>(workspace.data);
  const auto heads = static_cast<unsigned>(p.batch * p.heads);
  const auto blocks = [](std::int64_t count) { return static_cast<unsigned>(count); };
  const std::int64_t edge = score_edge;
  const Status scored =
      gpu::launch(unfused_scores,
                  {dim3(blocks(ceil_div(p.keys, edge) * ceil_div(p.queries, edge)), heads),
                   dim3(score_edge * score_edge), 0, stream},
                  p, scores);
  if (!scored.ok()) return scored;
  const Status weighed =
      gpu::launch(unfused_softmax,
                  {dim3(blocks(p.queries), heads), dim3(softmax_threads), 0, stream}, p, scores);
  if (!weighed.ok()) return weighed;
  return gpu::launch(
      unfused_outputs,
      {dim3(blocks(ceil_div(p.queries * p.dim, std::int64_t{output_threads})), heads),
       dim3(output_threads), 0, stream},
      p, scores);
}

}  // namespace KW_TARGET
