// Those who make pieces of K and V: warps of attention_split's blocks, beside those that multiply,
// and the blocks of a launch in front of it, where there is too little to multiply beside.
// They share one list of blocks of 64 rows, in the order in which these are needed. Who takes one
// leaves its pieces in the workspace and notes that they are there. He waits for nobody, so whoever
// waits for pieces gets them, however few blocks of the launch are on the device.
#pragma once

#include "attention/split_layout.hpp"
#include "attention/weights.hpp"
#include "device/async_copy.hpp"
#include "device/load_floats.hpp"
#include "device/mbarrier.hpp"
#include "device/published.hpp"
#include "device/warp.hpp"
#include "sgemm/split_arithmetic.hpp"

namespace KW_TARGET::attention_split {

using namespace kw::attention_split;

struct SplitParams {
  Attention p;
  Layout layout;
  char* workspace;
  std::int64_t q_tiles, k_blocks;  // of all heads; as many blocks of V
  TileOrder order;
  unsigned heads_ahead;  // of K and V: so many take turns in the list of blocks
  bool splits_first;     // a launch of its own, in front, makes all pieces
  bool k16, v16;         // rows on 16-byte boundaries

  __device__ __forceinline__ Control& control() const {
    return *reinterpret_cast<Control*>(workspace);
  }
  __device__ __forceinline__ std::uint32_t* note(bool of_v, std::int64_t block) const {
    return reinterpret_cast<std::uint32_t*>(workspace + (of_v ? layout.notes_v : layout.notes_k)) +
           block;
  }
  __device__ __forceinline__ void take_fp32() const { atomicMax(&control().takes_fp32, 1u); }
  __device__ __forceinline__ bool takes_fp32() const {
    return *static_cast<const volatile unsigned*>(&control().takes_fp32) != 0;
  }
};

// The bits of the largest size.
template <int count>
__device__ __forceinline__ std::uint32_t largest_of(const float (&x)[count]) {
  std::uint32_t largest = 0;
#pragma unroll
  for (int e = 0; e < count; ++e) {
    const std::uint32_t size = __float_as_uint(x[e]) & ~kw::split::sign_bit;
    if (size > largest) largest = size;
  }
  return largest;
}

// Where the 64 rows of a block of K or V lie, and which of them there are.
struct BlockRows {
  const float* first;
  std::int64_t row_stride, index;  // among all blocks of K, or of V
  int count;                       // less than 0: the list of blocks ends
  bool of_v, aligned;
};

// Three warps of a block make pieces: each by itself, with rows of one block of K or V under way
// while it splits another, or, where these are large, all of them one block after the other.
constexpr int maker_warps = 3, maker_threads = maker_warps * warp_lanes;
template <int dim>
struct MakerShared {
  static constexpr int teams = dim <= 64 ? maker_warps : 1, team = maker_threads / teams;
  // Eight rows lie in different banks.
  static constexpr int stride = dim + 4;
  using Raw = float[block_rows * stride];

  alignas(16) Raw raw[teams];
  BlockRows rows[teams][2];
  std::uint32_t of_keys[teams][block_rows], of_columns[teams][dim], of_warps[teams][4];
  bool list_ends;  // no tile of queries is left
};

// In front each team of the launch splits every so many of the list; beside products it takes the
// next one as it comes to it.
template <int dim, bool in_front>
class SplitMaker {
  using Shared = MakerShared<dim>;
  using Raw = typename Shared::Raw;
  static constexpr int team = Shared::team, chunks = block_rows * dim / 8,
                       unrolled = dim <= 64 ? 2 : 1;

 public:
  // `tid` is among the maker_threads of the block.
  __device__ __forceinline__ SplitMaker(Shared& shared, const SplitParams& params, int tid)
      : shared_(shared), params_(params), team_(from_lane(tid / team, 0)), tid_(tid % team) {}

  // A block is split, the next one's rows are on their way, and the one behind that is taken.
  __device__ __forceinline__ void run() {
    if (tid_ == 0)
      taken_ = in_front ? blockIdx.x * Shared::teams + static_cast<unsigned>(own_team()) : take();
    next(0);
    load(0);
    for (int i = 0; shared_.rows[own_team()][i].count >= 0; i ^= 1) {
      next(i ^ 1);
      async_wait<0>();
      sync();
      split(shared_.rows[own_team()][i], shared_.raw[own_team()]);
      load(i ^ 1);
    }
  }

