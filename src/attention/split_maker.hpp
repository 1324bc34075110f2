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
#include "device/overlap.hpp"
#include "device/published.hpp"
#include "device/thread_index.hpp"
#include "device/warp.hpp"
#include "divider.hpp"
#include "sgemm/split_arithmetic.hpp"

namespace KW_TARGET::attention_split {

using namespace kw::attention_split;

// In which order blocks of K and V are split: heads take turns, so many at a time, whose first
// tiles of queries start together: the first blocks of K and V of all of them, then the second
// ones.
struct BlockTurns {
  unsigned heads = 1, last_heads = 1;  // of a turn, and of the last one
  unsigned blocks = 1;                 // of K and V in a turn
  unsigned kv_heads = 1, group = 1;    // of an entry; heads of queries for one of K and V
  Divider by_blocks, by_heads, by_last_heads, by_kv_heads;

  BlockTurns() = default;
  BlockTurns(const Attention& p, std::int64_t k_blocks, std::int64_t heads_ahead) {
    const std::int64_t all = p.batch * p.kv_heads;
    heads = static_cast<unsigned>(heads_ahead);
    last_heads = static_cast<unsigned>((all - 1) % heads_ahead + 1);
    blocks = static_cast<unsigned>(2 * k_blocks * heads_ahead);
    kv_heads = static_cast<unsigned>(p.kv_heads);
    group = static_cast<unsigned>(p.group());
    by_blocks = Divider(blocks);
    by_heads = Divider(heads);
    by_last_heads = Divider(last_heads);
    by_kv_heads = Divider(kv_heads);
  }
};

struct SplitParams {
  Attention p;
  Layout layout;
  char* workspace;
  std::int64_t q_tiles, k_blocks;  // of all heads; as many blocks of V
  TileOrder order;
  BlockTurns turns;    // of the list of blocks
  bool splits_first;   // a launch of its own, in front, makes all pieces
  bool q16, k16, v16;  // rows on 16-byte boundaries

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

// The larger size; NaN where one of the two is.
__device__ __forceinline__ float larger_size(float most, float x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  float larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(most), "f"(fabsf(x)));
  return larger;
#else
  const std::uint32_t size = __float_as_uint(x) & ~kw::split::sign_bit;
  return size > __float_as_uint(most) ? __uint_as_float(size) : most;
#endif
}
template <int count>
__device__ __forceinline__ float larger_size(float most, const float (&x)[count]) {
#pragma unroll
  for (int e = 0; e < count; ++e) most = larger_size(most, x[e]);
  return most;
}
// The larger size of this lane's and of those that differ from it in these bits of their number.
template <int from, int to>
__device__ __forceinline__ float largest_of_lanes(float own) {
#pragma unroll
  for (int delta = from; delta < to; delta *= 2)
    own = larger_size(own, __shfl_xor_sync(whole_warp(), own, delta));
  return own;
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
  static constexpr int teams = dim <= 64 ? maker_warps : 1;
  // Eight rows lie in different banks.
  static constexpr int stride = dim + 4;
  using Raw = float[block_rows * stride];

  alignas(16) Raw raw[teams];
  BlockRows rows[teams][2];
  // Of teams of several warps: the largest element of each, and of each column of V.
  std::uint32_t of_warps[4], of_columns[dim];
  bool list_ends;  // no tile of queries is left
};

// In front each team of the launch splits every so many of the list; beside products it takes the
// next one as it comes to it. A warp has eight rows of a block at a time, or as many keys' columns.
template <int dim, bool in_front>
class SplitMaker {
  using Shared = MakerShared<dim>;
  using Raw = typename Shared::Raw;
  static constexpr int teams = Shared::teams, team = maker_threads / teams,
                       warps = team / warp_lanes, groups = block_rows / 8,
                       of_lane = dim / warp_lanes;  // eights of elements of a group
  // How many of these are under way, and how many copies are asked for in a row.
  static constexpr int at_a_time = dim <= 64 ? 2 : 1, load_unrolled = dim <= 64 ? 8 : 2;

 public:
  __device__ __forceinline__ SplitMaker(Shared& shared, const SplitParams& params)
      : shared_(shared), params_(params), team_(from_lane(thread() / team, 0)) {}

  // A block is split, the next one's rows are on their way, and the one behind that is taken. The
  // note that pieces are there waits for their writes: it comes when the next copies are under way.
  // Each team has its first block without asking, so that its rows are on their way before the
  // workspace is cleared.
  __device__ __forceinline__ void run() {
    const unsigned first = blockIdx.x * teams + static_cast<unsigned>(own_team());
    if (tid() == 0) find_rows(rows(0), !in_front && params_.splits_first ? count() : first);
    sync();
    load(rows(0));
    if constexpr (!in_front) wait_for_previous_kernel();
    if (tid() == 0) {
      taken_ = first;
      taken_ = take();
    }
    for (int i = 0; rows(i).count >= 0; i ^= 1) {
      next(i ^ 1);
      async_wait<0>();
      sync();
      std::uint32_t note = 0;
      if (rows(i).count > 0)
        note = rows(i).of_v ? split<true>(rows(i).index) : split<false>(rows(i).index);
      sync();
      load(rows(i ^ 1));
      if (tid() == 0 && note != 0) publish_note(params_.note(rows(i).of_v, rows(i).index), note);
    }
  }

