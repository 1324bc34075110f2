// attention_cut: few queries, many keys, as in a language model's generation. Any problem.
//
// Idea    Reading K and V once is all that a query costs, so the device must be full of loads: keys
//         are cut into parts, a block each. In a block a few lanes share a key's row, each with
//         four of its elements, and keep for up to four queries (of the heads that share K and V
//         too) the largest score, the sum of weights and the weighted sum of V in registers. Parts
//         meet in shared memory; those of blocks in the workspace, where the last block to arrive
//         merges them: one launch.
// Limits  Memory bandwidth with one query; with four, the exchanges by which lanes add up a score.
// Order   Follows from the shape and the number of multiprocessors.
#include <algorithm>

#include "attention/packed_rows.hpp"
#include "attention/production.hpp"
#include "device/arrival.hpp"
#include "device/overlap.hpp"
#include "device/warp.hpp"

namespace KW_TARGET {
namespace {

using namespace attention;

constexpr int cut_threads = 128, keys_at_once = 4;

// Lanes that share a key, and groups of four elements that each of them has.
template <int lanes_, int fours_, int rows_>
struct CutShape {
  static constexpr int lanes = lanes_, fours = fours_, rows = rows_;  // rows: queries a block
  static constexpr int dim = lanes * fours * 4;
  static constexpr int slots = cut_threads / lanes;  // keys at a time
};

struct CutSchedule {
  int parts;                       // of the keys
  std::int64_t units, row_groups;  // entries and heads of K times row_groups
  bool aligned;
};

// Four elements of a row from column `d` on; zeros beyond `dim`.
__device__ __forceinline__ float4 load_four(const float* row, int d, int dim, bool aligned) {
  if (aligned) {
    if (d < dim) return *reinterpret_cast<const float4*>(row + d);
    return make_float4(0, 0, 0, 0);
  }
  return make_float4(d < dim ? row[d] : 0.0f, d + 1 < dim ? row[d + 1] : 0.0f,
                     d + 2 < dim ? row[d + 2] : 0.0f, d + 3 < dim ? row[d + 3] : 0.0f);
}

__device__ __forceinline__ float dot_four(float4 a, float4 b, float sum) {
  return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, sum))));
}

// What a query has met so far: o is a lane's share.
template <class Shape>
struct CutSums {
  float largest[Shape::rows], sum[Shape::rows];
  float4 o[Shape::rows][Shape::fours];
};

// Sums of several slots or blocks on their way to the result.
template <class Shape, int count>
struct CutParts {
  float largest[count][Shape::rows], sum[count][Shape::rows];
  alignas(16) float o[count][Shape::rows][Shape::dim];
};

template <class Shape>
struct CutWork {
  const Attention& p;
  const PackedRow (&rows)[Shape::rows];
  AttentionHead head;
  float4 q[Shape::rows][Shape::fours];
  int d;  // the lane's first element
  bool aligned;

