// The rates that predictions of distributed products stand on, each with the measurement that it
// comes from. Change a figure together with its source.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>

#include "kernelwright/math.hpp"

namespace kw::distributed {

// Of one GPU, back to back: a square of `edge` at so many TFLOP/s.
struct ProductRate {
  double edge;
  double tflops;
  const char* source;
};

struct Rate {
  double value;
  const char* source;
};

// NVIDIA H200, the library's choice, a whole call. At 700 W the split kernels' clock falls to
// 1.4 GHz, so that rates of short runs are higher; from 24576 on a call works in slices. The split
// pass is within the rates.
inline constexpr std::array h200_split = {
    ProductRate{1024, 73.5, "results/h200/sgemm-squares.json"},
    ProductRate{2048, 160, "two H200, version 0.1.0, sustained for 5 s"},
    ProductRate{4096, 190, "results/h200/sgemm-sustained.json"},
    ProductRate{8192, 206, "results/h200x2/first-run.json, one_gpu_us"},
    ProductRate{16384, 213, "results/h200x2/first-run.json, one_gpu_us"},
    ProductRate{24576, 200, "results/h200x2/first-run.json, one_gpu_us"},
    ProductRate{32768, 192, "results/h200x2/first-run.json, one_gpu_us"},
};
inline constexpr std::array h200_fp32 = {
    ProductRate{1024, 43.6, "results/h200/sgemm-squares.json"},
    ProductRate{2048, 52.1, "results/h200/sgemm-squares.json"},
    ProductRate{4096, 56.0, "results/h200/sgemm-squares.json"},
    ProductRate{8192, 55.3, "results/h200x2/first-run-fp32.json, one_gpu_us"},
    ProductRate{16384, 54.2, "results/h200x2/first-run-fp32.json, one_gpu_us"},
    ProductRate{32768, 55.2, "results/h200x2/first-run-fp32.json, one_gpu_us"},
};
inline constexpr std::array h200_split_step = {
    ProductRate{1024, 73.5, "as a whole call"},
    ProductRate{2048, 160, "as a whole call"},
    ProductRate{4096, 188, "results/h200x2/first-run.json, of 5160"},
    ProductRate{5160, 194, "results/h200x2/first-run.json, 8192 on two"},
    ProductRate{10321, 204, "results/h200x2/first-run.json, 16384 on two"},
    ProductRate{16384, 203, "results/h200x2/first-run.json, 16384x65536x16384 and others on two"},
    ProductRate{32768, 203, "results/h200x2/first-run.json, 65536x65536x32768 on two"},
};
inline constexpr std::array h200_fp32_step = {
    ProductRate{1024, 43.6, "as a whole call"},
    ProductRate{2048, 52.1, "as a whole call"},
    ProductRate{5160, 54.0, "results/h200x2/first-run-fp32.json, 8192 on two"},
    ProductRate{10321, 54.0, "results/h200x2/first-run-fp32.json, 16384 and others on two"},
    ProductRate{20643, 55.2, "results/h200x2/first-run-fp32.json, 32768 on two"},
};

// NVIDIA H100 (80 GB HBM3, 700 W), likewise, of matrices whose lines are aligned; the split pass
// and the ends of tiles are counted apart.
inline constexpr std::array h100_split = {
    ProductRate{1024, 73.5, "as of an H200"},
    ProductRate{2048, 170, "as of an H200, less the split pass"},
    ProductRate{6144, 223.8, "results/h100x2/first-run.json, one_gpu_us"},
    ProductRate{8192, 229.2, "results/h100x2/first-run.json, one_gpu_us"},
    ProductRate{16384, 228.3, "results/h100x2/first-run.json, one_gpu_us"},
    ProductRate{24576, 225.2, "results/h100x2/first-run.json, one_gpu_us"},
    ProductRate{32768, 214.0, "results/h100x2/first-run.json, one_gpu_us"},
};
inline constexpr std::array h100_fp32 = {
    ProductRate{1024, 43.6, "as of an H200"},
    ProductRate{2048, 52.1, "as of an H200"},
    ProductRate{4096, 55.0, "results/h100x2/first-run-fp32.json, one_gpu_us"},
    ProductRate{8192, 56.2, "results/h100x2/first-run-fp32.json, one_gpu_us"},
    ProductRate{16384, 55.7, "results/h100x2/first-run-fp32.json, one_gpu_us"},
};
inline constexpr std::array h100_split_step = {
    ProductRate{1024, 73.5, "as a whole call"},
    ProductRate{2048, 170, "as a whole call"},
    ProductRate{3870, 223.6, "results/h100x2/first-run.json, 6144 on two"},
    ProductRate{5161, 223.5, "results/h100x2/first-run.json, 8192 on two"},
    ProductRate{10321, 226.2, "results/h100x2/first-run.json, 16384 on two, and others"},
    ProductRate{15482, 229.3, "results/h100x2/first-run.json, 24576 on two, and others"},
    ProductRate{20643, 227.6, "results/h100x2/first-run.json, 32768 on two"},
};
inline constexpr std::array h100_fp32_step = {
    ProductRate{1024, 43.6, "as a whole call"},
    ProductRate{2580, 52.4, "results/h100x2/first-run-fp32.json, 4096 on two"},
    ProductRate{5161, 54.5, "results/h100x2/first-run-fp32.json, 8192 on two"},
    ProductRate{10321, 54.8, "results/h100x2/first-run-fp32.json, 16384 on two"},
};

// Of the library's kernels of FP32: the time that a kernel's own plan predicts by the time that its
// products take, alone and as a step of a distributed call.
struct PlannedShare {
  const char* kernel;
  double alone, step;
  const char* source;
};
inline constexpr std::array planned_fp32 = {
    PlannedShare{"stream_128x256", 1.012, 0.986,
                 "results/h100x2 and h200x2, -fp32.json: one_gpu_us, products_us"},
    PlannedShare{"stream_128x128", 0.965, 0.958, "likewise"},
    PlannedShare{"stream_64x256", 0.985, 0.932, "results/h100x2/distributed-fp32.json"},
    PlannedShare{"", 0.98, 0.96, "of any other: not measured, between those above"},
};

struct GpuRates {
  const char* name;  // within that of the device
  std::span<const ProductRate> split, fp32;
  // One of several products that follow each other in a distributed call: products_us of both
  // files, less what the model counts apart.
  std::span<const ProductRate> split_step, fp32_step;
  Rate split_gbs;   // of the split pass: four bytes of an element read, four written; 0: see above
  Rate store_gbs;   // of C, at the ends of a split product's tiles; 0: see above
  Rate peer_gbs;    // to another GPU of the host, one direction
  Rate copy_share;  // of the time of a copy lost to the products beside it, for memory and power
  // A second product into the same C reads and writes it; half of that is hidden.
  Rate memory_gbs;