 private:
  // Among the maker_threads of the block; those of a launch beside products follow another warp.
  __device__ __forceinline__ static int thread() {
    return reread_thread_index() - (in_front ? 0 : warp_lanes);
  }
  __device__ __forceinline__ static int tid() { return thread() % team; }  // of the team
  __device__ __forceinline__ int own_team() const { return teams == 1 ? 0 : team_; }
  __device__ __forceinline__ int own_warp() const { return warps == 1 ? 0 : tid() / warp_lanes; }
  __device__ __forceinline__ static int lane() { return reread_thread_index() % warp_lanes; }
  __device__ __forceinline__ BlockRows& rows(int place) const {
    return shared_.rows[own_team()][place];
  }
  __device__ __forceinline__ Raw& raw() const { return shared_.raw[own_team()]; }
  __device__ __forceinline__ static void sync() {
    if constexpr (warps == 1)
      __syncwarp();
    else
      sync_some_threads<3, maker_threads>();
  }
  __device__ __forceinline__ unsigned count() const {
    return static_cast<unsigned>(2 * params_.k_blocks);
  }
  // One thread's; what a list that is not needed any more holds, nobody takes.
  __device__ __forceinline__ unsigned take() const {
    if constexpr (in_front) return taken_ + gridDim.x * teams;
    return params_.splits_first || *static_cast<volatile bool*>(&shared_.list_ends)
               ? count()
               : atomicAdd(&params_.control().next_block, 1u) + gridDim.x * teams;
  }
  // Where the block lies that was taken last; and the next is asked for.
  __device__ __forceinline__ void next(int place) {
    if (tid() == 0) {
      const unsigned block = taken_;
      if (block < count()) taken_ = take();
      find_rows(rows(place), block);
    }
    sync();
  }

