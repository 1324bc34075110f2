// cgemm_four and cgemm_turned: complex products whose elements a pass puts together behind a real
// product of sgemm's kernels.
//
// Idea        See assembled.hpp. real_product.cu writes B anew, four times the work of reading it:
//             that is most of the time where B is large and A is not, and an A that lies across k
//             it copies, too. Here a large operand stays as it is, and the passes read and write
//             the small one and C.
// Prediction  A quarter less than tiles where one side is a hundred and k long.
// Limits      C is written twice or more: k has to be long. One product, no batch, no triangle.
#include <algorithm>
#include <optional>
#include <utility>

#include "cgemm/assembled.hpp"
#include "cgemm/finish.hpp"
#include "cgemm/production.hpp"
#include "cgemm/real_kernels.hpp"
#include "device/overlap.hpp"
#include "select.hpp"

namespace KW_TARGET {
namespace {

constexpr int threads = 256, warps = threads / 32;

// --- the passes

struct PlanesParams {
  const Complex* from;
  std::int64_t ld, k;
  float* to;
  PartedOperand planes;
};

// Of each element the real part goes to the first plane, the imaginary one to the second. A warp
// has a row; zeros fill it up to its end.
__global__ void __launch_bounds__(threads)
    take_apart(__grid_constant__ const PlanesParams a, __grid_constant__ const PlanesParams b) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const std::int64_t of_a = a.planes.is_planes ? a.planes.extent : 0;
  const std::int64_t of_b = b.planes.is_planes ? b.planes.extent : 0;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  for (std::int64_t line = blockIdx.x; line < of_a + of_b; line += gridDim.x) {
    const PlanesParams& params = line < of_a ? a : b;
    const std::int64_t row = line < of_a ? line : line - of_a;
    const Complex* const from = params.from + row * params.ld;
    float* const real = params.to + row * params.planes.ld;
    float* const imaginary = real + params.planes.extent * params.planes.ld;
    for (std::int64_t k = warp * 32 + lane; k < params.planes.ld; k += threads) {
      const Complex z = k < params.k ? from[k] : Complex{0, 0};
      real[k] = z.re;
      imaginary[k] = z.im;
    }
  }
}

struct AddUpParams {
  Cgemm problem;
  FourProducts four;
  const float* result;
};

// A row of C is a block's, and a warp's elements are neighbours.
__global__ void __launch_bounds__(threads) add_up_four(__grid_constant__ const AddUpParams params) {
  wait_for_previous_kernel();
  let_next_kernel_start();
  const Cgemm& p = params.problem;
  const FourProducts& four = params.four;
  const Finish finish(p);
  const float sign_a = p.conj_a ? -1.0f : 1.0f, sign_b = p.conj_b ? -1.0f : 1.0f;
  const std::int64_t across = ceil_div(p.n, threads);
  for (std::int64_t tile = blockIdx.x; tile < across * p.m; tile += gridDim.x) {
    const std::int64_t i = tile / across, j = (tile - i * across) * threads + threadIdx.x;
    if (j >= p.n) continue;
    const float* const real = params.result + four.a.at(i, 0) * four.ld;
    const float* const imaginary = params.result + four.a.at(i, 1) * four.ld;
    const std::int64_t re = four.b.at(j, 0), im = four.b.at(j, 1);
    const float2 sum = make_float2(fmaf(-sign_a * sign_b, imaginary[im], real[re]),
                                   fmaf(sign_b, real[im], sign_a * imaginary[re]));
    finish.store(p, p.c, i, j, sum, false);
  }
}

constexpr int turn = 32;  // elements each way of a tile that is transposed

// C of its transpose, by tiles that lie in shared memory in between.
__global__ void __launch_bounds__(threads)
    transpose_to_c(__grid_constant__ const Cgemm p, const Complex* from, std::int64_t ld) {
  __shared__ float2 tile[turn][turn + 1];
  wait_for_previous_kernel();
  let_next_kernel_start();
  const Finish finish(p);
  const int lane = static_cast<int>(threadIdx.x) % turn;
  const int line = static_cast<int>(threadIdx.x) / turn;
  const std::int64_t across = ceil_div(p.n, turn);
  const std::int64_t row0 = blockIdx.x / across * turn, col0 = blockIdx.x % across * turn;
#pragma unroll
  for (int i = line; i < turn; i += warps)
    if (col0 + i < p.n && row0 + lane < p.m) {
      const Complex z = from[(col0 + i) * ld + row0 + lane];
      tile[i][lane] = make_float2(z.re, z.im);
    }
  __syncthreads();
#pragma unroll
  for (int i = line; i < turn; i += warps)
    if (row0 + i < p.m && col0 + lane < p.n)
      finish.store(p, p.c, row0 + i, col0 + lane, tile[lane][i], false);
}

constexpr std::int64_t most_blocks = 2048;
unsigned some_blocks(std::int64_t wanted) {
  return static_cast<unsigned>(std::clamp<std::int64_t>(wanted, 1, most_blocks));
}

// --- four

// Where predictions are near each other C is written once. Plain FP32 products take so much longer
// than predicted, 60 of them on an NVIDIA H200.
template <Math math>
constexpr double margin = math == Math::fp32 ? 1.02 : 1.03;

template <Math math>
std::optional<Plan<Cgemm>> plan_four(const Cgemm& p, const Device& device) {
  if (!can_be_assembled(p)) return std::nullopt;
  auto product = select_kernel(four_real_product(p, nowhere()), device, real_kernels<math>(), math);
  if (!product) return std::nullopt;
  const double passes_us = four_passes_us(p, device);
  Plan<Cgemm> plan;
  plan.time_us = passes_us + product->plan.time_us;
  plan.cost = margin<math> * (passes_us + product->plan.cost);
  plan.workspace_bytes = FourLayout(p).end + product->plan.workspace_bytes;
  plan.parts.push_back(std::move(*product));
  return plan;
}

template <Math math>
Status launch_four(const Cgemm& p, const Device& device, const Plan<Cgemm>& plan,
                   Workspace workspace, Stream stream) {
  char* const base = static_cast<char*>(workspace.data);
  const FourProducts four(p);
  const FourLayout at(p);
  if (four.a.is_planes || four.b.is_planes) {
    const std::int64_t lines = (four.a.is_planes ? p.m : 0) + (four.b.is_planes ? p.n : 0);
    const PlanesParams a{p.a, p.lda, p.k, reinterpret_cast<float*>(base + at.a), four.a};
    const PlanesParams b{p.b, p.ldb, p.k, reinterpret_cast<float*>(base + at.b), four.b};
    Status status = gpu::launch(take_apart,
                                {.grid = dim3(some_blocks(lines)),
                                 .block = dim3(threads),
                                 .stream = stream,
                                 .overlap = true},
                                a, b);
    if (!status.ok()) return status;
  }
  const Workspace rest{base + at.end, workspace.bytes - at.end, workspace.tickets};
  Status status = launch_planned(plan.parts[0], four_real_product(p, base), device, rest, stream);
  if (!status.ok()) return status;
  return gpu::launch(add_up_four,
                     {.grid = dim3(some_blocks(ceil_div(p.n, threads) * p.m)),
                      .block = dim3(threads),
                      .stream = stream,
                      .overlap = true},
                     {p, four, reinterpret_cast<const float*>(base + at.result)});
}

// --- turned

template <Math math>
const Kernel<Cgemm>& real_row() {
  static const KernelList<Cgemm> rows = cgemm_real_rows();
  return rows[math == Math::fp32 ? 0 : 1];
}

template <Math math>
std::optional<Plan<Cgemm>> plan_turned(const Cgemm& p, const Device& device) {
  if (!can_be_assembled(p)) return std::nullopt;
  auto plan = real_row<math>().make_plan(turned_product(p, nowhere()), device);
  if (!plan) return std::nullopt;
  const double pass_us = last_pass_us(p, 8, device);
  plan->time_us += pass_us;
  plan->cost = margin<math> * (plan->cost + pass_us);
  plan->workspace_bytes += turned_bytes(p);
  plan->min_workspace_bytes.reset();
  return plan;
}

template <Math math>
Status launch_turned(const Cgemm& p, const Device& device, const Plan<Cgemm>& planned,
                     Workspace workspace, Stream stream) {
  char* const base = static_cast<char*>(workspace.data);
  const std::size_t own = turned_bytes(p);
  const Cgemm turned = turned_product(p, base);
  Plan<Cgemm> plan = planned;
  plan.workspace_bytes -= own;
  const Workspace rest{base + own, workspace.bytes - own, workspace.tickets};
  Status status = real_row<math>().launch_plan(turned, device, plan, rest, stream);
  if (!status.ok()) return status;
  const std::int64_t tiles = ceil_div<std::int64_t>(p.m, turn) * ceil_div<std::int64_t>(p.n, turn);
  return gpu::launch(transpose_to_c,
                     {.grid = dim3(static_cast<unsigned>(tiles)),
                      .block = dim3(threads),
                      .stream = stream,
                      .overlap = true},
                     p, turned.c, turned.ldc);
}

Kernel<Cgemm> row(const char* name, const char* idea, Math math,
                  decltype(Kernel<Cgemm>::make_plan) make_plan,
                  decltype(Kernel<Cgemm>::launch_plan) launch_plan) {
  return {.name = name,
          .parent = nullptr,
          .idea = idea,
          .role = Role::production,
          .math = math,
          .make_plan = make_plan,
          .launch_plan = launch_plan};
}

}  // namespace

KernelList<Cgemm> cgemm_assembled_rows() {
  constexpr const char* four = "the four real products of parts in one, added up behind it";
  constexpr const char* turned = "cgemm_real of the transpose, turned behind it";
  KernelList<Cgemm> rows = {
      row("cgemm_four", four, Math::fp32, plan_four<Math::fp32>, launch_four<Math::fp32>),
      row("cgemm_turned", turned, Math::fp32, plan_turned<Math::fp32>, launch_turned<Math::fp32>)};
  if constexpr (gpu::has_nvidia_kernels) {
    constexpr Math split = Math::fp32_split;
    rows.push_back(row("cgemm_four_split", "cgemm_four on split products", split, plan_four<split>,
                       launch_four<split>));
    rows.push_back(row("cgemm_turned_split", "cgemm_turned on split products", split,
                       plan_turned<split>, launch_turned<split>));
  }
  return rows;
}

}  // namespace KW_TARGET
