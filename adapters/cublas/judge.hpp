// Whether a call is taken, as far as that follows from its arguments, the policy and predicted
// times.
#pragma once

#include "call.hpp"
#include "policy.hpp"

namespace kw::cublas {

// Multiplications and additions of the whole call.
double operations_of(const Product& product);

// None where a call of so many operations is taken, its times predicted so. A time that is 0 or
// infinite is not predicted.
Reason judge_times(const Policy& policy, bool measured, double operations, double time_us,
                   double vendor_time_us);

// What a product's epilogue adds to its predicted time, rather too much than too little: the
// library finishes stored elements, most of its kernels float by float
// (results/h200/epilogue-time.json).
double epilogue_us(const Product& product);

// Why cuBLAS shall judge the arguments itself; none where they are in order.
Reason check_arguments(const Product& product);
// The same of groups, of which some may be empty, but not all.
Reason check_arguments(const std::vector<Product>& groups);
bool is_empty(const Product& group);

}  // namespace kw::cublas
