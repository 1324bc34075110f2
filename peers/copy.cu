// A plain copy of rows, beside which row-wise operations are measured: it reads and writes the same
// elements, and computes nothing.
//
// Idea        Rows that follow each other without a gap are copied as one. A thread has up to some
//             packs of 16 bytes at memory's own boundaries, and loads all of them before it stores
//             one; the few elements before a row's first pack and behind its last one are a lane's
//             each. A row is some lanes', or in chunks some blocks'. Blocks have one turn and end,
//             and the device starts the next ones in order, so that what is under way lies close
//             together.
// Launches    As the library's: one begins while the one before ends, asks the L2 cache for what
//             its first blocks read, and, of rows with gaps between them, for the sectors that a
//             row of y has in part.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "rowwise/early.hpp"
#include "rowwise/kernels.hpp"
#include "rowwise/packs.hpp"

namespace KW_TARGET {
namespace {

using rowwise::pack_bytes;

constexpr int copy_least_lanes = 8;
// For which a multiprocessor has registers, by the packs of a thread.
constexpr int copy_threads_of_sm(int packs) { return packs > 2 ? 1536 : 2048; }

// Packs of a thread and threads of a block, the quickest of some forms (results/h200/
// explored-rowwise-copy.txt): of rows that are one, of rows with gaps between them that a pack a
// lane holds, and of longer ones elsewhere than in place and in place. There a third pack is for
// rows that leave little of two: fewer threads are under way then.
struct CopyForm {
  int packs, threads;
};
constexpr CopyForm copy_whole = {1, 256}, copy_short = {1, 256}, copy_apart = {2, 256},
                   copy_in_place = {2, 512}, copy_in_place_of_three = {3, 512};

struct CopyLaunch {
  std::int64_t rows, row_bytes, ldx, ldy;  // in bytes
  unsigned chunks;                         // of a row
  int lanes_log;                           // of the lanes that have a chunk
  int early;                               // blocks that may begin while the launch before ends
  bool asks;                               // for the ends of y's rows
};

// What is read and written in one piece leaves the caches first where it is in place: a copy of 64
// MiB is a fiftieth quicker by that.
template <bool streams>
__device__ __forceinline__ uint4 loaded(const uint4* from) {
#if defined(__CUDA_ARCH__)
  if constexpr (streams) return __ldcs(from);
#endif
  return *from;
}
template <bool streams>
__device__ __forceinline__ void store(uint4* to, const uint4& pack) {
#if defined(__CUDA_ARCH__)
  if constexpr (streams) {
    __stcs(to, pack);
    return;
  }
#endif
  *to = pack;
}

template <class T, int packs, int threads, bool streams>
__global__ void __launch_bounds__(threads, copy_threads_of_sm(packs) / threads)
    copy_rows(const __grid_constant__ Rowwise p, const __grid_constant__ CopyLaunch launch) {
  constexpr int size = static_cast<int>(sizeof(T));
  const auto thread = static_cast<int>(threadIdx.x);
  const int lanes = 1 << launch.lanes_log, lane = thread & (lanes - 1);
  const unsigned rows_before = blockIdx.x / launch.chunks;
  const unsigned chunk = blockIdx.x - rows_before * launch.chunks;
  const std::int64_t row = (std::int64_t{rows_before} * threads + thread) >> launch.lanes_log;
  if (row >= launch.rows) return;
  const char* const x = static_cast<const char*>(p.x) + row * launch.ldx;
  char* const y = static_cast<char*>(p.y) + row * launch.ldy;
  const std::int64_t head =
      std::min<std::int64_t>(-reinterpret_cast<std::uintptr_t>(x) % pack_bytes, launch.row_bytes);
  const std::int64_t row_packs = (launch.row_bytes - head) / pack_bytes;
  const std::int64_t tail = head + row_packs * pack_bytes;
  const std::int64_t begin = std::int64_t{chunk} * (packs * lanes);
  const auto here = static_cast<int>(std::min<std::int64_t>(row_packs - begin, packs * lanes));
  const auto* const from = reinterpret_cast<const uint4*>(x + head) + begin;
  if (static_cast<int>(blockIdx.x) < launch.early && lane == 0 && here > 0)
    rowwise::ask_for(from, std::int64_t{here} * pack_bytes);
  wait_for_previous_kernel();
  let_next_kernel_start();
  if (launch.asks && chunk == 0 && lane < 2)
    prefetch_line_to_l2(lane == 0 ? y : y + launch.row_bytes - 1);

  uint4 pack[packs];
#pragma unroll
  for (int k = 0; k < packs; ++k)
    if (lane + k * lanes < here) pack[k] = loaded<streams>(from + lane + k * lanes);
  // Before the packs are stored, so that no register keeps them.
  constexpr int edges = (rowwise::most_edges_of<T> + copy_least_lanes - 1) / copy_least_lanes;
  const auto head_bytes = static_cast<int>(head);
  const int edge_bytes = chunk == 0 ? head_bytes + static_cast<int>(launch.row_bytes - tail) : 0;
  const auto edge_at = [&](int k) {
    const int at = (lane + k * lanes) * size;
    return at < head_bytes ? at : tail + (at - head_bytes);
  };
  T edge[edges];
#pragma unroll
  for (int k = 0; k < edges; ++k)
    if ((lane + k * lanes) * size < edge_bytes)
      edge[k] = *reinterpret_cast<const T*>(x + edge_at(k));
#pragma unroll
  for (int k = 0; k < edges; ++k)
    if ((lane + k * lanes) * size < edge_bytes) *reinterpret_cast<T*>(y + edge_at(k)) = edge[k];
  auto* const to = reinterpret_cast<uint4*>(y + head) + begin;
#pragma unroll
  for (int k = 0; k < packs; ++k)
    if (lane + k * lanes < here) store<streams>(to + lane + k * lanes, pack[k]);
}

bool copies(const Rowwise& p, const Device&) {
  return rowwise::is_plain(p) && p.rows > 0 && p.cols > 0;
}

bool has_gaps(const Rowwise& p) { return p.rows > 1 && (p.ldx != p.cols || p.ldy != p.cols); }

// Lanes that have a row, or a chunk of one, as a power of two.
int lanes_log(std::int64_t row_packs, const CopyForm& form) {
  int log = 0;
  while (1 << log < form.threads &&
         (1 << log < copy_least_lanes || std::int64_t{form.packs} << log < row_packs))
    ++log;
  return log;
}

template <const CopyForm& form, bool streams = false>
Status launch_copy(const Rowwise& p, const Device& device, Stream stream) {
  const auto size = static_cast<std::int64_t>(size_of(p.type));
  const std::int64_t rows = has_gaps(p) ? p.rows : 1;
  const std::int64_t row_bytes = p.row_bytes() * (p.rows / rows);
  const std::int64_t row_packs = row_bytes / pack_bytes;
  const int log = lanes_log(row_packs, form);
  const std::int64_t chunks =
      std::max<std::int64_t>(ceil_div(row_packs, std::int64_t{form.packs} << log), 1);
  const std::int64_t blocks = ceil_div(rows << log, std::int64_t{form.threads}) * chunks;
  if (blocks > std::numeric_limits<std::int32_t>::max())
    return Status::failure(StatusCode::device_error, "copy: more blocks than a launch has");
  const CopyLaunch launch = {
      .rows = rows,
      .row_bytes = row_bytes,
      .ldx = p.ldx * size,
      .ldy = p.ldy * size,
      .chunks = static_cast<unsigned>(chunks),
      .lanes_log = log,
      .early = device.sm_count * (copy_threads_of_sm(form.packs) / form.threads),
      .asks = has_gaps(p) && p.x != p.y};
  const gpu::LaunchConfig config = {.grid = dim3(static_cast<unsigned>(blocks)),
                                    .block = dim3(form.threads),
                                    .stream = stream,
                                    .overlap = true};
  return size == 4
             ? gpu::launch(copy_rows<float, form.packs, form.threads, streams>, config, p, launch)
             : gpu::launch(copy_rows<float16, form.packs, form.threads, streams>, config, p,
                           launch);
}

Status copy(const Rowwise& p, const Device& device, Workspace, Stream stream) {
  const bool in_place = p.x == p.y;
  if (!has_gaps(p))
    return in_place ? launch_copy<copy_whole, true>(p, device, stream)
                    : launch_copy<copy_whole>(p, device, stream);
  const std::int64_t row_packs = p.row_bytes() / pack_bytes;
  if (row_packs <= copy_least_lanes) return launch_copy<copy_short>(p, device, stream);
  if (!in_place) return launch_copy<copy_apart>(p, device, stream);
  const bool fills_two = 2 * row_packs > std::int64_t{3} << lanes_log(row_packs, copy_in_place);
  return fills_two ? launch_copy<copy_in_place_of_three>(p, device, stream)
                   : launch_copy<copy_in_place>(p, device, stream);
}

}  // namespace

KernelList<Rowwise> rowwise_copy() {
  return {{"copy", nullptr, "a plain copy of the same rows", Role::peer, Math::fp32, copies,
           no_workspace<Rowwise>, copy}};
}

}  // namespace KW_TARGET
