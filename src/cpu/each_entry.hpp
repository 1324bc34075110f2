// A batch on the CPU: its entries one by one as plain products, or several at a time.
#pragma once

#include <cstdint>

#include "cpu/epilogue.hpp"
#include "sgemm/problem.hpp"

namespace kw::cpu {

// Below this many multiply-adds an entry is work for one thread, in OpenBLAS as here: threads share
// the entries. Above it they share each product, where the kernel can.
constexpr double most_for_one_thread = 64.0 * 64 * 64;

template <class Compute>
void each_entry(const Sgemm& all, bool one_thread_each, const Compute& compute) {
  [[maybe_unused]] const bool spread = all.batch > 1 && one_thread_each;
#pragma omp parallel for schedule(static) if (spread)
  for (std::int64_t i = 0; i < all.batch; ++i) {
    Sgemm one = entry_of(all, i);
    one.epilogue.move_to_entry(i);
    copy_source(one);
    compute(one);
    finish_elements(one);
  }
}

}  // namespace kw::cpu
