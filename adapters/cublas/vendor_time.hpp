// A prediction of cuBLAS's FP32 time, a model of GPU a row. tools/fit_cublas_time.py makes the rows
// from committed measurements and says what a decision by them loses.
#pragma once

#include <cstdint>
#include <string>

#include "call.hpp"

namespace kw::cublas {

// A product as cuBLAS sees it: column-major.
struct VendorShape {
  bool transposed_a = false, transposed_b = false;
  bool aligned = false;  // lines of A and B begin at multiples of 16 bytes
  double m = 0, n = 0, k = 0, batch = 1;
};
VendorShape vendor_shape(const Product& product);

struct VendorTimes;
// By the device's whole name; null for one that was never measured.
const VendorTimes* vendor_times_of(const std::string& device_name);

double predict_vendor_us(const VendorTimes& times, const VendorShape& shape);

// For a routine of level 3 cuBLAS takes a share of its time for the product of that size, and
// beside it, where it works by blocks one after the other, so much for each row of the triangle, at
// most most_us. Fitted to results/h200/level3-*.json, rather too little than too much; calls below
// 128 rows are judged by the same lines.
struct RoutineTime {
  double share, each_us, most_us;
};
constexpr RoutineTime time_of_routine(Routine routine) {
  switch (routine) {
    case Routine::syrk:
    case Routine::syrkx: return {0.5, 0.02, 10};
    case Routine::syr2k: return {1, 0.02, 10};
    case Routine::trmm: return {0.47, 0.02, 10};
    case Routine::trsm: return {0.55, 0.2, 1e9};
    case Routine::gemm:
    case Routine::symm:
    case Routine::potrf: break;
  }
  return {1, 0, 0};
}
// cuSOLVER's Cholesky factorisation of n rows takes so much for each row, and for n^3 / 3
// multiplications and additions; up to `few_rows` the lower triangle, which lies as it likes best,
// is one kernel's. Fitted to results/h200/level3-spotrf*.json, rather too little than too much.
struct FactorTime {
  double each_us, flops_per_us;
};
constexpr std::int64_t few_rows = 6144;
constexpr FactorTime few_lower{0.3, 95e6}, many_lower{0.44, 46e6}, any_upper{0.55, 34e6};
double predict_factor_us(const Product& product);
// For a complex product, of what the real one with as many operations takes: rather too little.
constexpr double complex_share = 0.9;
// For a complex triangular system so much beside it for each row of the triangle, where that is on
// the right or on the left: rather too little.
constexpr double complex_row_us(bool on_right) { return on_right ? 0.25 : 0.12; }
// Of the whole call. An epilogue is taken to cost cuBLASLt nothing: its kernels apply it to what
// they store, as the library's do.
double predict_vendor_us(const VendorTimes& times, const Product& product);

// Of products in groups, which cuBLAS computes in tiles of one size, whatever their shape, so that
// the longest tile shows. Fitted to results/h200/explored-grouped-1.csv.
double predict_grouped_us(const VendorTimes& times, const std::vector<Product>& groups);
// What each group takes of the library beyond its kernel's predicted time, there.
constexpr double another_group_us = 2.5;

// A call is taken where so many times the library's predicted time is within cuBLAS's.
constexpr double vendor_margin = 1.12;

}  // namespace kw::cublas
