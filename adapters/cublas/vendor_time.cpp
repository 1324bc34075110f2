// The table of GPU models, and the prediction: cuBLAS is taken to cut C into tiles of the shape
// that is quickest, and k into parts where that is quicker yet.
#include "vendor_time.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kw::cublas {

namespace {

struct Tile {
  double m, n;
};
constexpr Tile tiles[] = {{256, 128}, {128, 256}, {128, 128}, {256, 64}, {64, 256}, {128, 64},
                          {64, 128},  {64, 64},   {128, 32},  {32, 128}, {32, 32},  {16, 16},
                          {256, 8},   {8, 256},   {64, 16},   {16, 64}};
constexpr std::size_t tile_count = sizeof tiles / sizeof tiles[0];
constexpr double parts_of_k[] = {1, 2, 3, 4, 6, 8, 12, 16, 32, 64};
constexpr double least_part_of_k = 16;
// Operands of fewer bytes come from the cache.
constexpr double cached_bytes = 40e6;

}  // namespace

// Times in microseconds.
struct VendorTimes {
  const char* device;  // the whole name
  double multiprocessors;
  double fma_per_us;                                 // of a multiprocessor
  double start;                                      // of a launch
  double output;                                     // an element of a tile, once
  double step;                                       // of k, at least
  double more_k;                                     // steps that a tile takes beside its own
  double memory, cache;                              // bytes a microsecond
  double split;                                      // to add up parts of k
  double vector_start, vector_memory, vector_cache;  // where C is one row or column
  // By op_a and op_b (NN, NT, TN, TT): what a step takes longer; where lines begin at multiples of
  // 16 bytes, and elsewhere.
  double aligned[4], unaligned[4];
  double share_of_peak[tile_count];  // that a tile reaches
};

namespace {

// tools/fit_cublas_time.py prints these.
constexpr VendorTimes all_times[] = {
    {.device = "NVIDIA H200",
     .multiprocessors = 132,
     .fma_per_us = 128 * 1980,
     .start = 1.961,
     .output = 0.0001288,
     .step = 0.01723,
     .more_k = 11.29,
     .memory = 2.105e+06,
     .cache = 2.083e+06,
     .split = 4.29,
     .vector_start = 2.63,
     .vector_memory = 3.734e+06,
     .vector_cache = 4.839e+06,
     .aligned = {1.279, 1.3, 1.267, 1.231},
     .unaligned = {1.313, 1.257, 1.308, 1.294},
     .share_of_peak = {0.9941, 0.9831, 0.7071, 0.9455, 0.8998, 0.6367, 0.8959, 0.8756, 0.5667,
                       0.7617, 0.5034, 0.2197, 0.1664, 0.1659, 0.1863, 0.261}},
    {.device = "NVIDIA H100 80GB HBM3",
     .multiprocessors = 132,
     .fma_per_us = 128 * 1980,
     .start = 1.991,
     .output = 0.0001575,
     .step = 0.01747,
     .more_k = 10.16,
     .memory = 1.83e+06,
     .cache = 1.757e+06,
     .split = 4.3,
     .vector_start = 2.427,
     .vector_memory = 2.768e+06,
     .vector_cache = 3.117e+06,
     .aligned = {1.247, 1.296, 1.284, 1.2},
     .unaligned = {1.34, 1.263, 1.328, 1.293},
     .share_of_peak = {0.4122, 0.722, 0.6514, 0.7127, 0.9004, 0.9551, 0.7321, 0.8798, 0.5258,
                       0.7787, 0.4935, 0.2056, 0.1532, 0.1219, 0.1217, 0.3844}},
};

double tile_time(const VendorTimes& t, const VendorShape& p, std::size_t which, double parts,
                 double op_factor, double memory_time) {
  const Tile& tile = tiles[which];
  const double blocks = std::ceil(p.m / tile.m) * std::ceil(p.n / tile.n) * p.batch * parts;
  const double rounds = std::ceil(blocks / t.multiprocessors);
  const double outputs = tile.m * tile.n;
  const double step = outputs / (t.fma_per_us * t.share_of_peak[which]) * op_factor;
  const double sums = (std::ceil(p.k / parts) + t.more_k) * std::max(rounds * step, t.step) +
                      rounds * t.output * outputs;
  return t.start + std::max(sums, memory_time) + (parts > 1 ? t.split : 0);
}

}  // namespace

