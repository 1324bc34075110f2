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

// For one triangle of C cuBLAS takes a share of its time for all of C: 0.62 of it where n is large,
// more where it is a few hundred. Nobody has measured it shape by shape, so a call is judged by the
// least share for what cuBLAS takes for all of it, and the most for each block that is left to it.
constexpr double least_share_of_triangle = 0.6, most_share_of_triangle = 0.8;
// For a complex product, of what the real one with as many operations takes: rather too little.
constexpr double complex_share = 0.9;
// Of the whole product, or its triangle. An epilogue is taken to cost cuBLASLt nothing: its kernels
// apply it to what they store, as the library's do.
double predict_vendor_us(const VendorTimes& times, const Product& product);
// Of the blocks on the diagonal of a triangle that is taken in panels.
double predict_diagonal_us(const VendorTimes& times, const Product& product);
// The host launches the two parts of a panel in such a time (results/h200/host-time.json: about 16
// us by the library, 12 by cuBLAS), and a device that is quicker waits for it.
constexpr double panel_host_us = 30;

// A call is taken where so many times the library's predicted time is within cuBLAS's.
constexpr double vendor_margin = 1.12;

}  // namespace kw::cublas