  __device__ __forceinline__ void find_rows(BlockRows& rows, unsigned block) const {
    const Attention& p = params_.p;
    const BlockTurns& turns = params_.turns;
    rows.count = -1;
    if (block >= count()) return;
    const unsigned k_blocks = static_cast<unsigned>(params_.layout.k_blocks),
                   turn = turns.by_blocks.quotient(block), first = turn * turns.heads,
                   within = block - turn * turns.blocks;
    const bool is_last = first + turns.last_heads == static_cast<unsigned>(p.batch * p.kv_heads);
    const unsigned heads = is_last ? turns.last_heads : turns.heads,
                   of_all = (is_last ? turns.by_last_heads : turns.by_heads).quotient(within),
                   of_head = first + within - of_all * heads, k_block = of_all / 2,
                   entry = turns.by_kv_heads.quotient(of_head),
                   kv_head = of_head - entry * turns.kv_heads;
    const AttentionHead head = head_of(p, entry, kv_head * turns.group, kv_head);
    const bool of_v = of_all % 2 != 0;
    rows.of_v = of_v;
    rows.aligned = of_v ? params_.v16 : params_.k16;
    rows.index = of_head * k_blocks + k_block;
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

  __device__ __forceinline__ void load(const BlockRows& rows) const {
    if (rows.count > 0) {
      if (rows.aligned)
        load<4>(rows);
      else
        load<1>(rows);
    }
    async_commit();
  }
  // Copies of so many elements; zeros where there is nothing.
  template <int width>
  __device__ __forceinline__ void load(const BlockRows& rows) const {
    const int own = tid();
    constexpr int vectors = dim / width, across = vectors < team ? vectors : team,
                  at_once = team / across, steps = ceil_div(block_rows, at_once);
    const int first = own / across, columns = static_cast<int>(params_.p.dim), count = rows.count;
    if (at_once * across < team && first >= at_once) return;
    const std::int64_t step = at_once * rows.row_stride;
    for (int d = own % across * width; d < dim; d += across * width) {
      const int seen = d < columns ? count - first : 0;
      const float* from = rows.first + first * rows.row_stride + d;
      float* to = raw() + first * Shared::stride + d;
#pragma unroll load_unrolled
      for (int i = 0; i < steps; ++i, from += step, to += at_once * Shared::stride)
        if (block_rows % at_once == 0 || first + i * at_once < block_rows)
          async_copy<4 * width>(to, from, i * at_once < seen ? 4 * width : 0);
    }
  }

  // Where this lane's first elements of a group's rows lie; the next ones are 32 further on.
  __device__ __forceinline__ const float* own_row() const {
    return raw() + lane() % 8 * Shared::stride + lane() / 8 * 8;
  }
  static constexpr int group_stride = 8 * Shared::stride;
  // An element of each of V's eight keys of a group.
  __device__ __forceinline__ static void read_column(const float* from, float (&x)[8]) {
#pragma unroll
    for (int e = 0; e < 8; ++e) x[e] = from[e * Shared::stride];
  }
  template <class Visit>
  __device__ __forceinline__ void for_groups(const Visit& visit) const {
#pragma unroll 1
    for (int group = own_warp(); group < groups; group += warps)
#pragma unroll at_a_time
      for (int i = 0; i < of_lane; ++i) visit(group, i);
  }

  // The bits of the block's largest element, in all threads. Of V `least` becomes that of the least
  // key that has an element other than 0, less 1.
  template <bool of_v>
  __device__ __forceinline__ std::uint32_t find_largest(std::uint32_t& least) const {
    if (warps > 1 && of_v)
      for (int i = tid(); i < dim; i += team) shared_.of_columns[i] = 0;
    float most = 0, of_key = 0;
    const float* const from = own_row();
    for_groups([&](int group, int i) {
      float x[8];
      load_floats(x, from + group * group_stride + i * warp_lanes);
      of_key = larger_size(i == 0 ? 0 : of_key, x);
      if (i + 1 < of_lane) return;
      most = larger_size(most, of_key);
      if (of_v) least = lesser(least, __float_as_uint(largest_of_lanes<8, 32>(of_key)) - 1);
    });
    std::uint32_t largest = largest_of_warp(__float_as_uint(most));
    if constexpr (warps > 1) {
      if (lane() == 0) shared_.of_warps[own_warp()] = largest;
      sync();
#pragma unroll
      for (int i = 0; i < warps; ++i)
        if (shared_.of_warps[i] > largest) largest = shared_.of_warps[i];
    }
    return largest;
  }
  __device__ __forceinline__ static std::uint32_t lesser(std::uint32_t a, std::uint32_t b) {
    return a < b ? a : b;
  }

  // Leaves the pieces of the block's rows in the workspace; what its note says.
  template <bool of_v>
  __device__ __forceinline__ std::uint32_t split(std::int64_t index) const {
    std::uint32_t least = ~0u;
    const std::uint32_t largest = find_largest<of_v>(least);
    const int scale = kw::split::fp16_scale(largest);
    const bool holds = scale_holds(scale);
    char* const to =
        params_.workspace + (of_v ? params_.layout.v : params_.layout.k) + index * block_bytes(dim);
    const float factor = kw::split::power_of_two(holds ? scale : 0);
    if constexpr (of_v)
      write_columns(to, factor, least);
    else
      write_rows(to, factor);
    global_writes_before_copies();
    if (!holds || (of_v && !is_even(largest, least))) params_.take_fp32();
    return largest | is_split;
  }
  // Whether each of V's keys and each of its columns has an element that is not small beside the
  // block's largest, or has none at all: only then may small ones lose bits. `least` is that of the
  // least of those that the thread answers for, less 1.
  __device__ __forceinline__ static bool is_even(std::uint32_t largest, std::uint32_t least) {
    return largest <= (15u << 23) || least >= largest - (15u << 23) - 1;
  }
  __device__ __forceinline__ void write_rows(char* to, float factor) const {
    to += chunk_at(block_rows, lane() % 8, lane() / 8, 0);
    const float* const from = own_row();
    for_groups([&](int group, int i) {
      float x[8];
      load_floats(x, from + group * group_stride + i * warp_lanes);
      write(to + chunk_at(block_rows, group * 8, 4 * i, 0), x, factor);
    });
  }
  __device__ __forceinline__ void write_columns(char* to, float factor,
                                                std::uint32_t& least) const {
    to += chunk_at(dim, lane(), 0, 0);
    // Of a lane's columns, where no other warp has rows of the block.
    float of_columns[warps == 1 ? of_lane : 1] = {};
    const float* const from = raw() + lane();
    std::uint32_t* const of_column = shared_.of_columns + lane();
    for_groups([&](int group, int i) {
      float x[8];
      read_column(from + group * group_stride + i * warp_lanes, x);
      if constexpr (warps == 1)
        of_columns[i] = larger_size(of_columns[i], x);
      else
        atomicMax(of_column + warp_lanes * i, __float_as_uint(larger_size(0, x)));
      write(to + chunk_at(dim, warp_lanes * i, group, 0), x, factor);
    });
    if constexpr (warps == 1) {
#pragma unroll
      for (const float largest : of_columns) least = lesser(least, __float_as_uint(largest) - 1);
    } else {
      sync();
      for (int i = tid(); i < dim; i += team) least = lesser(least, shared_.of_columns[i] - 1);
    }
  }
  __device__ __forceinline__ static void write(char* to, const float (&x)[8], float factor) {
    std::uint32_t high[4], low[4];
#pragma unroll
    for (int e = 0; e < 4; ++e)
      kw::split::split_fp16_as_it_is(x[2 * e] * factor, x[2 * e + 1] * factor, high[e], low[e]);
    *reinterpret_cast<uint4*>(to) = make_uint4(high[0], high[1], high[2], high[3]);
    *reinterpret_cast<uint4*>(to + chunk_at(block_rows, 0, 0, 1)) =
        make_uint4(low[0], low[1], low[2], low[3]);
  }

  Shared& shared_;
  const SplitParams& params_;
  int team_;
  unsigned taken_ = 0;
};

}  // namespace KW_TARGET::attention_split