VendorShape vendor_shape(const Product& p) {
  VendorShape shape;
  const bool ta = p.op_a != KW_OP_NONE, tb = p.op_b != KW_OP_NONE;
  // A row-major product is the column-major one of B and A.
  const bool swapped = p.layout == KW_ROW_MAJOR;
  shape.transposed_a = swapped ? tb : ta;
  shape.transposed_b = swapped ? ta : tb;
  shape.m = static_cast<double>(swapped ? p.n : p.m);
  shape.n = static_cast<double>(swapped ? p.m : p.n);
  shape.k = static_cast<double>(p.k);
  shape.batch = static_cast<double>(p.batch);
  shape.aligned = p.lda % 4 == 0 && p.ldb % 4 == 0;
  // A complex product has the operations of a real one with twice the rows and columns.
  if (p.is_complex) shape.m *= 2, shape.n *= 2;
  return shape;
}

const VendorTimes* vendor_times_of(const std::string& device_name) {
  for (const VendorTimes& times : all_times) {
    if (device_name == times.device) return &times;
  }
  return nullptr;
}

double predict_vendor_us(const VendorTimes& t, const VendorShape& p) {
  const double bytes = 4 * p.batch * (p.m * p.k + p.k * p.n + p.m * p.n);
  const bool cached = bytes < cached_bytes;
  if ((p.m == 1 || p.n == 1) && p.batch == 1) {
    return t.vector_start + bytes / (cached ? t.vector_cache : t.vector_memory);
  }
  const int ops = (p.transposed_a ? 2 : 0) + (p.transposed_b ? 1 : 0);
  const double op_factor = p.aligned ? t.aligned[ops] : t.unaligned[ops];
  const double memory_time = bytes / (cached ? t.cache : t.memory);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t which = 0; which < tile_count; ++which) {
    for (const double parts : parts_of_k) {
      if (parts > 1 && p.k < least_part_of_k * parts) break;
      least = std::min(least, tile_time(t, p, which, parts, op_factor, memory_time));
    }
  }
  return least;
}

double predict_grouped_us(const VendorTimes& t, const std::vector<Product>& groups) {
  constexpr double start_us = 11, tile = 128, begin_k = 32, share_of_peak = 0.7, share_alone = 0.78;
  const double step_us = tile * tile / t.fma_per_us;  // of a tile, for one of k
  double steps = 0, longest = 0;
  for (const Product& p : groups) {
    const double of_group = std::ceil(static_cast<double>(p.m) / tile) *
                            std::ceil(static_cast<double>(p.n) / tile) *
                            static_cast<double>(p.batch);
    const auto k = static_cast<double>(p.k);
    steps += of_group * (k + begin_k);
    if (of_group > 0) longest = std::max(longest, k);
  }
  return start_us + step_us * (steps / t.multiprocessors / share_of_peak + longest / share_alone);
}

double predict_factor_us(const Product& p) {
  const FactorTime& t = p.triangle == Triangle::upper ? any_upper
                        : p.n <= few_rows             ? few_lower
                                                      : many_lower;
  const auto n = static_cast<double>(p.n);
  return t.each_us * n + n * n * n / 3 / t.flops_per_us;
}

double predict_vendor_us(const VendorTimes& times, const Product& product) {
  if (product.routine == Routine::potrf) return predict_factor_us(product);
  const double real_us = predict_vendor_us(times, vendor_shape(product));
  const RoutineTime t = time_of_routine(product.routine);
  if (product.is_complex) {
    const double rows_us = product.routine == Routine::trsm
                               ? complex_row_us(product.on_right) * static_cast<double>(product.k)
                               : 0;
    return complex_share * t.share * real_us + rows_us;
  }
  const bool by_a = product.routine == Routine::trmm || product.routine == Routine::trsm;
  const auto rows = static_cast<double>(by_a ? product.k : product.m);
  return t.share * real_us + std::min(t.each_us * rows, t.most_us);
}

}  // namespace kw::cublas
