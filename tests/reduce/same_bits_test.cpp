// Determinism::any_device: every production kernel on every device that is here gives the bits of
// a plain loop that follows the documented order of additions.
#include <gtest/gtest.h>

#include <array>

#include <bit>
#include <cmath>
#include <limits>

#include "check/reduce/case.hpp"
#include "plain_reduce.hpp"
#include "support/registry_subjects.hpp"

namespace kw {
namespace {

using check::ReduceCase;

// A case's elements as they lie in the array, without padding.
template <class T>
std::vector<Value<T>> values_of(const ReduceCase& c, std::int64_t elements) {
  const check::ElementStream stream = stream_of(c, elements);
  std::vector<Value<T>> values(static_cast<std::size_t>(elements));
  for (std::int64_t i = 0; i < elements; ++i) {
    values[static_cast<std::size_t>(i)] = to_value(check::element<T>(stream, i));
  }
  return values;
}

PlainOrder order_of(const ReduceCase& c, std::size_t count) {
  if (c.shape == ReduceShape::columns) return plain_column_order(count);
  return plain_order(count, size_of(c.type));
}

// What the plain loop gives for one sequence, as a double that holds the result's bits exactly.
double plain_result(const ReduceCase& c, const std::vector<float>& x) {
  const PlainOrder order = order_of(c, x.size());
  const auto count = static_cast<double>(x.size());
  const auto same = [](auto value) { return value; };
  const auto square = [](double value) { return value * value; };  // exact: 48 bits
  if (c.type == DataType::float16) return static_cast<float>(plain_sum<float>(x, order, same));
  switch (c.op) {
    case ReduceOp::mean:
      if (x.empty()) return std::numeric_limits<double>::quiet_NaN();
      return static_cast<float>(plain_sum<double>(x, order, same) / count);
    case ReduceOp::l2_norm:
      return static_cast<float>(std::sqrt(plain_sum<double>(x, order, square)));
    case ReduceOp::variance: {
      const double divisor = count - static_cast<double>(c.correction);
      if (divisor <= 0) return std::numeric_limits<double>::quiet_NaN();
      return static_cast<float>(plain_moments(x, order).squares / divisor);
    }
    default: return static_cast<float>(plain_sum<double>(x, order, same));
  }
}
double plain_result(const ReduceCase& c, const std::vector<double>& x) {
  return plain_sum<double>(x, order_of(c, x.size()), [](double value) { return value; });
}

// Where the sequences of a case begin in its elements, how far apart their elements are, how many
// there are.
struct Run {
  std::int64_t begin, step, count;
};
std::vector<Run> runs_of(const ReduceCase& c) {
  std::vector<Run> runs;
  switch (c.shape) {
    case ReduceShape::whole: return {{0, 1, c.cols}};
    case ReduceShape::rows:
      for (std::int64_t row = 0; row < c.rows; ++row) runs.push_back({row * c.cols, 1, c.cols});
      return runs;
    case ReduceShape::columns:
      for (std::int64_t col = 0; col < c.cols; ++col) runs.push_back({col, c.cols, c.rows});
      return runs;
    case ReduceShape::segments:
      const std::vector<std::int64_t> offsets = segment_offsets(c.lengths, c.segments, c.seed);
      for (std::size_t s = 1; s < offsets.size(); ++s) {
        runs.push_back({offsets[s - 1], 1, offsets[s] - offsets[s - 1]});
      }
      return runs;
  }
  return runs;
}

// All results of a case by the plain loop.
template <class T>
std::vector<double> plain_results(const ReduceCase& c) {
  const std::vector<Run> runs = runs_of(c);
  const std::int64_t elements =
      c.shape == ReduceShape::segments ? runs.back().begin + runs.back().count : c.rows * c.cols;
  const std::vector<Value<T>> values = values_of<T>(c, elements);
  std::vector<double> results;
  for (const Run& run : runs) {
    std::vector<Value<T>> sequence;
    for (std::int64_t k = 0; k < run.count; ++k) {
      sequence.push_back(values[static_cast<std::size_t>(run.begin + k * run.step)]);
    }
    results.push_back(plain_result(c, sequence));
  }
  return results;
}

std::vector<double> plain_results(const ReduceCase& c) {
  switch (c.type) {
    case DataType::float64: return plain_results<double>(c);
    case DataType::float16: return plain_results<float16>(c);
    default: return plain_results<float>(c);
  }
}

ReduceCase make_case(ReduceOp op, DataType type, std::int64_t length, std::int64_t misalign) {
  ReduceCase c;
  c.op = op;
  c.type = type;
  c.cols = length;
  c.misalign = misalign;
  c.correction = op == ReduceOp::variance ? 1 : 0;
  c.input = check::Input::normal;
  c.seed = 5;
  return c;
}

// A kernel's results, once the check has found nothing wrong with them.
std::vector<double> kernel_results(check::Workbench& bench, const Kernel<Reduce>& kernel,
                                   check::ReduceTrial& trial) {
  const check::VerifyResult verified = trial.verify(kernel);
  EXPECT_TRUE(verified.ok()) << verified.message;
  const Reduce& p = trial.problem();
  std::vector<double> results;
  for (std::int64_t i = 0; i < p.results(); ++i) {
    const bool is_double = result_type(p.op, p.type) == DataType::float64;
    results.push_back(is_double ? bench.read(static_cast<const double*>(p.out) + i)
                                : bench.read(static_cast<const float*>(p.out) + i));
  }
  return results;
}

class ReduceSameBits : public testing::TestWithParam<Subject<Reduce>> {
 protected:
  ReduceSameBits() : runtime_(open_device(GetParam().device)), bench_(*runtime_) {}