  const std::span<const ProductRate>& products(Math math, bool is_step) const {
    if (math == Math::fp32_split) return is_step ? split_step : split;
    return is_step ? fp32_step : fp32;
  }
};

inline constexpr GpuRates h200_rates = {
    "H200",
    h200_split,
    h200_fp32,
    h200_split_step,
    h200_fp32_step,
    {0, "within the rates of products"},
    {0, "within the rates of products"},
    {389, "two H200, copies of 1 GiB"},
    {0.7, "results/h200x2/first-run.json: 29 ms of 39, all shapes"},
    {4000, "results/h200: read bandwidth"}};
inline constexpr GpuRates h100_rates = {
    "H100",
    h100_split,
    h100_fp32,
    h100_split_step,
    h100_fp32_step,
    {2000, "results/h100x2/first-run.json: with it the rates depend least on the shape"},
    {2588,
     "results/h100x2/distributed.json, -1001 and -1002: fitted; the rates of split products have "
     "1.9 % more for it"},
    {391, "results/h100x2/first-run.json, transfers of 1 GiB and more"},
    {0.23, "results/h100x2/first-run.json: 6 ms of 26, all shapes"},
    {2700, "not measured: the H200's, by the ratio of the data sheets"}};
inline constexpr std::array all_rates = {&h200_rates, &h100_rates};

// By a device's name; those of an H200 where there are none of it.
inline const GpuRates& rates_of(const std::string& device) {
  for (const GpuRates* rates : all_rates) {
    if (device.find(rates->name) != std::string::npos) return *rates;
  }
  return h200_rates;
}

// From host to host, for each GPU.
inline constexpr Rate network_gbs = {45, "not measured: one adapter of 400 Gbit/s a GPU"};
// From host memory to a GPU, beside a copy the other way.
inline constexpr Rate host_gbs = {50, "not measured: PCIe 5.0 with 16 lanes has 63"};
// Of a step on the host and the device: events, launches.
inline constexpr Rate step_us = {30, "results/h200: five launches, and two events"};

// The rate at the edge of the cube with as many multiplications; below the table it falls with the
// edge, beyond it stays.
inline double interpolated(std::span<const ProductRate> table, double edge) {
  if (edge <= table.front().edge) return table.front().tflops * edge / table.front().edge;
  for (std::size_t i = 1; i < table.size(); ++i) {
    if (edge > table[i].edge) continue;
    const double part =
        std::log(edge / table[i - 1].edge) / std::log(table[i].edge / table[i - 1].edge);
    return table[i - 1].tflops + part * (table[i].tflops - table[i - 1].tflops);
  }
  return table.back().tflops;
}

}  // namespace kw::distributed
