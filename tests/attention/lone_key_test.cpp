// Queries of which one key has all the weight: O is that row of V, bit by bit, as it is where
// weights are computed first and multiplied by a product. Where two keys share it, O is not.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "check/run_kernel.hpp"
#include "check/workbench.hpp"
#include "support/registry_subjects.hpp"
#include "support/run_seed.hpp"

namespace kw {
namespace {

struct LoneKeyProblem {
  static constexpr std::int64_t queries = 70, keys = 200;
  std::int64_t dim;
  std::vector<float> q, k, v;

  static std::int64_t key_of(std::int64_t query) { return (query * 37 + 11) % keys; }

  // Each query is its key's row, so large that what other keys add is far below what FP32 holds:
  // keys are equally long, and point in other directions. Of every other query all scores are below
  // 0. `pairs`: neighbouring keys are equal.
  LoneKeyProblem(std::int64_t head_size, bool pairs) : dim(head_size) {
    const auto drawn = [&](std::int64_t rows, std::uint64_t more) {
      std::vector<float> x(static_cast<std::size_t>(rows * dim));
      for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = check::input_value({check::Input::uniform, run_seed() + more, check::Operand::a},
                                  static_cast<std::int64_t>(i));
      return x;
    };
    k = drawn(keys, 1);
    v = drawn(keys, 2);
    q = drawn(queries, 3);
    const float size = static_cast<float>(dim - 1) / 3;
    for (std::int64_t key = 0; key < keys; ++key) make_as_long(at(k, key), size);
    if (pairs)
      for (std::int64_t key = 1; key < keys; key += 2)
        std::memcpy(at(k, key), at(k, key - 1), static_cast<std::size_t>(dim) * sizeof(float));
    for (std::int64_t query = 0; query < queries; ++query) {
      const float* const own = at(k, key_of(query));
      for (std::int64_t d = 1; d < dim; ++d) at(q, query)[d] *= 0.01f;
      for (std::int64_t d = 1; d < dim; ++d) at(q, query)[d] += 150 * own[d];
      at(q, query)[0] = query % 2 == 0 ? 0 : -150 * size - 40;
    }
  }
  // The squares of all but the first, which is 1, add up to `size`.
  void make_as_long(float* row, float size) const {
    row[0] = 1;
    float squares = 0;
    for (std::int64_t d = 1; d < dim; ++d) squares += row[d] * row[d];
    for (std::int64_t d = 1; d < dim; ++d) row[d] *= std::sqrt(size / squares);
  }
  float* at(std::vector<float>& x, std::int64_t row) const { return x.data() + row * dim; }
  const float* at(const std::vector<float>& x, std::int64_t row) const {
    return x.data() + row * dim;
  }

  // O, or nothing where the kernel does not compute this.
  std::vector<float> run(Runtime& runtime, const Kernel<Attention>& kernel) const {
    check::Workbench bench(runtime);
    const auto made = [&](const std::vector<float>& x) {
      check::DeviceBuffer memory(runtime, x.size() * sizeof(float));
      check::require(runtime.copy(memory.data(), x.data(), memory.bytes(), bench.stream()));
      return memory;
    };
    const check::DeviceBuffer of_q = made(q), of_k = made(k), of_v = made(v), of_o = made(q);
    Attention p;
    p.batch = p.heads = p.kv_heads = 1;
    p.queries = queries, p.keys = keys, p.dim = dim;
    p.scale = 1 / std::sqrt(static_cast<float>(dim));
    p.q = of_q.as<float>(), p.k = of_k.as<float>(), p.v = of_v.as<float>();
    p.o = of_o.as<float>();
    p.q_strides = p.k_strides = p.v_strides = p.o_strides = {0, 0, dim};
    const check::VerifyResult result = check::run_kernel(bench, kernel, p, 8);
    if (result.outcome == check::Outcome::unsupported) return {};
    EXPECT_TRUE(result.ok()) << result.message;
    if (result.path != nullptr) {
      EXPECT_STRNE(result.path, "fp32");  // pieces hold the data
    }
    std::vector<float> o(q.size());
    check::require(runtime.copy(o.data(), p.o, o.size() * sizeof(float), bench.stream()));
    bench.synchronize();
    return o;
  }
};

class LoneKey : public testing::TestWithParam<Subject<Attention>> {};

TEST_P(LoneKey, OutputsAreItsRowOfV) {
  const std::unique_ptr<Runtime> runtime = open_device(GetParam().device);
  for (const std::int64_t dim : {32, 64, 96, 128, 256}) {
    const LoneKeyProblem problem(dim, false);
    const std::vector<float> o = problem.run(*runtime, GetParam().kernel);
    if (o.empty()) continue;
    int wrong = 0;
    for (std::int64_t query = 0; query < problem.queries; ++query)
      for (std::int64_t d = 0; d < dim; ++d)
        wrong += problem.at(o, query)[d] != problem.at(problem.v, problem.key_of(query))[d];
    EXPECT_EQ(wrong, 0) << "of " << o.size() << " elements, head size " << dim;
  }
}

TEST_P(LoneKey, TwoKeysShareTheWeight) {
  const std::unique_ptr<Runtime> runtime = open_device(GetParam().device);
  for (const std::int64_t dim : {64, 128, 256}) {
    const LoneKeyProblem problem(dim, true);
    const std::vector<float> o = problem.run(*runtime, GetParam().kernel);
    if (o.empty()) continue;
    int wrong = 0;
    for (std::int64_t query = 0; query < problem.queries; ++query) {
      const std::int64_t first = problem.key_of(query) / 2 * 2;
      for (std::int64_t d = 0; d < dim; ++d) {
        const double a = problem.at(problem.v, first)[d], b = problem.at(problem.v, first + 1)[d];
        const double off = std::fabs(problem.at(o, query)[d] - (a + b) / 2);
        wrong += !(off <= 2 * std::ldexp(std::fabs(a) + std::fabs(b), -24) + std::ldexp(1, -38));
      }
    }
    EXPECT_EQ(wrong, 0) << "of " << o.size() << " elements, head size " << dim;
  }
}

auto production_kernels() {
  auto found = subjects<Attention>();
  std::erase_if(found, [](const auto& subject) { return subject.kernel.role != Role::production; });
  return found;
}
INSTANTIATE_TEST_SUITE_P(Registry, LoneKey, testing::ValuesIn(production_kernels()),
                         subject_name<Attention>);

}  // namespace
}  // namespace kw