  void expect_same_bits(const ReduceCase& c) {
    check::ReduceTrial trial(bench_, c);
    const Kernel<Reduce>& kernel = GetParam().kernel;
    if (!supports(kernel, trial.problem(), runtime_->device())) return;
    const std::vector<double> want = plain_results(c);
    const std::vector<double> got = kernel_results(bench_, kernel, trial);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(std::bit_cast<std::uint64_t>(got[i]), std::bit_cast<std::uint64_t>(want[i]))
          << describe(c) << " result " << i << ": " << got[i] << ", plain loop " << want[i];
    }
  }

  // float32 sums, means, norms and variances; float64 and float16 sums.
  static std::vector<std::pair<ReduceOp, DataType>> kinds() {
    return {{ReduceOp::sum, DataType::float32},     {ReduceOp::mean, DataType::float32},
            {ReduceOp::l2_norm, DataType::float32}, {ReduceOp::variance, DataType::float32},
            {ReduceOp::sum, DataType::float64},     {ReduceOp::sum, DataType::float16}};
  }

  std::unique_ptr<Runtime> runtime_;
  check::Workbench bench_;
};

#if defined(__SANITIZE_ADDRESS__)  // some fifteen times slower
constexpr std::array<std::int64_t, 4> whole_lengths = {5, 1023, 4097, 30011};
#else
constexpr std::array<std::int64_t, 10> whole_lengths = {2,    5,    100,  1023,  4096,
                                                        4097, 8192, 8193, 30011, 100003};
#endif

TEST_P(ReduceSameBits, WholeArrays) {
  for (const auto& [op, type] : kinds()) {
    for (const std::int64_t length : whole_lengths) {
      for (const std::int64_t misalign : {0, 1, 3, 6}) {
        expect_same_bits(make_case(op, type, length, misalign));
      }
    }
  }
}

// More than 256 chunks: totals share slots.
TEST_P(ReduceSameBits, LongArrays) {
  expect_same_bits(make_case(ReduceOp::sum, DataType::float32, 1200003, 0));
  expect_same_bits(make_case(ReduceOp::variance, DataType::float32, 1200003, 3));
  expect_same_bits(make_case(ReduceOp::sum, DataType::float64, 600011, 1));
}

// A row or a segment gives the bits that it gives alone; columns have an order of their own.
TEST_P(ReduceSameBits, RowsColumnsAndSegments) {
  for (const auto& [op, type] : kinds()) {
    for (const ReduceShape shape : {ReduceShape::rows, ReduceShape::columns}) {
      for (const auto& [rows, cols] : {std::pair{3, 9001},
                                       {7, 5002},
                                       {9001, 3},
                                       {20011, 2},
                                       {70, 65},
                                       {5, 700},
                                       {4, 1800},
                                       {3, 4096},
                                       {1, 3001},
                                       {2, 1030},
                                       {8, 517}}) {
        ReduceCase c = make_case(op, type, cols, 1);
        c.shape = shape;
        c.rows = rows;
        c.ld_pad = 3;
        expect_same_bits(c);
      }
    }
    for (const check::SegmentLengths lengths :
         {check::SegmentLengths::one_to_32, check::SegmentLengths::uneven,
          check::SegmentLengths::log_uniform}) {
      ReduceCase c = make_case(op, type, 0, 2);
      c.shape = ReduceShape::segments;
      c.lengths = lengths;
      c.segments = lengths == check::SegmentLengths::log_uniform ? 7 : 60;
      expect_same_bits(c);
    }
  }
}

std::vector<Subject<Reduce>> production_subjects() {
  std::vector<Subject<Reduce>> found;
  for (const Subject<Reduce>& subject : subjects<Reduce>()) {
    if (subject.kernel.role == Role::production) found.push_back(subject);
  }
  return found;
}

INSTANTIATE_TEST_SUITE_P(Registry, ReduceSameBits, testing::ValuesIn(production_subjects()),
                         subject_name<Reduce>);

// Bits that were once published, so that a change of the order is noticed: it breaks the promise
// for whoever compares results with those of an older version.
TEST(ReducePlainLoop, GivesTheBitsOfTheTable) {
  struct Entry {
    ReduceOp op;
    DataType type;
    std::int64_t length;
    std::uint64_t bits;  // of the result, as a double
  };
  const Entry table[] = {
      {ReduceOp::sum, DataType::float32, 1000, 0x4033138b20000000},
      {ReduceOp::sum, DataType::float32, 100003, 0x404fafb3e0000000},
      {ReduceOp::sum, DataType::float32, 1200003, 0xc0a07c67a0000000},
      {ReduceOp::mean, DataType::float32, 100003, 0x3f44c3ed20000000},
      {ReduceOp::l2_norm, DataType::float32, 100003, 0x4073bd9160000000},
      {ReduceOp::variance, DataType::float32, 100003, 0x3fefec2b40000000},
      {ReduceOp::sum, DataType::float64, 1000, 0x4033138b32ef328f},
      {ReduceOp::sum, DataType::float64, 100003, 0x404fafb42159bd18},
      {ReduceOp::sum, DataType::float64, 5000000, 0xc0b08f4f04e44edd},
      {ReduceOp::sum, DataType::float16, 100003, 0x404fa2b5a0000000},
  };
  for (const Entry& entry : table) {
    const ReduceCase c = make_case(entry.op, entry.type, entry.length, 0);
    const double result = plain_results(c).front();
    EXPECT_EQ(std::bit_cast<std::uint64_t>(result), entry.bits)
        << describe(c) << ": " << std::hex << std::bit_cast<std::uint64_t>(result);
  }
}

}  // namespace
}  // namespace kw
