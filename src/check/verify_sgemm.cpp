// Verification of a matrix product.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "check/run_kernel.hpp"
#include "check/tolerance.hpp"
#include "check/verify.hpp"

namespace kw::check {

namespace {

const char* to_string(Activation activation) {
  constexpr const char* names[] = {"none", "relu", "gelu_tanh", "gelu_erf"};
  return names[static_cast<int>(activation)];
}

}  // namespace

std::string describe(const SgemmCase& c) {
  std::string text = fmt::format("{}x{}x{} {}{}", c.m, c.n, c.k, c.op_a == Op::none ? 'N' : 'T',
                                 c.op_b == Op::none ? 'N' : 'T');
  const auto add = [&](const char* name, std::int64_t value) {
    if (value != 0) text += fmt::format(" {}+{}", name, value);
  };
  add("lda", c.lda_pad);
  add("ldb", c.ldb_pad);
  add("ldc", c.ldc_pad);
  add("a", c.misalign_a);
  add("b", c.misalign_b);
  add("c", c.misalign_c);
  if (c.batch != 1) text += fmt::format(" batch={} gap={}", c.batch, c.gap);
  for (const auto& [is_so, words] : {std::pair{c.shared_a, " shared-a"},
                                     {c.shared_b, " shared-b"},
                                     {c.by_pointers, " by-pointers"},
                                     {c.scalars_on_device, " scalars-on-device"}}) {
    if (is_so) text += words;
  }
  using Bias = EpilogueCase::Bias;
  const EpilogueCase& e = c.epilogue;
  if (e.bias != Bias::none)
    text += fmt::format(" bias-of-{}{}", e.bias == Bias::of_rows ? "rows" : "columns",
                        e.shared_bias ? " shared-bias" : "");
  if (e.activation != Activation::none) text += fmt::format(" {}", to_string(e.activation));
  if (e.source) text += " source";
  return text + fmt::format(" alpha={} beta={} input={} seed={} guard={}", c.alpha, c.beta,
                            to_string(c.input), c.seed, c.guard);
}

namespace {

struct Stored {
  std::int64_t rows, cols, ld, entries;
};
Stored stored(Op op, std::int64_t rows, std::int64_t cols, std::int64_t pad, std::int64_t entries) {
  if (op == Op::transpose) std::swap(rows, cols);
  // BLAS asks for ld >= 1 even where there are no columns.
  return {rows, cols, std::max<std::int64_t>(cols, 1) + pad, entries};
}
Stored stored_a(const SgemmCase& c) {
  return stored(c.op_a, c.m, c.k, c.lda_pad, c.shared_a ? 1 : c.batch);
}
Stored stored_b(const SgemmCase& c) {
  return stored(c.op_b, c.k, c.n, c.ldb_pad, c.shared_b ? 1 : c.batch);
}
Stored stored_c(const SgemmCase& c) { return stored(Op::none, c.m, c.n, c.ldc_pad, c.batch); }
// Other distances than C's.
Stored stored_source(const SgemmCase& c) {
  return stored(Op::none, c.m, c.n, c.ldc_pad + 1, c.batch);
}
Stored stored_bias(const SgemmCase& c) {
  const std::int64_t count = c.epilogue.bias == EpilogueCase::Bias::of_rows ? c.m : c.n;
  return stored(Op::none, 1, count, 0, c.epilogue.shared_bias ? 1 : c.batch);
}

Placement place(const SgemmCase& c, const Stored& s, std::int64_t misalign) {
  return GuardedMatrix::placement(s.rows, s.cols, s.ld, c.guard, misalign, s.entries, c.gap);
}

std::size_t dense_bytes(const SgemmCase& c) {
  return static_cast<std::size_t>(c.batch * c.m * c.n) * sizeof(double);
}

template <class T>
DeviceBuffer put(Workbench& bench, const std::vector<T>& values) {
  DeviceBuffer buffer(bench.runtime(), values.size() * sizeof(T));
  require(bench.runtime().copy(buffer.data(), values.data(), values.size() * sizeof(T),
                               bench.stream()));
  return buffer;
}

// Where entry i of a matrix lies in memory, counted in matrices.
std::int64_t slot(const SgemmCase& c, const GuardedMatrix& matrix, bool descending,
                  std::int64_t entry) {
  if (matrix.entries() == 1) return 0;
  return c.by_pointers && descending ? c.batch - 1 - entry : entry;
}

}  // namespace

double SgemmTrial::bytes(const SgemmCase& c, const Device& device) {
  const auto words = [&](const Stored& s) {
    return GuardedMatrix::words(s.rows, s.cols, s.ld, c.guard, 0, s.entries, c.gap);
  };
  const double of_epilogue =
      (c.epilogue.source ? words(stored_source(c)) : 0.0) +
      (c.epilogue.bias != EpilogueCase::Bias::none ? words(stored_bias(c)) : 0.0);
  const double results =
      static_cast<double>(c.batch) * static_cast<double>(c.m) * static_cast<double>(c.n);
  return (words(stored_a(c)) + words(stored_b(c)) + words(stored_c(c)) + of_epilogue) *
             sizeof(float) +
         2 * results * sizeof(double) + (device.is_gpu() ? 0.0 : cpu_oracle_bytes(c.m, c.n, c.k));
}

SgemmTrial::SgemmTrial(Workbench& bench, const SgemmCase& c)
    : bench_(bench),
      case_(c),
      a_(bench, place(c, stored_a(c), c.misalign_a)),
      b_(bench, place(c, stored_b(c), c.misalign_b)),
      c_(bench, place(c, stored_c(c), c.misalign_c)),
      product_(bench.runtime(), dense_bytes(c)),
      magnitude_(bench.runtime(), dense_bytes(c)) {
  const bool readable = c.alpha != 0 && c.k > 0;
  a_.fill({c.input, c.seed, Operand::a}, readable);
  b_.fill({c.input, c.seed, Operand::b}, readable);
  make_problem();
  make_epilogue();
  make_oracle_product();
  bench.synchronize();
}

void SgemmTrial::make_problem() {
  const SgemmCase& c = case_;
  problem_ = {{c.m, c.n, c.k, c.op_a, c.op_b, c.alpha, a_.data(), a_.ld(), b_.data(), b_.ld(),
               c.beta, c_.data(), c_.ld()}};
  problem_.batch = c.batch;
  const auto stride = [](const GuardedMatrix& matrix) {
    return matrix.entries() > 1 ? matrix.stride() : 0;
  };
  problem_.stride_a = stride(a_);
  problem_.stride_b = stride(b_);
  problem_.stride_c = stride(c_);
  if (c.by_pointers) {
    std::vector<float*> pointers;
    for (std::int64_t i = 0; i < c.batch; ++i) pointers.push_back(a_.data(slot(c, a_, true, i)));
    for (std::int64_t i = 0; i < c.batch; ++i) pointers.push_back(b_.data(slot(c, b_, false, i)));
    for (std::int64_t i = 0; i < c.batch; ++i) pointers.push_back(c_.data(slot(c, c_, true, i)));
    pointers_ = put(bench_, pointers);
    problem_.a_array = pointers_.as<const float*>();
    problem_.b_array = pointers_.as<const float*>() + c.batch;
    problem_.c_array = pointers_.as<float*>() + 2 * c.batch;
    problem_.a = problem_.b = nullptr;
    problem_.c = nullptr;
  }
  if (c.scalars_on_device) {
    scalars_ = put(bench_, std::vector<float>{c.alpha, c.beta});
    problem_.alpha_at = scalars_.as<float>();
    problem_.beta_at = scalars_.as<float>() + 1;
    // Whoever takes these for the scalars is found out.
    problem_.alpha = problem_.beta = std::numeric_limits<float>::quiet_NaN();
  }
}

void SgemmTrial::make_epilogue() {
  const EpilogueCase& e = case_.epilogue;
  SgemmEpilogue& epilogue = problem_.epilogue;
  epilogue.activation = e.activation;
  if (e.bias != EpilogueCase::Bias::none) {
    bias_.emplace(bench_, place(case_, stored_bias(case_), case_.misalign_a));
    bias_->fill({case_.input, case_.seed, Operand::bias}, true);
    epilogue.bias = bias_->data();
    epilogue.bias_of_rows = e.bias == EpilogueCase::Bias::of_rows;
    epilogue.stride_bias = bias_->entries() > 1 ? bias_->stride() : 0;
  }
  if (e.source) {
    source_.emplace(bench_, place(case_, stored_source(case_), case_.misalign_b));
    source_->fill({case_.input, case_.seed, Operand::c}, case_.beta != 0);
    epilogue.source = source_->data();
    epilogue.ld_source = source_->ld();
    epilogue.stride_source = source_->entries() > 1 ? source_->stride() : 0;
  }
}

void SgemmTrial::make_oracle_product() {
  const SgemmCase& c = case_;
  Sgemm one = problem_;
  one.alpha = c.alpha;
  for (std::int64_t i = 0; i < c.batch; ++i) {
    one.a = a_.data(slot(c, a_, true, i));
    one.b = b_.data(slot(c, b_, false, i));
    const std::int64_t at = slot(c, c_, true, i) * c.m * c.n;
    require(bench_.tools().oracle(
        make_oracle(one, product_.as<double>() + at, magnitude_.as<double>() + at),
        bench_.stream()));
  }
}

VerifyResult SgemmTrial::verify(const Kernel<Sgemm>& kernel) {
  return guarded([&] {
    c_.fill({case_.input, case_.seed, Operand::c}, case_.beta != 0 && !case_.epilogue.source);
    return run_and_judge(bench_, kernel, problem_, case_.guard,
                         [&](const VerifyResult&) { return judge(kernel); });
  });
}

JudgeEpilogue SgemmTrial::judge_epilogue() const {
  const EpilogueCase& e = case_.epilogue;
  return {.activation = e.activation,
          .has_bias = e.bias != EpilogueCase::Bias::none,
          .of_rows = e.bias == EpilogueCase::Bias::of_rows,
          .is_shared = e.shared_bias,
          .is_descending = case_.by_pointers,
          .rounds_more = e.any(),
          .bias = {case_.input, case_.seed, Operand::bias}};
}

VerifyResult SgemmTrial::judge(const Kernel<Sgemm>& kernel) {
  const SgemmCase& c = case_;
  VerifyResult result;
  result.outcome = Outcome::verified;
  const std::int64_t loop_k = c.alpha == 0 ? 0 : c.k;
  const double extra = kernel.extra_error != nullptr ? kernel.extra_error(problem_) : 0;
  const JudgeEpilogue epilogue = judge_epilogue();
  const bool is_exact_here = is_exact(c.input, c.k, c.alpha, c.beta) && !epilogue.is_smooth();
  const double factor = is_exact_here ? 0 : product_tolerance(c.input, loop_k) + extra;
  const JudgeSgemm judge{c_.data(),
                         c.m,
                         c.n,
                         c_.ld(),
                         product_.as<double>(),
                         magnitude_.as<double>(),
                         c.alpha,
                         c.beta,
                         {c.input, c.seed, Operand::c},
                         factor,
                         c.batch,
                         c_.stride(),
                         epilogue};
  summarise(bench_.find(bench_.tools().judge_sgemm, judge), factor, c.n, result);
  if (judge.size() > 0) {
    result.c_first = bench_.read(c_.data());
    result.c_last = bench_.read(c_.data(c.batch - 1) + (c.m - 1) * c_.ld() + c.n - 1);
  }
  if (result.failures > 0) result.message = describe_failures(judge, result);
  const auto change_of = [](std::optional<GuardedMatrix>& input, const char* name) {
    return input ? input->find_change(name, false) : std::string();
  };
  for (const std::string& change :
       {c_.find_change("C", true), a_.find_change("A", false), b_.find_change("B", false),
        change_of(bias_, "bias"), change_of(source_, "source")}) {
    add_failure(change, result);
  }
  return result;
}

// Also makes the first failure's row one of its entry, and reads what is there.
std::string SgemmTrial::describe_failures(const JudgeSgemm& judge, VerifyResult& result) {
  const SgemmCase& c = case_;
  const std::int64_t element = result.first_row * c.n + result.first_col;
  const std::int64_t in_memory = result.first_row / c.m;
  result.first_row %= c.m;
  result.first_entry = slot(c, c_, true, in_memory);  // its own inverse
  result.first_got =
      bench_.read(c_.data(in_memory) + result.first_row * c_.ld() + result.first_col);
  const double product = bench_.read(product_.as<double>() + element);
  result.first_want = judge.want(product, judge.addends(element));
  return fmt::format(
      "{} of {} elements wrong, first {}C[{}][{}] = {:.9g}, want {:.9g} (largest error {:.3g} u, "
      "bound {:.3g} u)",
      result.failures, judge.size(),
      c.batch > 1 ? fmt::format("entry {}, ", result.first_entry) : std::string(), result.first_row,
      result.first_col, result.first_got, result.first_want, result.error.max,
      judge.product_factor);
}

VerifyResult verify_sgemm(Runtime& runtime, const Kernel<Sgemm>& kernel, const SgemmCase& c) {
  return guarded([&] {
    Workbench bench(runtime);
    return SgemmTrial(bench, c).verify(kernel);
  });
}

}  // namespace kw::check
