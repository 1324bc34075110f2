// The pre-pass of the split kernels: reads A and B once, in any layout, and writes their pieces as
// the main kernel's bulk copies want them (packed_layout.hpp), with zeros around; finds out on the
// way what the data allows (control.hpp).
//
//   bf16   one pass.
//   fp16   needs to know how large a row is before it can scale it. A sample says that nearly
//          always: 128 elements of each row, and room for some that are four times as large. The
//          split then meets the elements that its pieces can't hold.
//
// Prediction: a copy at memory bandwidth, 4 bytes in and 6 (bf16) or 4 (fp16) out an element.
#pragma once

#include <algorithm>

#include "device/cache_hint.hpp"
#include "device/overlap.hpp"
#include "device/warp.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/hopper/control.hpp"
#include "sgemm/hopper/packed_layout.hpp"
#include "sgemm/hopper/select_path.hpp"
#include "sgemm/problem.hpp"
#include "sgemm/split_arithmetic.hpp"

namespace KW_TARGET::hopper {

using namespace kw::hopper;

enum class Task { bf16, sample, fp16 };

constexpr int prepare_threads = 256;  // one for 8 elements of each of a stage's 64 x 4 chunks
constexpr int prepare_blocks_per_sm = 3;
constexpr int stages_at_once = 2;  // whose loads are under way together
constexpr int sampled_stages = 4;
constexpr int sample_room = 2;  // what a sample may miss of a row's largest exponent
constexpr int chunk_k = 8;

// Of one operand: a block of 64 rows each, the stages cut into slices as equal as can be; the
// sample takes whole rows. Divisions on the GPU would cost a call of 512 cubed a microsecond.
struct Units {
  unsigned across, slices;
  unsigned stages, longer;  // of a slice; so many of the first slices have one more

