// The split pass of r17 to r21: reads A and B once (twice for fp16, whose scales need the largest
// element of each row first) and writes their pieces.
//
// Prediction  A copy at memory bandwidth: 4 bytes in and 2 to 6 out an element. At 4096 134 MB in,
//             67 to 201 MB out: 50 to 90 us, beside 0.2 to 1.1 ms of products.
#include "pieces.hpp"

#include <algorithm>
#include <bit>

namespace KW_TARGET::pieces {

constexpr int threads = 256;  // one for each 8 elements of a stage's 64 rows x 32
constexpr int chunk_k = 8;

// The thread's 8 elements of a stage. Neighbouring threads lie next to each other in memory: along
// k in A, along the rows (n) in B.
struct Chunk {
  int row_in_block, k_in_stage;
  __device__ explicit Chunk(bool is_b) {
    const int thread = static_cast<int>(threadIdx.x);
    row_in_block = is_b ? thread % block_rows : thread / 4;
    k_in_stage = (is_b ? thread / block_rows : thread % 4) * chunk_k;
  }
  __device__ void load(const Work& work, bool is_b, std::int64_t block, std::int64_t stage,
                       float (&x)[chunk_k]) const {
    const PlainSgemm& p = work.problem;
    const Image& image = is_b ? work.b : work.a;
    const std::int64_t row = block * block_rows + row_in_block, k = stage * stage_k + k_in_stage;
    const float* at = is_b ? p.b + k * p.ldb + row : p.a + row * p.lda + k;
    const std::int64_t step = is_b ? p.ldb : 1;
    const std::int64_t valid = row < image.rows ? image.k - k : 0;
    if (!is_b && valid >= chunk_k && p.lda % 4 == 0 &&
        reinterpret_cast<std::uintptr_t>(p.a) % 16 == 0) {
      const float4* const vectors = reinterpret_cast<const float4*>(at);
      const float4 first = vectors[0], second = vectors[1];
      x[0] = first.x, x[1] = first.y, x[2] = first.z, x[3] = first.w;
      x[4] = second.x, x[5] = second.y, x[6] = second.z, x[7] = second.w;
      return;
    }
#pragma unroll
    for (int i = 0; i < chunk_k; ++i) x[i] = i < valid ? at[i * step] : 0.0f;
  }
};

__device__ __forceinline__ void split_pair(float first, float second, split::Pair (&to)[1]) {
  to[0] = split::to_bf16_pair(first, second);
}
__device__ __forceinline__ void split_pair(float first, float second, split::Pair (&to)[3]) {
  split::split_bf16(first, second, to);
}
__device__ __forceinline__ void split_pair(float first, float second, split::Pair (&to)[2]) {
  split::split_fp16(first, second, to);
}

// The scale of a row, from what find_sizes wrote.
__device__ __forceinline__ int scale_of(const Image& image, std::int64_t row) {
  if (row >= image.rows) return 0;
  std::uint32_t largest = 0;
  for (int s = 0; s < slices; ++s) {
    const std::uint32_t size = image.sizes[s * image.rows + row];
    if (size > largest) largest = size;
  }
  return split::fp16_scale(largest);
}

// A block writes a stage of 64 rows.
template <Form form>
__global__ void __launch_bounds__(threads) split_operands(Work work) {
  constexpr int pieces = pieces_of(form);
  const std::int64_t of_a = work.a.blocks * work.a.stages;
  const bool is_b = blockIdx.x >= of_a;
  const Image& image = is_b ? work.b : work.a;
  const std::int64_t index = blockIdx.x - (is_b ? of_a : 0);
  const std::int64_t block = is_b ? index % image.blocks : index / image.stages;
  const std::int64_t stage = is_b ? index / image.blocks : index % image.stages;
  const Chunk own(is_b);
  float x[chunk_k];
  own.load(work, is_b, block, stage, x);
  if constexpr (form == Form::fp16_2) {
    const std::int64_t row = block * block_rows + own.row_in_block;
    const int scale = scale_of(image, row);
    if (stage == 0 && own.k_in_stage == 0 && row < image.rows) image.scales[row] = scale;
#pragma unroll
    for (int i = 0; i < chunk_k; ++i) x[i] = split::scale(x[i], scale);
  }
  split::Pair words[chunk_k / 2][pieces];
#pragma unroll
  for (int i = 0; i < chunk_k / 2; ++i) split_pair(x[2 * i], x[2 * i + 1], words[i]);
  const int k16 = own.k_in_stage / 16, k8 = own.k_in_stage / 8 % 2;
  char* const to = image.stage(block, stage, pieces) + own.row_in_block / 8 * group_bytes(pieces) +
                   own.row_in_block % 8 * 16;
#pragma unroll
  for (int piece = 0; piece < pieces; ++piece)
    *reinterpret_cast<uint4*>(to + ((k16 * pieces + piece) * 2 + k8) * core_bytes) =
        make_uint4(words[0][piece], words[1][piece], words[2][piece], words[3][piece]);
}

// A block finds the largest sizes of 64 rows over a slice of k.
__global__ void __launch_bounds__(threads) find_sizes(Work work) {
  __shared__ unsigned largest[block_rows];
  const std::int64_t of_a = work.a.blocks * slices;
  const bool is_b = blockIdx.x >= of_a;
  const Image& image = is_b ? work.b : work.a;
  const std::int64_t index = blockIdx.x - (is_b ? of_a : 0);
  const std::int64_t block = index / slices, slice = index % slices;
  const Chunk own(is_b);
  unsigned size = 0;
  for (std::int64_t stage = image.stages * slice / slices;
       stage < image.stages * (slice + 1) / slices; ++stage) {
    float x[chunk_k];
    own.load(work, is_b, block, stage, x);
#pragma unroll
    for (int i = 0; i < chunk_k; ++i) {
      const unsigned bits = __float_as_uint(x[i]) & ~split::sign_bit;
      if (bits > size) size = bits;
    }
  }
  if (threadIdx.x < block_rows) largest[threadIdx.x] = 0;
  __syncthreads();
  atomicMax(&largest[own.row_in_block], size);
  __syncthreads();
  const std::int64_t row = block * block_rows + threadIdx.x;
  if (threadIdx.x < block_rows && row < image.rows)
    image.sizes[slice * image.rows + row] = largest[threadIdx.x];
}

namespace {

// Lays out a packed operand from `at` on and returns where it ends; without a base, only counts.
std::size_t lay_out(Image& image, std::int64_t rows, std::int64_t k, Form form, char* base,
                    std::size_t at) {
  const auto take = [&](std::int64_t bytes) {
    char* const place = base != nullptr ? base + at : nullptr;
    at += (static_cast<std::size_t>(bytes) + 255) / 256 * 256;
    return place;
  };
  image.rows = rows;
  image.k = k;
  image.blocks = ceil_div(rows, block_rows);
  image.stages = ceil_div(k, stage_k);
  image.data = take(image.blocks * image.stages * block_bytes(pieces_of(form)));
  if (form == Form::fp16_2) {
    image.scales = reinterpret_cast<int*>(take(rows * 4));
    image.sizes = reinterpret_cast<std::uint32_t*>(take(slices * rows * 4));
  }
  return at;
}

std::size_t lay_out(Work& work, Form form, char* base) {
  const PlainSgemm& p = work.problem;
  const std::size_t end_of_a = lay_out(work.a, p.m, p.k, form, base, 0);
  return lay_out(work.b, p.n, p.k, form, base, end_of_a);
}

}  // namespace

std::size_t workspace_bytes(const Sgemm& problem, Form form) {
  Work work{problem, {}, {}};
  work.problem.k = problem.loop_k();
  return lay_out(work, form, nullptr);
}

Status prepare(const Sgemm& problem, Form form, const Workspace& workspace, Stream stream,
               Work* work) {
  *work = {problem, {}, {}};
  work->problem.k = problem.loop_k();
  lay_out(*work, form, static_cast<char*>(workspace.data));
  const auto grid = [&](std::int64_t of_a, std::int64_t of_b) {
    return dim3(static_cast<unsigned>(of_a + of_b));
  };
  if (form == Form::fp16_2) {
    Status status = gpu::launch(find_sizes,
                                {.grid = grid(work->a.blocks * slices, work->b.blocks * slices),
                                 .block = dim3(threads),
                                 .stream = stream},
                                *work);
    if (!status.ok()) return status;
  }
  const auto kernel = form == Form::bf16_1   ? split_operands<Form::bf16_1>
                      : form == Form::bf16_3 ? split_operands<Form::bf16_3>
                                             : split_operands<Form::fp16_2>;
  return gpu::launch(
      kernel,
      {.grid = grid(work->a.blocks * work->a.stages, work->b.blocks * work->b.stages),
       .block = dim3(threads),
       .stream = stream},
      *work);
}

}  // namespace KW_TARGET::pieces
