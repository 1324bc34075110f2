// The rates that predictions of distributed products stand on, each with the measurement that it
// comes from. Change a figure together with its source.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "kernelwright/math.hpp"

namespace kw::distributed {

// Of one GPU, back to back: a square of `edge` at so many TFLOP/s.
struct ProductRate {
  double edge;
  double tflops;
  const char* source;
};

// NVIDIA H200, the library's choice, a whole call. At 700 W the split kernels' clock falls to
// 1.4 GHz, so that rates of short runs are higher; from 24576 on a call works in slices.
inline constexpr std::array split_rates = {
    ProductRate{1024, 73.5, "results/h200/sgemm-squares.json"},
    ProductRate{2048, 160, "two H200, version 0.1.0, sustained for 5 s"},
    ProductRate{4096, 190, "results/h200/sgemm-sustained.json"},
    ProductRate{8192, 206, "results/h200x2/first-run.json, one_gpu_us"},
    ProductRate{16384, 213, "results/h200x2/first-run.json, one_gpu_us"},
    ProductRate{24576, 200, "results/h200x2/first-run.json, one_gpu_us"},
    ProductRate{32768, 192, "results/h200x2/first-run.json, one_gpu_us"},
};
inline constexpr std::array fp32_rates = {
    ProductRate{1024, 43.6, "results/h200/sgemm-squares.json"},
    ProductRate{2048, 52.1, "results/h200/sgemm-squares.json"},
    ProductRate{4096, 56.0, "results/h200/sgemm-squares.json"},
    ProductRate{8192, 55.3, "results/h200x2/first-run-fp32.json, one_gpu_us"},
    ProductRate{16384, 54.2, "results/h200x2/first-run-fp32.json, one_gpu_us"},
    ProductRate{32768, 55.2, "results/h200x2/first-run-fp32.json, one_gpu_us"},
};
// One of several products that follow each other in a distributed call: products_us of both files,
// less what the model counts apart.
inline constexpr std::array split_step_rates = {
    ProductRate{1024, 73.5, "as a whole call"},
    ProductRate{2048, 160, "as a whole call"},
    ProductRate{4096, 188, "results/h200x2/first-run.json, of 5160"},
    ProductRate{5160, 194, "results/h200x2/first-run.json, 8192 on two"},
    ProductRate{10321, 204, "results/h200x2/first-run.json, 16384 on two"},
    ProductRate{16384, 203, "results/h200x2/first-run.json, 16384x65536x16384 and others on two"},
    ProductRate{32768, 203, "results/h200x2/first-run.json, 65536x65536x32768 on two"},
};
inline constexpr std::array fp32_step_rates = {
    ProductRate{1024, 43.6, "as a whole call"},
    ProductRate{2048, 52.1, "as a whole call"},
    ProductRate{5160, 54.0, "results/h200x2/first-run-fp32.json, 8192 on two"},
    ProductRate{10321, 54.0, "results/h200x2/first-run-fp32.json, 16384 and others on two"},
    ProductRate{20643, 55.2, "results/h200x2/first-run-fp32.json, 32768 on two"},
};

struct Rate {
  double value;
  const char* source;
};

// From GPU to GPU of one host, 18 links of NVLink, one direction.
inline constexpr Rate peer_gbs = {389, "two H200, copies of 1 GiB"};
// From host to host, for each GPU.
inline constexpr Rate network_gbs = {45, "not measured: one adapter of 400 Gbit/s a GPU"};
// Of the time of a copy, so much is lost to the products beside it, for memory and power.
inline constexpr Rate copy_share = {0.7, "results/h200x2/first-run.json: 29 ms of 39, all shapes"};
// A second product into the same C reads and writes it; half of that is hidden.
inline constexpr Rate memory_gbs = {4000, "results/h200: read bandwidth"};
// Of a step on the host and the device: events, launches.
inline constexpr Rate step_us = {30, "results/h200: five launches, and two events"};

// One GPU's rate at the edge of the cube with as many multiplications; below the table it falls
// with the edge, beyond it stays.
template <std::size_t N>
double interpolated(const std::array<ProductRate, N>& table, double edge) {
  if (edge <= table.front().edge) return table.front().tflops * edge / table.front().edge;
  for (std::size_t i = 1; i < N; ++i) {
    if (edge > table[i].edge) continue;
    const double part =
        std::log(edge / table[i - 1].edge) / std::log(table[i].edge / table[i - 1].edge);
    return table[i - 1].tflops + part * (table[i].tflops - table[i - 1].tflops);
  }
  return table.back().tflops;
}

inline double product_tflops(Math math, double m, double n, double k, bool is_step = false) {
  const double edge = std::cbrt(m * n * k);
  if (math == Math::fp32_split) {
    return is_step ? interpolated(split_step_rates, edge) : interpolated(split_rates, edge);
  }
  return is_step ? interpolated(fp32_step_rates, edge) : interpolated(fp32_rates, edge);
}

}  // namespace kw::distributed