  // Some keys of this slot, `slots` apart, none of them from `end` on.
  __device__ __forceinline__ void add(CutSums<Shape>& sums, std::int64_t key, std::int64_t end) {
    const int dim = static_cast<int>(p.dim);
    float4 k[keys_at_once][Shape::fours], v[keys_at_once][Shape::fours];
#pragma unroll
    for (int u = 0; u < keys_at_once; ++u) {
      const std::int64_t s = key + u * Shape::slots;
#pragma unroll
      for (int f = 0; f < Shape::fours; ++f) {
        const int at = d + f * Shape::lanes * 4;
        k[u][f] = v[u][f] = make_float4(0, 0, 0, 0);
        if (s < end) {
          k[u][f] = load_four(head.k + s * p.k_strides.row, at, dim, aligned);
          v[u][f] = load_four(head.v + s * p.v_strides.row, at, dim, aligned);
        }
      }
    }
#pragma unroll
    for (int r = 0; r < Shape::rows; ++r) {
      float x[keys_at_once], largest = sums.largest[r];
#pragma unroll
      for (int u = 0; u < keys_at_once; ++u) {
        x[u] = 0;
#pragma unroll
        for (int f = 0; f < Shape::fours; ++f) x[u] = dot_four(q[r][f], k[u][f], x[u]);
#pragma unroll
        for (int lanes = Shape::lanes / 2; lanes > 0; lanes /= 2)
          x[u] += __shfl_xor_sync(whole_warp(), x[u], lanes);
        const std::int64_t s = key + u * Shape::slots;
        x[u] *= p.scale;
        const bool sees = s < end && s < rows[r].keys;
        if (sees && rows[r].mask != nullptr) x[u] += rows[r].mask[s];
        x[u] = sees ? x[u] * log2_e : minus_infinity();
        largest = fmaxf(largest, x[u]);
      }
      const float reference = reference_of(largest), factor = rescale(sums.largest[r], reference);
      sums.largest[r] = largest;
      sums.sum[r] *= factor;
#pragma unroll
      for (int f = 0; f < Shape::fours; ++f) {
        float4& o = sums.o[r][f];
        o = make_float4(o.x * factor, o.y * factor, o.z * factor, o.w * factor);
      }
#pragma unroll
      for (int u = 0; u < keys_at_once; ++u) {
        const float weight = power_of_2(x[u] - reference);
        sums.sum[r] += weight;
#pragma unroll
        for (int f = 0; f < Shape::fours; ++f) {
          float4& o = sums.o[r][f];
          const float4 own = v[u][f];
          o = make_float4(fmaf(weight, own.x, o.x), fmaf(weight, own.y, o.y),
                          fmaf(weight, own.z, o.z), fmaf(weight, own.w, o.w));
        }
      }
    }
  }
};

// Merges `count` parts of a query's element; `part(i)` gives its largest score, sum and element.
struct MergedPart {
  float largest, sum, o;
};
template <class Part>
__device__ __forceinline__ MergedPart merge_parts(int count, const Part& part) {
  float largest = minus_infinity();
  for (int i = 0; i < count; ++i) largest = fmaxf(largest, part(i).largest);
  const float reference = reference_of(largest);
  MergedPart merged = {largest, 0, 0};
  for (int i = 0; i < count; ++i) {
    const MergedPart own = part(i);
    const float factor = rescale(own.largest, reference);
    merged.sum = fmaf(own.sum, factor, merged.sum);
    merged.o = fmaf(own.o, factor, merged.o);
  }
  return merged;
}

