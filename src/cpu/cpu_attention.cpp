// cpu_attention: a query at a time, its scores in a row of floats; threads share the queries.
//
// Products of Q and K are summed in lanes, weights in double, O in float over a stretch of keys and
// then in double, so that a long S costs no accuracy. What a query does not see is not touched.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "cpu/kernels.hpp"

namespace kw::cpu {

namespace {

constexpr int dot_lanes = 16;
constexpr std::int64_t key_stretch = 64;

float dot(const float* x, const float* y, std::int64_t count) {
  float sums[dot_lanes] = {};
  std::int64_t i = 0;
  for (; i + dot_lanes <= count; i += dot_lanes)
    for (int lane = 0; lane < dot_lanes; ++lane) sums[lane] += x[i + lane] * y[i + lane];
  for (int lane = 0; i < count; ++i, ++lane) sums[lane] += x[i] * y[i];
  for (int half = dot_lanes / 2; half > 0; half /= 2)
    for (int lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  return sums[0];
}

// Turns scores into weights that are not yet divided by their sum, which it returns.
double weigh(std::vector<float>& scores, std::int64_t keys) {
  float most = -std::numeric_limits<float>::infinity();
  for (std::int64_t s = 0; s < keys; ++s) most = std::fmax(most, scores[static_cast<size_t>(s)]);
  if (most == -std::numeric_limits<float>::infinity()) most = 0;
  double sum = 0;
  for (std::int64_t s = 0; s < keys; ++s) {
    float& score = scores[static_cast<size_t>(s)];
    score = std::exp(score - most);
    sum += score;
  }
  return sum;
}

void add_values(const float* weights, const float* v, std::int64_t row_stride, std::int64_t keys,
                std::int64_t dim, double* totals) {
  for (std::int64_t s0 = 0; s0 < keys; s0 += key_stretch) {
    float sums[most_attention_dim] = {};
    const std::int64_t end = std::min(keys, s0 + key_stretch);
    for (std::int64_t s = s0; s < end; ++s) {
      const float weight = weights[s];
      const float* row = v + s * row_stride;
      for (std::int64_t d = 0; d < dim; ++d) sums[d] += weight * row[d];
    }
    for (std::int64_t d = 0; d < dim; ++d) totals[d] += static_cast<double>(sums[d]);
  }
}

void attend(const Attention& p, const AttentionHead& head, std::int64_t query,
            std::vector<float>& scores) {
  const std::int64_t keys = visible_keys(p.causal, query, head.queries, head.keys);
  const float* q = head.q + query * p.q_strides.row;
  for (std::int64_t s = 0; s < keys; ++s) {
    float score = p.scale * dot(q, head.k + s * p.k_strides.row, p.dim);
    if (head.mask != nullptr) score += head.mask[query * p.mask_strides.row + s];
    scores[static_cast<size_t>(s)] = score;
  }
  const double sum = weigh(scores, keys);
  double totals[most_attention_dim] = {};
  add_values(scores.data(), head.v, p.v_strides.row, keys, p.dim, totals);
  float* o = head.o + query * p.o_strides.row;
  const bool sees_none = sum == 0;
  for (std::int64_t d = 0; d < p.dim; ++d)
    o[d] = sees_none ? 0.0f : static_cast<float>(totals[d] / sum);
}

}  // namespace

Status cpu_attention(const Attention& p, const Device&, Workspace, Stream) {
  const std::int64_t lines = p.batch * p.heads * p.queries;
#pragma omp parallel
  {
    std::vector<float> scores(static_cast<size_t>(p.keys));
#pragma omp for schedule(dynamic, 8)
    for (std::int64_t line = 0; line < lines; ++line) {
      const std::int64_t of_head = line / p.queries, query = line - of_head * p.queries;
      const AttentionHead head = head_of(p, of_head / p.heads, of_head % p.heads);
      if (query < head.queries) attend(p, head, query, scores);
    }
  }
  return Status::success();
}

}  // namespace kw::cpu