  KW_HOST_DEVICE unsigned an_entry() const { return across * slices; }
  KW_HOST_DEVICE unsigned first_stage(unsigned slice) const {
    return slice * stages + (slice < longer ? slice : longer);
  }
};
inline Units units_of(const Image& image, unsigned slices) {
  const auto stages = static_cast<unsigned>(image.stages);
  return {static_cast<unsigned>(image.blocks), slices, stages / slices, stages % slices};
}

// One operand, seen as rows along k.
struct Source {
  Image image;
  bool along_k;  // an element's neighbour in memory is the next along k; else the next row
  bool aligned;  // where along k: rows begin at multiples of 16 bytes
  char* pieces;  // the image
  int* scales;   // fp16: [entry][row]
};

struct Preparation {
  Sgemm problem;
  Source sources[2];
  Units units[2];
  Control* control;
  bool looks;       // leaves what it has seen; not as fp16's second choice
  int seen_blocks;  // that have left it
};

inline unsigned prepare_blocks(Task task, const Preparation& all, const Device& device) {
  unsigned units = 0;
  for (const Units& own : all.units) units += task == Task::sample ? own.across : own.an_entry();
  units *= static_cast<unsigned>(all.problem.batch);
  const int most = std::min(prepare_blocks_per_sm * device.sm_count, max_seen);
  return std::min(units, static_cast<unsigned>(most));
}

// 8 elements along k from k0 on; zeros outside.
__device__ __forceinline__ void load_chunk(float (&x)[chunk_k], const Source& source,
                                           const float* data, std::int64_t ld, std::int64_t row,
                                           std::int64_t k0) {
  const Image& image = source.image;
  const bool is_whole = row < image.rows && k0 + chunk_k <= image.k;
  if (is_whole && source.along_k && source.aligned) {
    const float4* at = reinterpret_cast<const float4*>(data + row * ld + k0);
    const float4 first = load_once(at), second = load_once(at + 1);
    x[0] = first.x, x[1] = first.y, x[2] = first.z, x[3] = first.w;
    x[4] = second.x, x[5] = second.y, x[6] = second.z, x[7] = second.w;
    return;
  }
  const std::int64_t step = source.along_k ? 1 : ld;
  const float* at = data + (source.along_k ? row * ld + k0 : k0 * ld + row);
  if (is_whole) {
#pragma unroll
    for (int i = 0; i < chunk_k; ++i, at += step) x[i] = load_once(at);
    return;
  }
  const std::int64_t valid = row < image.rows ? image.k - k0 : 0;
#pragma unroll
  for (int i = 0; i < chunk_k; ++i) x[i] = i < valid ? load_once(at + i * step) : 0.0f;
}

template <int pieces>
__device__ __forceinline__ void store_chunk(char* stage, int row, int chunk,
                                            const split::Pair (&words)[chunk_k / 2][pieces]) {
#pragma unroll
  for (int p = 0; p < pieces; ++p) {
    *reinterpret_cast<uint4*>(stage + chunk_offset(row, chunk, p, pieces)) =
        make_uint4(words[0][p], words[1][p], words[2][p], words[3][p]);
  }
}

__device__ __forceinline__ void split_chunk_bf16(const float (&x)[chunk_k], char* stage, int row,
                                                 int chunk) {
  split::Pair words[chunk_k / 2][split::bf16_pieces];
#pragma unroll
  for (int i = 0; i < chunk_k / 2; ++i) split::split_bf16(x[2 * i], x[2 * i + 1], words[i]);
  store_chunk(stage, row, chunk, words);
}

// Where a chunk lies in its operand.
struct ChunkPlace {
  int operand;
  std::int64_t entry, row, k;
};

__device__ inline void leave_to_residuals(Control* control, const ChunkPlace& place, float x) {
  // Once there are too many no more are counted: graded data would have all blocks wait for it.
  if (*static_cast<volatile unsigned*>(&control->outlier_count) > max_outliers) return;
  const unsigned slot = atomicAdd(&control->outlier_count, 1u);
  if (slot >= max_outliers) return;
  control->outliers[slot] = {place.operand, static_cast<std::int32_t>(place.entry),
                             static_cast<std::int32_t>(place.row),
                             static_cast<std::int32_t>(place.k), x};
}

__device__ __forceinline__ void split_chunk_fp16(float (&x)[chunk_k], const Extremes& of_chunk,
                                                 char* stage, int row, int chunk, int scale,
                                                 Control* control, const ChunkPlace& place) {
  if (!split::fp16_holds(of_chunk.largest, scale) ||
      !split::fp16_holds(of_chunk.smallest(), scale)) {
#pragma unroll
    for (int i = 0; i < chunk_k; ++i) {
      if (split::fp16_holds(x[i], scale)) continue;
      leave_to_residuals(control, {place.operand, place.entry, place.row, place.k + i}, x[i]);
      x[i] = 0;
    }
  }
  split::Pair words[chunk_k / 2][split::fp16_pieces];
#pragma unroll
  for (int i = 0; i < chunk_k / 2; ++i) {
    split::split_fp16(split::scale(x[2 * i], scale), split::scale(x[2 * i + 1], scale), words[i]);
  }
  store_chunk(stage, row, chunk, words);
}

// What the block has seen, for whoever decides (select_path.hpp). All its threads call this.
__device__ inline void leave_seen(const Preparation& all, const Extremes (&seen)[2]) {
  constexpr int words = sizeof(Seen) / sizeof(std::uint32_t), warps = prepare_threads / warp_lanes;
  __shared__ std::uint32_t of_warps[warps][words];
  const int tid = static_cast<int>(threadIdx.x);
  const std::uint32_t own[words] = {seen[0].largest, seen[0].below, seen[1].largest, seen[1].below};
#pragma unroll
  for (int i = 0; i < words; ++i) {
    const std::uint32_t most = largest_of_warp(own[i]);
    if (tid % warp_lanes == 0) of_warps[tid / warp_lanes][i] = most;
  }
  __syncthreads();
  if (tid >= words) return;
  std::uint32_t most = 0;
#pragma unroll
  for (int warp = 0; warp < warps; ++warp) {
    const std::uint32_t other = of_warps[warp][tid];
    if (other > most) most = other;
  }
  all.control->seen[blockIdx.x].words[tid] = most;
}

// What one block does at a time: some stages of 64 rows of an operand.
struct Unit {
  int operand;
  std::int64_t entry, rows;  // which block of rows
  unsigned slice;            // of its stages
};

// Stages of a row block are neighbours in memory where along k; else row blocks are.
__device__ __forceinline__ Unit unit_at(const Source& source, const Units& units, int operand,
                                        unsigned index) {
  Unit unit{};
  unit.operand = operand;
  const unsigned inner = source.along_k ? units.slices : units.across;
  if (index >= units.an_entry()) {
    unit.entry = index / units.an_entry();
    index %= units.an_entry();
  }
  const unsigned outer_index = index / inner, inner_index = index - outer_index * inner;
  unit.slice = source.along_k ? inner_index : outer_index;
  unit.rows = source.along_k ? outer_index : inner_index;
  return unit;
}

// Which row of a unit and which chunk of its stages a thread has: neighbours in memory are
// neighbouring threads'.
struct ThreadPlace {
  int row, chunk;

