// kw::reduce gives the same bits however it is asked: again, elsewhere in memory, in a matrix, on
// another device, with more threads, in several contexts at once; and in any workspace that is
// large enough.
#include <thread>

#ifdef _OPENMP
#include <omp.h>
#endif

#include "reduce_support.hpp"

namespace kw::test {
namespace {

// Sums of these round at every step.
constexpr std::int64_t length = 30011;
const std::vector<float>& rough() {
  static const std::vector<float> values = random_floats(length + 8, 11);
  return values;
}

constexpr ReduceOp rounding[] = {ReduceOp::sum,     ReduceOp::mean,           ReduceOp::l1_norm,
                                 ReduceOp::l2_norm, ReduceOp::sum_of_squares, ReduceOp::variance};

class ApiReduceBits : public testing::TestWithParam<DeviceKind> {
 protected:
  // Results of all rounding operations, of all shapes.
  static std::vector<std::vector<unsigned char>> all_bits(Context& context) {
    const DeviceFloats data(context, rough());
    const DeviceArray<std::int64_t> offsets(context, {0, 5, 300, 28000, length});
    std::vector<double> wide(rough().begin(), rough().end());
    for (double& value : wide) value *= 1.0 / 3;
    const DeviceArray<double> doubles(context, wide);
    const ReduceView views[] = {array_view(data.data(), length),
                                array_view(doubles.data(), length),
                                rows_of(row_major(data.data(), 3, 10000, 10003)),
                                columns_of(row_major(data.data(), 300, 97, 100)),
                                columns_of(col_major(data.data(), 3000, 10)),
                                segments_of(data.data(), length, offsets.data(), 4)};
    std::vector<std::vector<unsigned char>> results;
    for (const ReduceView& view : views) {
      for (ReduceOp op : rounding) {
        results.push_back(
            reduce_bytes(context, op, view, {.determinism = Determinism::any_device}));
      }
    }
    return results;
  }