 private:
  __device__ __forceinline__ int own_team() const { return Shared::teams == 1 ? 0 : team_; }
  __device__ __forceinline__ static void sync() {
    if constexpr (team == warp_lanes)
      __syncwarp();
    else
      sync_some_threads<3, maker_threads>();
  }
  __device__ __forceinline__ unsigned count() const {
    return static_cast<unsigned>(2 * params_.k_blocks);
  }
  // One thread's; what a list that is not needed any more holds, nobody takes.
  __device__ __forceinline__ unsigned take() const {
    if constexpr (in_front) return taken_ + gridDim.x * Shared::teams;
    return params_.splits_first || *static_cast<volatile bool*>(&shared_.list_ends)
               ? count()
               : atomicAdd(&params_.control().next_block, 1u);
  }
  // Where the block lies that was taken last; and the next is asked for.
  __device__ __forceinline__ void next(int place) {
    if (tid_ == 0) {
      const unsigned block = taken_;
      if (block < count()) taken_ = take();
      find_rows(shared_.rows[own_team()][place], block);
    }
    sync();
  }

  // Heads take turns, so many at a time, whose first tiles of queries start together: the first
  // blocks of K and V of all of them, then the second ones.
  __device__ __forceinline__ void find_rows(BlockRows& rows, unsigned block) const {
    const Attention& p = params_.p;
    rows.count = -1;
    if (block >= count()) return;
    const unsigned k_blocks = static_cast<unsigned>(params_.layout.k_blocks),
                   all_heads = static_cast<unsigned>(p.batch * p.kv_heads),
                   ahead = params_.heads_ahead, of_turn = 2 * k_blocks * ahead,
                   first = block / of_turn * ahead, within = block % of_turn,
                   heads = all_heads - first < ahead ? all_heads - first : ahead,
                   of_head = first + within % heads, k_block = within / heads / 2,
                   kv_heads = static_cast<unsigned>(p.kv_heads), kv_head = of_head % kv_heads;
    const AttentionHead head = head_of(
        p, of_head / kv_heads, kv_head * (static_cast<unsigned>(p.heads) / kv_heads), kv_head);
    const bool of_v = within / heads % 2 != 0;
    rows.of_v = of_v;
    rows.aligned = of_v ? params_.v16 : params_.k16;
    rows.index = of_head * params_.layout.k_blocks + k_block;
    const std::int64_t first_key = std::int64_t{k_block} * block_rows,
                       row_stride = of_v ? p.v_strides.row : p.k_strides.row;
    rows.row_stride = row_stride;
    rows.first = (of_v ? head.v : head.k) + first_key * row_stride;
    // What no query sees, nobody waits for.
    const std::int64_t seen =
        head.queries > 0 ? visible_keys(p.causal, head.queries - 1, head.queries, head.keys) : 0;
    const std::int64_t count = seen > first_key ? head.keys - first_key : 0;
    rows.count = static_cast<int>(count < block_rows ? count : block_rows);
  }

  __device__ __forceinline__ void load(int place) {
    const BlockRows& rows = shared_.rows[own_team()][place];
    Raw& raw = shared_.raw[own_team()];
    if (rows.count > 0) {
      if (rows.aligned)
        load<4>(rows, raw);
      else
        load<1>(rows, raw);
    }
    async_commit();
  }
  // Copies of so many elements; zeros where there is nothing.
  template <int width>
  __device__ __forceinline__ void load(const BlockRows& rows, Raw& raw) const {
    const int count = rows.count, columns = static_cast<int>(params_.p.dim);
    const std::int64_t row_stride = rows.row_stride;
    const float* const first = rows.first;
#pragma unroll unrolled
    for (int i = tid_; i < block_rows * dim / width; i += team) {
      const int row = i / (dim / width), d = i % (dim / width) * width;
      const bool there = row < count && d < columns;
      async_copy<4 * width>(raw + row * Shared::stride + d,
                            there ? first + row * row_stride + d : first, there ? 4 * width : 0);
    }
  }

  // 8 elements of a row; a warp has 8 rows of 32 elements.
  __device__ __forceinline__ static int row_of(int chunk) { return chunk / dim * 8 + chunk % 8; }
  __device__ __forceinline__ static int k8_of(int chunk) { return chunk / 8 % (dim / 8); }
  __device__ __forceinline__ static void read_row(const Raw& raw, int chunk, float (&x)[8]) {
    load_floats(x, raw + row_of(chunk) * Shared::stride + k8_of(chunk) * 8);
  }
  // An element of 8 keys; a warp has neighbours along the head.
  __device__ __forceinline__ static void read_column(const Raw& raw, int chunk, float (&x)[8]) {
    const float* const from = raw + chunk / dim * 8 * Shared::stride + chunk % dim;
#pragma unroll
    for (int e = 0; e < 8; ++e) x[e] = from[e * Shared::stride];
  }

