// r02: the softmax goes along with the keys, so nothing of size T x S is ever in memory.
//
// Idea        A warp has one query and takes key after key. It keeps the largest score so far, the
//             sum of weights and the weighted sum of V's rows, each in units of that largest score;
//             a larger one scales what is there (Milakov and Gimelshein 2018). A row is spread over
//             the lanes, so a score is a sum over lanes: five exchanges.
// Prediction  A pair of query and key costs a warp 2 x 4 loads, 8 FMAs, 5 exchanges with their
//             additions, two exponentials and what belongs to them: about 45 instructions. 5.4e8
//             pairs are 2.4e10 instructions, at 4 x 132 a cycle 26 ms; they hang on each other from
//             exchange to exchange, so half of that rate: 55 ms, 5 TFLOP/s, three times r01.
// Limits      Instructions that are not FMAs, 37 of 45; every warp reads all keys on its own.
#include "rung.hpp"

namespace KW_TARGET {
namespace {

constexpr int online_rows = 4, most_of_lane = 4;  // 128 elements by 32 lanes

__global__ void __launch_bounds__(online_rows* warp_lanes) online(Attention p) {
  const Queries own(p, online_rows);
  const int lane = static_cast<int>(threadIdx.x % warp_lanes);
  const std::int64_t query = own.first + threadIdx.x / warp_lanes;
  if (query >= own.head.queries) return;
  const auto part = [&](const float* row, float(&x)[most_of_lane]) {
#pragma unroll
    for (int i = 0; i < most_of_lane; ++i) {
      const int d = i * warp_lanes + lane;
      x[i] = d < p.dim ? row[d] : 0.0f;
    }
  };
  float q[most_of_lane], k[most_of_lane], v[most_of_lane], o[most_of_lane] = {};
  float largest = minus_infinity(), sum = 0;
  part(own.head.q + query * p.q_strides.row, q);
  const std::int64_t keys = visible_keys(p.causal, query, own.head.queries, own.head.keys);
  for (std::int64_t key = 0; key < keys; ++key) {
    part(own.head.k + key * p.k_strides.row, k);
    part(own.head.v + key * p.v_strides.row, v);
    float x = 0;
#pragma unroll
    for (int i = 0; i < most_of_lane; ++i) x = fmaf(q[i], k[i], x);
#pragma unroll
    for (int lanes = warp_lanes / 2; lanes > 0; lanes /= 2)
      x += __shfl_xor_sync(whole_warp(), x, lanes);
    x *= p.scale * log2_e;
    const float before = largest;
    largest = fmaxf(largest, x);
    const float reference = reference_of(largest), factor = rescale(before, reference),
                weight = power_of_2(x - reference);
    sum = fmaf(sum, factor, weight);
#pragma unroll
    for (int i = 0; i < most_of_lane; ++i) o[i] = fmaf(weight, v[i], o[i] * factor);
  }
#pragma unroll
  for (int i = 0; i < most_of_lane; ++i) {
    const int d = i * warp_lanes + lane;
    if (d < p.dim) own.head.o[query * p.o_strides.row + d] = o[i] * divisor(sum);
  }
}

}  // namespace

Status r02_online(const Attention& p, const Device&, Workspace, Stream stream) {
  return launch_over_queries(online, online_rows, online_rows * warp_lanes, 0, p, stream);
}

}  // namespace KW_TARGET