  Context context = detail::open_context(GetParam());
};

TEST_P(ApiReduceBits, TwiceTheSame) { EXPECT_EQ(all_bits(context), all_bits(context)); }

TEST_P(ApiReduceBits, AsOnTheCpu) {
  Context cpu = Context::cpu();
  EXPECT_EQ(all_bits(context), all_bits(cpu));
}

TEST_P(ApiReduceBits, WhereverTheElementsLie) {
  const DeviceFloats data(context, rough());
  std::vector<float> moved(rough().size() + 3);
  std::copy(rough().begin(), rough().end(), moved.begin() + 3);
  const DeviceFloats further(context, moved);
  for (ReduceOp op : rounding) {
    EXPECT_EQ(reduce_bytes(context, op, array_view(data.data(), length)),
              reduce_bytes(context, op, array_view(further.data() + 3, length)))
        << to_string(op);
  }
}

TEST_P(ApiReduceBits, ARowAndASegmentAreArrays) {
  const DeviceFloats data(context, rough());
  const DeviceArray<std::int64_t> offsets(context, {10000, 20000});
  for (ReduceOp op : rounding) {
    const auto alone = reduce_bytes(context, op, array_view(data.data() + 10000, 10000));
    const auto rows = reduce_bytes(context, op, rows_of(row_major(data.data(), 3, 10000)));
    const auto row = rows.begin() + static_cast<long>(alone.size());
    EXPECT_EQ(alone, std::vector<unsigned char>(row, row + static_cast<long>(alone.size())))
        << to_string(op);
    EXPECT_EQ(alone, reduce_bytes(context, op, segments_of(data.data(), length, offsets.data(), 1)))
        << to_string(op);
  }
}

TEST_P(ApiReduceBits, InAWorkspaceOfTheCallers) {
  const DeviceFloats data(context, rough());
  const DeviceArray<double> many(context, std::vector<double>(70000, 0.1));
  const DeviceArray<std::int64_t> offsets(context, {0, 5, 300, 68000, 70000});
  for (const ReduceView& view :
       {array_view(data.data(), length), rows_of(row_major(data.data(), 3, 10000)),
        columns_of(row_major(data.data(), 1000, 30)),
        segments_of(many.data(), 70000, offsets.data(), 4)}) {
    for (ReduceOp op : {ReduceOp::sum, ReduceOp::argmin, ReduceOp::variance}) {
      SCOPED_TRACE(testing::Message() << to_string(op) << ' ' << to_string(view.shape));
      const auto want = reduce_bytes(context, op, view);
      const std::size_t bytes = reduce_workspace_bytes(context, op, view);
      const DeviceArray<unsigned char> scratch(
          context, std::vector<unsigned char>(workspace_with_rest(bytes), 0xEE));
      context.set_workspace(scratch.data(), bytes);
      EXPECT_EQ(reduce_bytes(context, op, view), want);
      EXPECT_EQ(scratch.get()[bytes], 0xEE);
      context.set_workspace(nullptr, 0);
      if (bytes == 0) continue;
      const DataType type = reduce_result_type(op, view.type);
      const std::int64_t count = reduce_result_count(op, view);
      const DeviceArray<unsigned char> out(context, std::vector<unsigned char>(8192, canary));
      context.set_workspace(scratch.data(), bytes - 1);
      expect_error(
          [&] {
            reduce(context, op, view, {out.data(), type, count});
          },
          StatusCode::workspace_too_small, "workspace",
          {std::to_string(bytes - 1) + " bytes", std::to_string(bytes)});
      EXPECT_TRUE(out.unchanged());
      context.set_workspace(nullptr, 0);
    }
  }
}

TEST_P(ApiReduceBits, InSeveralContextsAtOnce) {
  const auto want = all_bits(context);
  std::vector<std::vector<std::vector<unsigned char>>> got(2);
  {
    std::vector<std::jthread> threads;
    threads.reserve(got.size());
    for (auto& mine : got) {
      threads.emplace_back([&mine] {
        Context own = detail::open_context(GetParam());
        mine = all_bits(own);
      });
    }
  }
  for (const auto& mine : got) EXPECT_EQ(mine, want);
}

INSTANTIATE_TEST_SUITE_P(Devices, ApiReduceBits, testing::ValuesIn(present_devices()),
                         device_test_name);

#ifdef _OPENMP
TEST(ApiReduceThreads, AnyNumberGivesTheSameBits) {
  Context context = Context::cpu();
  const int before = omp_get_max_threads();
  const std::vector<float> values = random_floats(400000, 12);
  const DeviceFloats data(context, values);
  const DeviceArray<std::int64_t> offsets(context, {0, 100, 399000, 400000});
  const ReduceView views[] = {array_view(data.data(), 400000),
                              rows_of(row_major(data.data(), 4, 100000)),
                              columns_of(row_major(data.data(), 1000, 400)),
                              segments_of(data.data(), 400000, offsets.data(), 3)};
  for (const ReduceView& view : views) {
    for (ReduceOp op : rounding) {
      omp_set_num_threads(1);
      const auto alone = reduce_bytes(context, op, view);
      for (int threads : {2, 5}) {
        omp_set_num_threads(threads);
        EXPECT_EQ(reduce_bytes(context, op, view), alone) << to_string(op) << ' ' << threads;
      }
    }
  }
  omp_set_num_threads(before);
}
#endif

// The order of src/reduce/walk/order.hpp, spelled out once more: a sum of floats by lanes, tree,
// chunks and slots.
double tree(std::vector<double> parts) {
  parts.resize(std::bit_ceil(parts.size()));
  while (parts.size() > 1) {
    std::vector<double> merged;
    for (std::size_t i = 0; i < parts.size(); i += 2) merged.push_back(parts[i] + parts[i + 1]);
    parts = merged;
  }
  return parts[0];
}

float sum_by_the_order(const std::vector<float>& values, std::int64_t count) {
  constexpr std::int64_t lanes = 1024, slots = 256;
  const std::int64_t wanted = (count + 1056 * lanes - 1) / (1056 * lanes);
  const std::int64_t chunk = std::max<std::int64_t>(wanted, 4) * lanes;
  std::vector<double> of_slots(slots);
  for (std::int64_t begin = 0; begin < count; begin += chunk) {
    std::vector<double> of_lanes(lanes);
    for (std::int64_t i = begin; i < std::min(begin + chunk, count); ++i) {
      of_lanes[static_cast<std::size_t>((i - begin) % lanes)] +=
          static_cast<double>(values[static_cast<std::size_t>(i)]);
    }
    of_slots[static_cast<std::size_t>(begin / chunk % slots)] += tree(of_lanes);
  }
  return static_cast<float>(tree(of_slots));
}

float sum_of_column(const std::vector<float>& values, std::int64_t rows, std::int64_t ld) {
  const std::int64_t chunk = std::max<std::int64_t>(256, (rows + 511) / 512 * 8);
  double sum = 0;
  for (std::int64_t begin = 0; begin < rows; begin += chunk) {
    std::vector<double> of_lanes(8);
    for (std::int64_t i = begin; i < std::min(begin + chunk, rows); ++i) {
      of_lanes[static_cast<std::size_t>((i - begin) % 8)] +=
          static_cast<double>(values[static_cast<std::size_t>(i * ld)]);
    }
    sum += tree(of_lanes);
  }
  return static_cast<float>(sum);
}

TEST(ApiReduceOrder, IsTheDocumentedOne) {
  Context context = Context::cpu();
  // The last has more chunks than slots, of more than the fewest rounds.
  const std::vector<float> values = random_floats(4400000, 13);
  for (std::int64_t count : {1, 3, 700, 1024, 1025, 5000, 1000000, 4400000}) {
    float got = nan;
    reduce(context, ReduceOp::sum, array_view(values.data(), count), output_view(&got));
    EXPECT_EQ(got, sum_by_the_order(values, count)) << count;
  }
  for (std::int64_t rows : {1, 7, 9, 255, 257, 5000, 44000}) {
    std::vector<float> got(100, nan);
    reduce(context, ReduceOp::sum, columns_of(row_major(values.data(), rows, 100)),
           output_view(got.data(), 100));
    EXPECT_EQ(got[0], sum_of_column(values, rows, 100)) << rows;
  }
}

}  // namespace
}  // namespace kw::test