  __device__ __forceinline__ explicit ThreadPlace(const Source& source) {
    const int tid = static_cast<int>(threadIdx.x);
    row = source.along_k ? tid / 4 : tid % block_rows;
    chunk = source.along_k ? tid % 4 : tid / block_rows;
  }
};

struct Matrix {
  const float* data;
  std::int64_t ld;
};
__device__ __forceinline__ Matrix operand_of(const Preparation& all, const Unit& unit) {
  return unit.operand == 0 ? Matrix{a_of(all.problem, unit.entry), all.problem.lda}
                           : Matrix{b_of(all.problem, unit.entry), all.problem.ldb};
}

// Writes the scales of 64 rows, from the largest of some elements of each; of all, where a row's
// are zeros.
__device__ inline void sample_unit(const Preparation& all, const Unit& unit) {
  __shared__ std::uint32_t sizes[block_rows], unit_size;
  const Source& source = all.sources[unit.operand];
  const auto [data, ld] = operand_of(all, unit);
  const int tid = static_cast<int>(threadIdx.x);
  const ThreadPlace own(source);
  const std::int64_t first_row = unit.rows * block_rows;

  if (tid < block_rows) sizes[tid] = 0;
  if (tid == 0) unit_size = 0;
  float x[sampled_stages][chunk_k];
#pragma unroll
  for (int s = 0; s < sampled_stages; ++s) {
    const std::int64_t stage = s * (source.image.stages - 1) / (sampled_stages - 1);
    load_chunk(x[s], source, data, ld, first_row + own.row, stage * stage_k + own.chunk * chunk_k);
  }
  Extremes seen;
#pragma unroll
  for (int s = 0; s < sampled_stages; ++s) seen.add(Extremes::of(x[s]));
  __syncthreads();
  atomicMax(&sizes[own.row], seen.largest);
  __syncthreads();
  if (tid < block_rows) atomicMax(&unit_size, sizes[tid]);
  __syncthreads();
  if (tid < block_rows && first_row + tid < source.image.rows) {
    const std::uint32_t size = sizes[tid] != 0 ? sizes[tid] : unit_size;
    source.scales[unit.entry * source.image.rows + first_row + tid] =
        split::fp16_scale(size) - sample_room;
  }
  __syncthreads();
}

template <Task task>
__device__ __forceinline__ void split_unit(const Preparation& all, const Unit& unit,
                                           Extremes& seen) {
  const Source& source = all.sources[unit.operand];
  const auto [data, ld] = operand_of(all, unit);
  const ThreadPlace own(source);
  const std::int64_t row = unit.rows * block_rows + own.row;
  constexpr int pieces = task == Task::bf16 ? split::bf16_pieces : split::fp16_pieces;
  const Units& units = all.units[unit.operand];
  const std::int64_t first = units.first_stage(unit.slice), end = units.first_stage(unit.slice + 1);

  int scale = 0;
  if (task == Task::fp16 && row < source.image.rows)
    scale = source.scales[unit.entry * source.image.rows + row];
  const int row_in_block = unit.operand == 1 ? column_place(own.row) : own.row;
  char* image = source.pieces + source.image.offset(unit.entry, unit.rows, first, pieces);
  for (std::int64_t stage = first; stage < end; stage += stages_at_once) {
    float x[stages_at_once][chunk_k];
#pragma unroll
    for (int s = 0; s < stages_at_once; ++s) {
      // Beyond the end: k is beyond the operand, or the stage is another unit's and not stored.
      load_chunk(x[s], source, data, ld, row,
                 stage + s < end ? (stage + s) * stage_k + own.chunk * chunk_k : source.image.k);
    }
#pragma unroll
    for (int s = 0; s < stages_at_once; ++s) {
      if (stage + s >= end) break;
      char* const to = image + s * block_bytes(pieces);
      const Extremes of_chunk = Extremes::of(x[s]);
      seen.add(of_chunk);
      if constexpr (task == Task::fp16) {
        const ChunkPlace place{unit.operand, unit.entry, row,
                               (stage + s) * stage_k + own.chunk * chunk_k};
        split_chunk_fp16(x[s], of_chunk, to, row_in_block, own.chunk, scale, all.control, place);
      } else {
        split_chunk_bf16(x[s], to, row_in_block, own.chunk);
      }
    }
    image += stages_at_once * block_bytes(pieces);
  }
}

template <Task task>
__global__ __launch_bounds__(prepare_threads,
                             prepare_blocks_per_sm) void prepare(const Preparation all) {
  begin_concurrent(all.problem);
  bool works = reads_operands(all.problem);
  if (!all.looks) {
    works = decide<prepare_threads>(all.problem, *all.control, all.seen_blocks,
                                    static_cast<int>(threadIdx.x),
                                    [] { __syncthreads(); }) == Path::bf16x6;
  }
  Extremes seen[2];
  if (works) {
    unsigned index = blockIdx.x;
    const auto prepare_operand = [&](int operand, Extremes& of_operand) {
      const Source& source = all.sources[operand];
      Units own = all.units[operand];
      if constexpr (task == Task::sample) own.slices = 1;
      const unsigned count = static_cast<unsigned>(all.problem.batch) * own.an_entry();
      for (; index < count; index += gridDim.x) {
        const Unit unit = unit_at(source, own, operand, index);
        if constexpr (task == Task::sample)
          sample_unit(all, unit);
        else
          split_unit<task>(all, unit, of_operand);
      }
      index -= count;
    };
    prepare_operand(0, seen[0]);
    prepare_operand(1, seen[1]);
  }
  if (task != Task::fp16 && all.looks && blockIdx.x == 0 && threadIdx.x == 0)
    all.control->outlier_count = task == Task::sample ? 0 : max_outliers + 1;
  if (task != Task::sample && all.looks) leave_seen(all, seen);
  let_next_kernel_start();
  end_concurrent(all.problem);
}

}  // namespace KW_TARGET::hopper