  // The bits of the block's largest element, in all threads; and of V that of each key.
  __device__ __forceinline__ std::uint32_t find_largest(const Raw& raw, bool of_v) {
    if (of_v) {
      for (int i = tid_; i < block_rows; i += team) shared_.of_keys[own_team()][i] = 0;
      for (int i = tid_; i < dim; i += team) shared_.of_columns[own_team()][i] = 0;
      sync();
    }
    std::uint32_t most = 0;
#pragma unroll unrolled
    for (int chunk = tid_; chunk < chunks; chunk += team) {
      float x[8];
      read_row(raw, chunk, x);
      const std::uint32_t own = largest_of(x);
      if (of_v) atomicMax(&shared_.of_keys[own_team()][row_of(chunk)], own);
      if (own > most) most = own;
    }
    most = largest_of_warp(most);
    if constexpr (team > warp_lanes) {
      if (tid_ % warp_lanes == 0) shared_.of_warps[own_team()][tid_ / warp_lanes] = most;
      sync();
#pragma unroll
      for (int i = 0; i < team / warp_lanes; ++i)
        if (shared_.of_warps[own_team()][i] > most) most = shared_.of_warps[own_team()][i];
    }
    return most;
  }
  // Whether each of V's keys and each of its columns has an element that is not small beside the
  // block's largest, or has none at all: only then may small ones lose bits. Each thread answers
  // for some.
  __device__ __forceinline__ bool is_even(std::uint32_t largest) const {
    const std::uint32_t least = largest > (15u << 23) ? largest - (15u << 23) : 0;
    bool even = true;
    const auto look = [&](std::uint32_t size) { even &= size == 0 || size >= least; };
    for (int i = tid_; i < block_rows; i += team) look(shared_.of_keys[own_team()][i]);
    for (int i = tid_; i < dim; i += team) look(shared_.of_columns[own_team()][i]);
    return even;
  }

  // `rows` may be another block's once all threads have met.
  __device__ __forceinline__ void split(const BlockRows& rows, const Raw& raw) {
    const bool of_v = rows.of_v;
    const std::int64_t index = rows.index;
    if (rows.count == 0) return sync();
    const std::uint32_t largest = find_largest(raw, of_v);
    const int scale = kw::split::fp16_scale(largest);
    const bool holds = scale_holds(scale);
    char* const to =
        params_.workspace + (of_v ? params_.layout.v : params_.layout.k) + index * block_bytes(dim);
    const float factor = kw::split::power_of_two(holds ? scale : 0);
    if (of_v)
      write_columns(raw, to, factor);
    else
      write_rows(raw, to, factor);
    global_writes_before_copies();
    sync();
    if (!holds || (of_v && !is_even(largest))) params_.take_fp32();
    if (tid_ == 0) publish_note(params_.note(of_v, index), largest | is_split);
    if (of_v) sync();
  }
  __device__ __forceinline__ void write_rows(const Raw& raw, char* to, float factor) const {
#pragma unroll unrolled
    for (int chunk = tid_; chunk < chunks; chunk += team) {
      float x[8];
      read_row(raw, chunk, x);
      write(to + chunk_at(block_rows, row_of(chunk), k8_of(chunk), 0), x, factor);
    }
  }
  __device__ __forceinline__ void write_columns(const Raw& raw, char* to, float factor) const {
#pragma unroll unrolled
    for (int chunk = tid_; chunk < chunks; chunk += team) {
      float x[8];
      read_column(raw, chunk, x);
      atomicMax(&shared_.of_columns[own_team()][chunk % dim], largest_of(x));
      write(to + chunk_at(dim, chunk % dim, chunk / dim, 0), x, factor);
    }
  }
  __device__ __forceinline__ static void write(char* to, const float (&x)[8], float factor) {
    std::uint32_t high[4], low[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      kw::split::split_fp16_as_it_is(x[2 * e] * factor, x[2 * e + 1] * factor, high[e], low[e]);
    }
    *reinterpret_cast<uint4*>(to) = make_uint4(high[0], high[1], high[2], high[3]);
    *reinterpret_cast<uint4*>(to + chunk_at(block_rows, 0, 0, 1)) =
        make_uint4(low[0], low[1], low[2], low[3]);
  }

  Shared& shared_;
  const SplitParams& params_;
  int team_, tid_;
  unsigned taken_ = 0;
};

}  // namespace KW_TARGET::attention_split