template <class Shape>
__global__ void __launch_bounds__(cut_threads)
    attention_cut(__grid_constant__ const Attention p, __grid_constant__ const CutSchedule schedule,
                  __grid_constant__ const Workspace workspace) {
  __shared__ CutParts<Shape, Shape::slots> parts;
  __shared__ bool comes_last;
  wait_for_previous_kernel();
  if (p.only_if != nullptr && *p.only_if == 0) return;
  const int tid = static_cast<int>(threadIdx.x), slot = tid / Shape::lanes;
  const std::int64_t unit = blockIdx.x / static_cast<unsigned>(schedule.parts);
  const int part = static_cast<int>(blockIdx.x % static_cast<unsigned>(schedule.parts));
  const std::int64_t of_heads = unit / schedule.row_groups,
                     first_row = unit % schedule.row_groups * Shape::rows;
  const std::int64_t entry = of_heads / p.kv_heads, kv_head = of_heads % p.kv_heads;

  PackedRow rows[Shape::rows];
  std::int64_t keys = 0;
#pragma unroll
  for (int r = 0; r < Shape::rows; ++r) {
    rows[r] = packed_row(p, entry, kv_head, first_row + r);
    if (rows[r].keys > keys) keys = rows[r].keys;
  }
  CutWork<Shape> work{p,
                      rows,
                      head_of(p, entry, kv_head * p.group(), kv_head),
                      {},
                      tid % Shape::lanes * 4,
                      schedule.aligned};
  CutSums<Shape> sums;
#pragma unroll
  for (int r = 0; r < Shape::rows; ++r) {
    sums.largest[r] = minus_infinity();
    sums.sum[r] = 0;
#pragma unroll
    for (int f = 0; f < Shape::fours; ++f) {
      sums.o[r][f] = work.q[r][f] = make_float4(0, 0, 0, 0);
      if (rows[r].q != nullptr)
        work.q[r][f] = load_four(rows[r].q, work.d + f * Shape::lanes * 4, static_cast<int>(p.dim),
                                 schedule.aligned);
    }
  }
  constexpr int step = Shape::slots * keys_at_once;
  const std::int64_t steps = ceil_div(keys, step);
  const std::int64_t begin = steps * part / schedule.parts * step;
  std::int64_t end = steps * (part + 1) / schedule.parts * step;
  if (end > keys) end = keys;
  for (std::int64_t key = begin; key < end; key += step) work.add(sums, key + slot, end);

#pragma unroll
  for (int r = 0; r < Shape::rows; ++r) {
    parts.largest[slot][r] = sums.largest[r];
    parts.sum[slot][r] = sums.sum[r];
#pragma unroll
    for (int f = 0; f < Shape::fours; ++f)
      *reinterpret_cast<float4*>(&parts.o[slot][r][work.d + f * Shape::lanes * 4]) = sums.o[r][f];
  }
  __syncthreads();
  constexpr int elements = Shape::rows * Shape::dim;
  const auto store = [&](int element, const MergedPart& merged) {
    const int d = element % Shape::dim;
    const PackedRow row = packed_row(p, entry, kv_head, first_row + element / Shape::dim);
    if (row.o != nullptr && d < p.dim) row.o[d] = merged.o * divisor(merged.sum);
  };
  const auto of_slots = [&](int element) {
    const int r = element / Shape::dim, d = element % Shape::dim;
    return merge_parts(Shape::slots, [&](int i) {
      return MergedPart{parts.largest[i][r], parts.sum[i][r], parts.o[i][r][d]};
    });
  };
  if (schedule.parts == 1) {
    for (int i = tid; i < elements; i += cut_threads) store(i, of_slots(i));
    return;
  }
  auto* const all = static_cast<CutParts<Shape, 1>*>(workspace.data) + unit * schedule.parts;
  for (int i = tid; i < elements; i += cut_threads) {
    const MergedPart merged = of_slots(i);
    const int r = i / Shape::dim, d = i % Shape::dim;
    if (d == 0) {
      all[part].largest[0][r] = merged.largest;
      all[part].sum[0][r] = merged.sum;
    }
    all[part].o[0][r][d] = merged.o;
  }
  if (!arrives_last(
          comes_last, static_cast<unsigned>(schedule.parts), tid == 0, [] { __syncthreads(); },
          [&] { return workspace.tickets + unit; }))
    return;
  for (int i = tid; i < elements; i += cut_threads) {
    const int r = i / Shape::dim, d = i % Shape::dim;
    store(i, merge_parts(schedule.parts, [&](int other) {
            return MergedPart{__ldcg(&all[other].largest[0][r]), __ldcg(&all[other].sum[0][r]),
                              __ldcg(&all[other].o[0][r][d])};
          }));
  }
}

// Calls with the shape for a problem.
template <class Visit>
auto with_cut_shape(const Attention& p, const Visit& visit) {
  const auto with_rows = [&](auto rows) {
    constexpr int count = decltype(rows)::value;
    if (p.dim <= 32) return visit(CutShape<8, 1, count>());
    if (p.dim <= 64) return visit(CutShape<16, 1, count>());
    if (p.dim <= 128) return visit(CutShape<32, 1, count>());
    return visit(CutShape<32, 2, count>());
  };
  if (p.group() * p.queries == 1) return with_rows(std::integral_constant<int, 1>());
  return with_rows(std::integral_constant<int, 4>());
}

