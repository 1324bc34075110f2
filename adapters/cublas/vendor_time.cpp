// The table of GPU models, and the prediction.
#include "vendor_time.hpp"

namespace kw::cublas {
struct VendorTimes { const char* name; };
VendorShape vendor_shape(const Product& p) {
  VendorShape s;
  s.transposed_a = p.op_a == KW_OP_TRANSPOSE;
  s.transposed_b = p.op_b == KW_OP_TRANSPOSE;
  s.m = static_cast<double>(p.m);
  return s;
}
const VendorTimes* vendor_times_of(const std::string&) { return nullptr; }
double predict_vendor_us(const VendorTimes&, const VendorShape&) { return 0; }
}
