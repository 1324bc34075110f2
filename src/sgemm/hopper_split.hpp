// The pre-pass of the split kernels: reads A and B once, in any layout, and writes their pieces as
// the main kernel's bulk copies want them (hopper_image.hpp), with zeros around; finds out on the
// way what the data allows (hopper_control.hpp).
//
//   bf16   one pass. The last block decides between bf16x6 and the kernel in plain fp32.
//   fp16   needs each row's largest element first, so a scan of the data goes before; that decides
//          about plain fp32. The split then meets the elements that its pieces can't hold.
//
// Prediction: a copy at memory bandwidth, 4 bytes in and 6 (bf16) or 4 + 4 (fp16) out an element;
// the second read of fp16 comes from L2 where the operands fit.
#pragma once

#include "device/overlap.hpp"
#include "device/ticket.hpp"
#include "gpu/gpu.hpp"
#include "sgemm/hopper_control.hpp"
#include "sgemm/hopper_image.hpp"
#include "sgemm/problem.hpp"
#include "sgemm/split_arithmetic.hpp"

namespace KW_TARGET::hopper {

using namespace kw::hopper;

// One operand, seen as rows along k.
struct Source {
  Image image;
  bool along_k;          // an element's neighbour in memory is the next along k; else the next row
  bool aligned;          // where along k: rows begin at multiples of 16 bytes
  char* pieces;          // the image
  int* scales;           // fp16: [entry][row]
  std::uint32_t* sizes;  // fp16: largest elements, [slice][entry][row]
};

struct Preparation {
  Sgemm problem;
  Source sources[2];
  Control* control;
  unsigned* tickets;          // 5, zero before and after
  std::int64_t unit_stages;   // stages of one block's work
  std::int64_t slice_stages;  // fp16: stages of one of the scan's
  bool decides;               // bf16: on its own, not as fp16's second choice
};

enum class Task { bf16, scan, fp16 };

constexpr int unit_rows = 64;         // two blocks of an image
constexpr int prepare_threads = 256;  // one for 8 elements of each of a stage's 64 x 4 chunks
constexpr int prepare_blocks_per_sm = 2;
constexpr int stages_at_once = 4;  // whose loads are under way together
constexpr int chunk_k = 8;

__device__ __forceinline__ std::int64_t slices_of(const Preparation& all, int operand) {
  return gpu::ceil_div(all.sources[operand].image.stages, all.slice_stages);
}

// 8 elements along k from k0 on; zeros outside.
__device__ __forceinline__ void load_chunk(float (&x)[chunk_k], const Source& source,
                                           const float* data, std::int64_t ld, std::int64_t row,
                                           std::int64_t k0) {
  const Image& image = source.image;
  if (source.along_k && source.aligned && row < image.rows && k0 + chunk_k <= image.k) {
    const float4* at = reinterpret_cast<const float4*>(data + row * ld + k0);
    const float4 first = at[0], second = at[1];
    x[0] = first.x, x[1] = first.y, x[2] = first.z, x[3] = first.w;
    x[4] = second.x, x[5] = second.y, x[6] = second.z, x[7] = second.w;
    return;
  }
  const std::int64_t step = source.along_k ? 1 : ld;
  const float* at = data + (source.along_k ? row * ld + k0 : k0 * ld + row);
  const std::int64_t valid = row < image.rows ? image.k - k0 : 0;
#pragma unroll
  for (int i = 0; i < chunk_k; ++i) x[i] = i < valid ? at[i * step] : 0.0f;
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
  if (*static_cast<volatile unsigned*>(&control->residual_count) > most_residuals) return;
  const unsigned slot = atomicAdd(&control->residual_count, 1u);
  if (slot >= most_residuals) return;
  control->residuals[slot] = {place.operand, static_cast<std::int32_t>(place.entry),
                              static_cast<std::int32_t>(place.row),
                              static_cast<std::int32_t>(place.k), x};
}

__device__ __forceinline__ void split_chunk_fp16(float (&x)[chunk_k], char* stage, int row,
                                                 int chunk, int scale, Control* control,
                                                 const ChunkPlace& place) {
  bool holds = true;
#pragma unroll
  for (int i = 0; i < chunk_k; ++i) holds = holds && split::fp16_holds(x[i], scale);
  if (!holds) {
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

// The blocks of one launch add up what they saw; the last one decides and leaves zeros.
__device__ inline void decide(const Preparation& all, const Extremes (&seen)[2], bool reads,
                              unsigned residual_count) {
  __shared__ Extremes block_seen[2];
  if (threadIdx.x < 2) block_seen[threadIdx.x] = {};
  __syncthreads();
  for (int i = 0; i < 2; ++i) {
    if (seen[i].largest > 0) atomicMax(&block_seen[i].largest, seen[i].largest);
    if (seen[i].below > 0) atomicMax(&block_seen[i].below, seen[i].below);
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  unsigned* const tickets = all.tickets;
  for (int i = 0; i < 2; ++i) {
    if (block_seen[i].largest == 0) continue;
    atomicMax(&tickets[1 + 2 * i], block_seen[i].largest);
    atomicMax(&tickets[2 + 2 * i], block_seen[i].below);
  }
  if (take_ticket(&tickets[0]) + 1 != gridDim.x) return;
  const auto taken = [&](int i) { return read_ticket(&tickets[i]); };
  const Extremes a{taken(1), taken(2)}, b{taken(3), taken(4)};
  all.control->takes_ffma = !reads || !pieces_hold(a, b, all.problem.k) ? 1 : 0;
  all.control->residual_count = residual_count;
  for (int i = 0; i < 5; ++i) tickets[i] = 0;
}

// What one block does at a time: some stages of 64 rows of an operand.
struct Unit {
  int operand;
  std::int64_t entry, rows, slice;  // the how manieth 64 rows, the how manieth stages
};

__device__ __forceinline__ std::int64_t units_of(const Preparation& all, int operand,
                                                 std::int64_t stages) {
  const Image& image = all.sources[operand].image;
  return all.problem.batch * gpu::ceil_div(image.rows, unit_rows) *
         gpu::ceil_div(image.stages, stages);
}

// Stages of a row block are neighbours in memory where along k; else row blocks are.
__device__ __forceinline__ Unit unit_at(const Preparation& all, std::int64_t index,
                                        std::int64_t stages) {
  const std::int64_t of_a = units_of(all, 0, stages);
  Unit unit{};
  unit.operand = index >= of_a ? 1 : 0;
  if (unit.operand == 1) index -= of_a;
  const Source& source = all.sources[unit.operand];
  const std::int64_t slices = gpu::ceil_div(source.image.stages, stages);
  const std::int64_t across = gpu::ceil_div(source.image.rows, unit_rows);
  const std::int64_t inner = source.along_k ? slices : across;
  const std::int64_t outer = source.along_k ? across : slices;
  unit.entry = index / (inner * outer);
  index -= unit.entry * (inner * outer);
  unit.slice = source.along_k ? index % inner : index / inner;
  unit.rows = source.along_k ? index / inner : index % inner;
  return unit;
}

// The scales of the unit's 64 rows, from all slices' largest elements.
__device__ inline void find_scales(const Preparation& all, const Unit& unit,
                                   int (&scales)[unit_rows]) {
  __syncthreads();  // the unit before has been split
  if (threadIdx.x < unit_rows) {
    const Source& source = all.sources[unit.operand];
    const std::int64_t row = unit.rows * unit_rows + threadIdx.x;
    std::uint32_t largest = 0;
    if (row < source.image.rows) {
      const std::int64_t slices = slices_of(all, unit.operand);
      for (std::int64_t s = 0; s < slices; ++s) {
        const std::uint32_t size =
            source.sizes[(s * all.problem.batch + unit.entry) * source.image.rows + row];
        if (size > largest) largest = size;
      }
    }
    const int scale = split::fp16_scale(largest);
    scales[threadIdx.x] = scale;
    if (unit.slice == 0 && row < source.image.rows) {
      source.scales[unit.entry * source.image.rows + row] = scale;
    }
  }
  __syncthreads();
}

template <Task task>
__device__ __forceinline__ void prepare_unit(const Preparation& all, const Unit& unit,
                                             std::int64_t unit_stages, Extremes& seen) {
  __shared__ int scales[unit_rows];
  __shared__ std::uint32_t sizes[unit_rows];
  const Source& source = all.sources[unit.operand];
  const int tid = static_cast<int>(threadIdx.x);
  const int row_in_unit = source.along_k ? tid / 4 : tid % unit_rows;
  const int chunk = source.along_k ? tid % 4 : tid / unit_rows;
  const std::int64_t row = unit.rows * unit_rows + row_in_unit;
  const float* data =
      unit.operand == 0 ? a_of(all.problem, unit.entry) : b_of(all.problem, unit.entry);
  const std::int64_t ld = unit.operand == 0 ? all.problem.lda : all.problem.ldb;
  constexpr int pieces = task == Task::bf16 ? split::bf16_pieces : split::fp16_pieces;
  const std::int64_t first = unit.slice * unit_stages;
  const std::int64_t end =
      first + unit_stages < source.image.stages ? first + unit_stages : source.image.stages;

  if constexpr (task == Task::fp16) find_scales(all, unit, scales);
  const int row_in_block = row_in_unit % block_rows;
  const bool stores = row / block_rows < source.image.blocks;
  char* image = source.pieces + source.image.offset(unit.entry, row / block_rows, first, pieces);
  std::uint32_t largest = 0;
  for (std::int64_t stage = first; stage < end; stage += stages_at_once) {
    float x[stages_at_once][chunk_k];
#pragma unroll
    for (int s = 0; s < stages_at_once; ++s) {
      // Beyond the end: k is beyond the operand, or the stage is another unit's and not stored.
      load_chunk(x[s], source, data, ld, row,
                 stage + s < end ? (stage + s) * stage_k + chunk * chunk_k : source.image.k);
    }
#pragma unroll
    for (int s = 0; s < stages_at_once; ++s) {
      if (stage + s >= end || !stores) break;
      char* const to = image + s * block_bytes(pieces);
      if constexpr (task == Task::fp16) {
        const ChunkPlace place{unit.operand, unit.entry, row,
                               (stage + s) * stage_k + chunk * chunk_k};
        split_chunk_fp16(x[s], to, row_in_block, chunk, scales[row_in_unit], all.control, place);
      } else {
        Extremes of_chunk;
#pragma unroll
        for (int i = 0; i < chunk_k; ++i) of_chunk.add(x[s][i]);
        if (of_chunk.largest > largest) largest = of_chunk.largest;
        if (of_chunk.below > seen.below) seen.below = of_chunk.below;
        if constexpr (task == Task::bf16) split_chunk_bf16(x[s], to, row_in_block, chunk);
      }
    }
    image += stages_at_once * block_bytes(pieces);
  }
  if (largest > seen.largest) seen.largest = largest;
  if constexpr (task == Task::scan) {
    if (tid < unit_rows) sizes[tid] = 0;
    __syncthreads();
    atomicMax(&sizes[row_in_unit], largest);
    __syncthreads();
    const std::int64_t own = unit.rows * unit_rows + tid;
    if (tid < unit_rows && own < source.image.rows) {
      source.sizes[(unit.slice * all.problem.batch + unit.entry) * source.image.rows + own] =
          sizes[tid];
    }
    __syncthreads();
  }
}

template <Task task>
__global__ __launch_bounds__(prepare_threads,
                             prepare_blocks_per_sm) void prepare(const Preparation all) {
  wait_for_previous_kernel();
  const bool decides = task == Task::scan || (task == Task::bf16 && all.decides);
  const bool works = decides              ? reads_operands(all.problem)
                     : task == Task::fp16 ? all.control->takes_ffma == 0
                                          : path_of(*all.control) == Path::bf16x6;
  const std::int64_t unit_stages = task == Task::scan ? all.slice_stages : all.unit_stages;
  const std::int64_t of_a = units_of(all, 0, unit_stages);
  const std::int64_t units = of_a + units_of(all, 1, unit_stages);
  Extremes seen[2];
  if (works) {
    std::int64_t index = blockIdx.x;
    for (; index < of_a; index += gridDim.x)
      prepare_unit<task>(all, unit_at(all, index, unit_stages), unit_stages, seen[0]);
    for (; index < units; index += gridDim.x)
      prepare_unit<task>(all, unit_at(all, index, unit_stages), unit_stages, seen[1]);
  }
  if (decides) decide(all, seen, works, task == Task::scan ? 0 : most_residuals + 1);
  let_next_kernel_start();
}

}  // namespace KW_TARGET::hopper
