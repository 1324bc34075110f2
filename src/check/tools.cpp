// The check's work in host memory, and the choice of the table for a device.
#include "check/tools.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "arithmetic.hpp"
#include "check/each.hpp"

// The float64 product is most of a check's time on a CPU: compile it for what the machine has.
// Sanitizers instrument the dispatcher, which runs before they are ready.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define KW_FOR_EVERY_CPU __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define KW_FOR_EVERY_CPU
#endif

namespace kw::check {
namespace {

constexpr int tile_rows = 4;
constexpr int tile_cols = 8;

// sum[i][j] = sum over p of a[p][i] * b[p][j]: a product of two floats is exact in a double.
KW_FOR_EVERY_CPU void multiply_tile(const double* __restrict a, const double* __restrict b,
                                    std::int64_t k, double* __restrict sum) {
  double acc[tile_rows][tile_cols] = {};
  for (std::int64_t p = 0; p < k; ++p) {
    for (int i = 0; i < tile_rows; ++i) {
      for (int j = 0; j < tile_cols; ++j) {
        acc[i][j] += a[p * tile_rows + i] * b[p * tile_cols + j];
      }
    }
  }
  for (int i = 0; i < tile_rows; ++i) {
    for (int j = 0; j < tile_cols; ++j) sum[i * tile_cols + j] = acc[i][j];
  }
}

// `count` vectors of length k side by side, [p][vector], as doubles; zero beyond `present`.
struct Panel {
  std::vector<double> values;
  std::vector<double> magnitudes;

  void pack(const float* from, std::int64_t step, std::int64_t k_step, std::int64_t present,
            int count, std::int64_t k) {
    values.assign(static_cast<std::size_t>(k * count), 0.0);
    magnitudes.assign(static_cast<std::size_t>(k * count), 0.0);
    for (std::int64_t p = 0; p < k; ++p) {
      for (std::int64_t i = 0; i < std::min<std::int64_t>(present, count); ++i) {
        const double value = from[i * step + p * k_step];
        values[static_cast<std::size_t>(p * count + i)] = value;
        magnitudes[static_cast<std::size_t>(p * count + i)] = std::fabs(value);
      }
    }
  }
};

// Columns [begin, end), a panel of B at a time against all of A.
void oracle_columns(const Oracle& o, const std::vector<Panel>& a_panels, std::int64_t begin,
                    std::int64_t end) {
  Panel b;
  double sum[tile_rows * tile_cols];
  double magnitude[tile_rows * tile_cols];
  for (std::int64_t col = begin; col < end; col += tile_cols) {
    const std::int64_t cols = std::min<std::int64_t>(tile_cols, end - col);
    b.pack(o.b + col * o.b_col_step, o.b_col_step, o.b_row_step, cols, tile_cols, o.k);
    for (std::int64_t row = 0; row < o.m; row += tile_rows) {
      const Panel& a = a_panels[static_cast<std::size_t>(row / tile_rows)];
      multiply_tile(a.values.data(), b.values.data(), o.k, sum);
      multiply_tile(a.magnitudes.data(), b.magnitudes.data(), o.k, magnitude);
      for (std::int64_t i = 0; i < std::min<std::int64_t>(tile_rows, o.m - row); ++i) {
        for (std::int64_t j = 0; j < cols; ++j) {
          const std::int64_t at = (row + i) * o.n + col + j;
          o.product[at] = sum[i * tile_cols + j];
          o.magnitude[at] = magnitude[i * tile_cols + j];
        }
      }
    }
  }
}

Status oracle(const Oracle& o, Stream) {
  std::vector<Panel> a_panels(static_cast<std::size_t>(ceil_div(o.m, tile_rows)));
  for (std::int64_t row = 0; row < o.m; row += tile_rows) {
    a_panels[static_cast<std::size_t>(row / tile_rows)].pack(
        o.a + row * o.a_row_step, o.a_row_step, o.a_col_step, o.m - row, tile_rows, o.k);
  }
  parallel_ranges(
      o.n, threads_for(o.m * o.n * (o.k + 1)),
      [&](int, std::int64_t begin, std::int64_t end) { oracle_columns(o, a_panels, begin, end); });
  return Status::success();
}

}  // namespace

Oracle make_oracle(const Sgemm& p, double* product, double* magnitude) {
  const bool a_plain = p.op_a == Op::none;
  const bool b_plain = p.op_b == Op::none;
  return {p.m,
          p.n,
          p.loop_k(),
          p.a,
          a_plain ? p.lda : 1,
          a_plain ? 1 : p.lda,
          p.b,
          b_plain ? p.ldb : 1,
          b_plain ? 1 : p.ldb,
          product,
          magnitude};
}

double cpu_oracle_bytes(std::int64_t m, std::int64_t n, std::int64_t k) {
  const auto number = [](std::int64_t value) { return static_cast<double>(value); };
  const double panels = number((m + tile_rows - 1) / tile_rows) * tile_rows +
                        std::min(number(cpu_threads()), number(n)) * tile_cols;
  return 2 * sizeof(double) * panels * number(k);
}

const Tools& cpu_tools() {
  static const Tools table = {run_each<FillMatrix>,
                              oracle,
                              run_judge<JudgeUnchanged>,
                              run_judge<JudgeSgemm>,
                              run_judge<JudgeScaleAdd>,
                              run_each<FillDrawn>,
                              run_each<OneSum>,
                              run_judge<JudgeDrawn>,
                              run_each<CopyWhole>,
                              run_judge<JudgeSolve>,
                              run_judge<JudgeFactor>,
                              run_judge<JudgeCgemm>,
                              run_judge<JudgeComplexSolve>,
                              run_each<FillHeads>,
                              run_judge<LargestOfHeads>,
                              run_each<AttentionScores>,
                              run_each<AttentionWeights>,
                              run_each<AttentionSums>,
                              run_judge<JudgeAttention>};
  return table;
}

const Tools& tools_for([[maybe_unused]] const Device& device) {
#ifdef KW_HAVE_CUDA
  if (device.kind == DeviceKind::cuda) return on_cuda::check::tools();
#endif
#ifdef KW_HAVE_HIP
  if (device.kind == DeviceKind::hip) return on_hip::check::tools();
#endif
  return cpu_tools();
}

}  // namespace kw::check
