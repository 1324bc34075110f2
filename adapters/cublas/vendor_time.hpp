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

// A call is taken where so many times the library's predicted time is within cuBLAS's.
constexpr double vendor_margin = 1.12;

}  // namespace kw::cublas