template <class Shape>
CutSchedule cut_schedule(const Attention& p, const Device& device) {
  constexpr std::int64_t most_units = 4096;  // that share keys
  const std::int64_t row_groups = ceil_div(p.group() * p.queries, Shape::rows),
                     units = p.batch * p.kv_heads * row_groups;
  const std::int64_t wanted = units == 0 ? 1 : ceil_div(device.sm_count * std::int64_t{6}, units),
                     steps = ceil_div(p.keys, std::int64_t{Shape::slots * keys_at_once});
  const std::int64_t parts =
      units > most_units
          ? 1
          : std::clamp<std::int64_t>(
                std::min(wanted, std::max(steps / 4, std::min<std::int64_t>(steps, 8))), 1, 256);
  return {static_cast<int>(parts), units, row_groups,
          rows_aligned_16(p.q, p.q_strides, p.dim) && rows_aligned_16(p.k, p.k_strides, p.dim) &&
              rows_aligned_16(p.v, p.v_strides, p.dim)};
}

}  // namespace

std::optional<Plan<Attention>> attention_cut_make_plan(const Attention& p, const Device& device) {
  return with_cut_shape(p, [&](auto shape) -> std::optional<Plan<Attention>> {
    using Shape = decltype(shape);
    const CutSchedule schedule = cut_schedule<Shape>(p, device);
    if (schedule.units * schedule.parts > 0x7FFFFFFF) return std::nullopt;
    Plan<Attention> plan;
    // Multiply-adds of four queries, with what their exchanges take, or the bytes of one; no less
    // than a block takes from step to step.
    const double read =
        static_cast<double>(schedule.units) * static_cast<double>(p.keys) * 8.0 * Shape::dim;
    const double blocks = static_cast<double>(schedule.units * schedule.parts);
    const auto steps = static_cast<double>(
        ceil_div(p.keys, std::int64_t{Shape::slots} * keys_at_once * schedule.parts));
    // One query's times are four fifths of those fitted to calls on an H200, as what a call takes
    // differs by as much, and other kernels are rarely better. Few keys: what a block of four
    // queries takes beside them grows with the head.
    constexpr bool is_one = Shape::rows == 1;
    constexpr double bytes_of_us = is_one ? (Shape::fours == 1 ? 3.9e6 : 1.9e6) : 1.4e6;
    const double one_us = steps * (is_one ? 0.9 : 2.2),
                 waves = std::max(1.0, blocks / (6.0 * device.sm_count));
    const double start_us = is_one ? 2.0 : 4.0 + Shape::dim / 32.0;
    plan.time_us = start_us + std::max(read / bytes_of_us, one_us * waves) + 0.006 * blocks +
                   (schedule.parts > 1 ? (is_one ? 1.4 : 2.0) : 0.0);
    plan.cost = plan.time_us;
    if (schedule.parts > 1)
      plan.workspace_bytes =
          static_cast<std::size_t>(schedule.units * schedule.parts) * sizeof(CutParts<Shape, 1>);
    plan.min_workspace_bytes = 0;
    plan.data.set(schedule);
    return plan;
  });
}

Status attention_cut_launch_plan(const Attention& p, const Device&, const Plan<Attention>& plan,
                                 Workspace workspace, Stream stream) {
  auto schedule = plan.data.get<CutSchedule>();
  if (workspace.bytes < plan.workspace_bytes) schedule.parts = 1;
  return with_cut_shape(p, [&](auto shape) {
    return gpu::launch(attention_cut<decltype(shape)>,
                       {dim3(static_cast<unsigned>(schedule.units * schedule.parts)),
                        dim3(cut_threads), 0, stream, true},
                       p, schedule, workspace);
  });
}

}  // namespace KW_TARGET
