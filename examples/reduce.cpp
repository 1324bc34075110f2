// Mean and variance of each column of a table, and the place of its largest number, from C++ on the
// CPU. On a GPU the arrays lie in device memory and the context is kw::Context::gpu(); the rest is
// the same.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "kernelwright/context.hpp"
#include "kernelwright/reduce.hpp"

int main() {
  constexpr std::int64_t rows = 1000, cols = 3;
  std::vector<float> table(rows * cols);
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j)
      table[i * cols + j] = static_cast<float>(i % 5 + 10 * j);
  }
  table[600 * cols + 1] = 512;
  std::vector<float> means(cols), variances(cols);
  std::int64_t place = -1;
  try {
    kw::Context context = kw::Context::cpu();
    const kw::ReduceView columns = kw::columns_of(kw::row_major(table.data(), rows, cols));
    kw::reduce(context, kw::ReduceOp::mean, columns, kw::output_view(means.data(), cols));
    kw::reduce(context, kw::ReduceOp::variance, columns, kw::output_view(variances.data(), cols),
               {.correction = 1});
    kw::reduce(context, kw::ReduceOp::argmax, kw::array_view(table.data(), rows * cols),
               kw::output_view(&place));
    context.synchronize();
  } catch (const kw::Error& error) {
    std::fprintf(stderr, "%s: %s\n", kw::to_string(error.code()), error.what());
    return 1;
  }
  for (std::int64_t j = 0; j < cols; ++j) {
    std::printf("column %d: mean %g, variance %g\n", static_cast<int>(j), means[j], variances[j]);
  }
  std::printf("the largest number is in row %d\n", static_cast<int>(place / cols));
  return means[0] == 2 && means[2] == 22 && place == 600 * cols + 1 ? 0 : 1;
}
