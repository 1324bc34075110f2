// What kw::sgemm promises beyond right numbers: the queried workspace is enough and needed,
// contexts may be used at the same time, offsets beyond 2^31 elements, capture in graphs.
#include <sys/mman.h>

#include <thread>

#include "sgemm_support.hpp"

namespace kw::test {
namespace {

class ApiSgemmPromises : public testing::TestWithParam<DeviceKind> {};

// Dense row-major operands of `batch` products on a context's device.
struct Products {
  Shape shape;
  std::int64_t batch;
  DeviceFloats a, b, c;

  Products(const Context& context, const Shape& s, std::int64_t count)
      : shape(s),
        batch(count),
        a(context, random_floats(count * s.m * s.k, 1)),
        b(context, random_floats(count * s.k * s.n, 2)),
        c(context, random_floats(count * s.m * s.n, 3)) {}

  MatrixView<const float> view_a() const {
    return row_major<const float>(a.data(), shape.m, shape.k);
  }
  MatrixView<const float> view_b() const {
    return row_major<const float>(b.data(), shape.k, shape.n);
  }
  MatrixView<float> view_c() const { return row_major(c.data(), shape.m, shape.n); }

  void run(Context& context, const Scalar& alpha = 1, const Scalar& beta = 0) const {
    sgemm_batched(context, alpha, view_a(), view_b(), beta, view_c(), batch, shape.m * shape.k,
                  shape.k * shape.n, shape.m * shape.n);
  }
  std::size_t workspace_bytes(const Context& context) const {
    return sgemm_batched_workspace_bytes(context, 1, view_a(), view_b(), 0, view_c(), batch,
                                         shape.m * shape.k, shape.k * shape.n, shape.m * shape.n);
  }
};

// Shapes for which kernels differ in what they do: few tiles, many, long sums, batches.
constexpr std::pair<Shape, std::int64_t> workspace_shapes[] = {{{8, 8, 8}, 1},
                                                               {{64, 64, 1024}, 1},
                                                               {{130, 130, 40}, 1},
                                                               {{1, 200, 300}, 1},
                                                               {{32, 32, 64}, 3}};

TEST_P(ApiSgemmPromises, TheQueriedWorkspaceIsEnough) {
  Context context = detail::open_context(GetParam());
  for (const auto& [shape, batch] : workspace_shapes) {
    SCOPED_TRACE(testing::Message() << shape.m << 'x' << shape.n << 'x' << shape.k);
    const Products products(context, shape, batch);
    products.run(context);
    const std::vector<float> want = products.c.get();

    const std::size_t bytes = products.workspace_bytes(context);
    EXPECT_EQ(products.workspace_bytes(context), bytes) << "the same call, the same answer";
    const DeviceFloats scratch(context,
                               std::vector<float>(workspace_with_rest(bytes) / sizeof(float), nan));
    const Products again(context, shape, batch);
    context.set_workspace(scratch.data(), bytes);
    again.run(context);
    EXPECT_EQ(again.c.get(), want) << "whose workspace it is makes no difference";
    context.set_workspace(nullptr, 0);
  }
}

// What products get along with, down to nothing at all.
void expect_right_in_any_workspace(DeviceKind kind, Math math) {
  Context context = detail::open_context(kind);
  const Stored a = make_stored(130, 70, Layout::row_major, Op::none, 1, 11);
  const Stored b = make_stored(70, 140, Layout::col_major, Op::transpose, 0, 12);
  const Stored c = make_stored(130, 140, Layout::row_major, Op::none, 0, 13);
  const DeviceFloats on_a(context, a.values), on_b(context, b.values);
  MatrixView<float> view_a = a.view, view_b = b.view, view_c = c.view;
  view_a.data = on_a.data();
  view_b.data = on_b.data();
  const SgemmOptions options{math};
  const auto run = [&] {
    const DeviceFloats on_c(context, c.values);
    view_c.data = on_c.data();
    sgemm(context, 1.5f, view_a, view_b, -0.5f, view_c, options);
    std::vector<float> after = on_c.get();
    expect_product(a, b, c, after, {1.5f, -0.5f});
    return after;
  };
  const std::vector<float> want = run();
  const DeviceFloats place(context, c.values);
  view_c.data = place.data();
  const std::size_t bytes =
      sgemm_workspace_bytes(context, 1.5f, view_a, view_b, -0.5f, view_c, options);
  const DeviceFloats scratch(context,
                             std::vector<float>(workspace_with_rest(bytes) / sizeof(float), nan));
  std::vector<std::size_t> sizes = {bytes, bytes / 2 / 256 * 256, bytes / 4, 0};
  if (bytes > 0) sizes.push_back(bytes - 1);
  for (const std::size_t given : sizes) {
    SCOPED_TRACE(testing::Message() << given << " of " << bytes << " bytes");
    context.set_workspace(scratch.data(), given);
    const std::vector<float> once = run();
    EXPECT_EQ(run(), once) << "the same workspace, the same bits";
    if (given == bytes) {
      EXPECT_EQ(once, want) << "whose it is makes no difference";
    }
  }
  context.set_workspace(nullptr, 0);
  EXPECT_EQ(run(), want);
}

TEST_P(ApiSgemmPromises, ProductsWorkInAnyWorkspace) {
  expect_right_in_any_workspace(GetParam(), Math::fp32);
}
TEST_P(ApiSgemmPromises, SplitProductsWorkInAnyWorkspace) {
  expect_right_in_any_workspace(GetParam(), Math::fp32_split);
}

TEST_P(ApiSgemmPromises, ContextsAtTheSameTimeGiveTheSameBits) {
  constexpr int count = 4;
  std::vector<std::vector<float>> results(count);
  const auto work = [&](std::vector<float>& result) {
    Context context = detail::open_context(GetParam());
    for (const auto& [shape, batch] : workspace_shapes) {
      const Products products(context, shape, batch);
      products.run(context, 1.25f, -0.5f);
      const std::vector<float> c = products.c.get();
      result.insert(result.end(), c.begin(), c.end());
    }
  };
  {
    std::vector<std::jthread> threads;
    threads.reserve(results.size());
    for (std::vector<float>& result : results) threads.emplace_back([&] { work(result); });
  }
  std::vector<float> alone;
  work(alone);
  ASSERT_FALSE(alone.empty());
  for (const std::vector<float>& result : results) EXPECT_EQ(result, alone);
}

INSTANTIATE_TEST_SUITE_P(Devices, ApiSgemmPromises, testing::ValuesIn(present_devices()),
                         device_test_name);

std::vector<DeviceKind> devices_in_host_memory() {
  std::vector<DeviceKind> kinds = present_devices();
  std::erase_if(
      kinds, [](DeviceKind kind) { return kind == DeviceKind::cuda || kind == DeviceKind::hip; });
  return kinds;
}

// Address space of 32 GiB of which only the touched pages take memory.
class SparseFloats {
 public:
  SparseFloats()
      : data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  SparseFloats(const SparseFloats&) = delete;
  SparseFloats& operator=(const SparseFloats&) = delete;
  ~SparseFloats() { munmap(data_, bytes); }

  bool is_there() const { return data_ != MAP_FAILED; }
  float* data() const { return static_cast<float*>(data_); }

 private:
  static constexpr std::size_t bytes = std::size_t{1} << 35;
  void* data_;
};

class ApiSgemmFarApart : public testing::TestWithParam<DeviceKind> {
 protected:
  // C (2 x 3) = A (2 x 2) * B (2 x 3) in small whole numbers, `batch` times.
  static constexpr std::int64_t far = (std::int64_t{1} << 31) + 8;  // elements
  static void fill(const SparseFloats& a, std::int64_t row, std::int64_t entry,
                   std::int64_t batch) {
    for (std::int64_t e = 0; e < batch; ++e) {
      for (std::int64_t i = 0; i < 2; ++i) {
        for (std::int64_t j = 0; j < 2; ++j) {
          a.data()[e * entry + i * row + j] = static_cast<float>(1 + e + 2 * i + j);
        }
      }
    }
  }
  static void expect_c(const SparseFloats& c, std::int64_t row, std::int64_t entry,
                       std::int64_t batch) {
    constexpr float b[2][3] = {{1, 2, 3}, {4, 5, 6}};
    for (std::int64_t e = 0; e < batch; ++e) {
      for (std::int64_t i = 0; i < 2; ++i) {
        for (std::int64_t j = 0; j < 3; ++j) {
          const float first = static_cast<float>(1 + e + 2 * i);
          EXPECT_EQ(c.data()[e * entry + i * row + j], first * b[0][j] + (first + 1) * b[1][j])
              << "entry " << e << ", row " << i << ", column " << j;
        }
      }
    }
  }

  void SetUp() override { ASSERT_TRUE(a.is_there() && c.is_there()); }

  Context context = detail::open_context(GetParam());
  SparseFloats a, c;
  std::vector<float> b = {1, 2, 3, 4, 5, 6};
};

TEST_P(ApiSgemmFarApart, Rows) {
  fill(a, far, 0, 1);
  sgemm(context, 1, row_major<const float>(a.data(), 2, 2, far),
        row_major<const float>(b.data(), 2, 3), 0, row_major(c.data(), 2, 3, far));
  context.synchronize();
  expect_c(c, far, 0, 1);
}

TEST_P(ApiSgemmFarApart, Entries) {
  fill(a, 2, far, 2);
  sgemm_batched(context, 1, row_major<const float>(a.data(), 2, 2),
                row_major<const float>(b.data(), 2, 3), 0, row_major(c.data(), 2, 3), 2, far, 0,
                far);
  context.synchronize();
  expect_c(c, 3, far, 2);
}

TEST_P(ApiSgemmFarApart, EntriesByPointers) {
  fill(a, 2, far, 2);
  const std::vector<const float*> pointers_a = {a.data(), a.data() + far};
  const std::vector<const float*> pointers_b = {b.data(), b.data()};
  const std::vector<float*> pointers_c = {c.data(), c.data() + far};
  const auto none = static_cast<const float*>(nullptr);
  sgemm_batched(context, 1, {pointers_a.data(), row_major(none, 2, 2)},
                {pointers_b.data(), row_major(none, 2, 3)}, 0,
                {pointers_c.data(), row_major(static_cast<float*>(nullptr), 2, 3)}, 2);
  context.synchronize();
  expect_c(c, 3, far, 2);
}

INSTANTIATE_TEST_SUITE_P(Devices, ApiSgemmFarApart, testing::ValuesIn(devices_in_host_memory()),
                         device_test_name);

std::vector<DeviceKind> devices_with_graphs() {
  std::vector<DeviceKind> kinds = present_devices();
  std::erase_if(kinds, [](DeviceKind kind) {
    const Context context = detail::open_context(kind);
    return !detail::ContextAccess::state(context).runtime().supports_graphs();
  });
  return kinds;
}

// Where there is no GPU, there is no device with graphs.
class ApiSgemmGraphs : public testing::TestWithParam<DeviceKind> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ApiSgemmGraphs);

// What `run` launches. It runs once before, so that the workspace does not grow while capturing.
std::unique_ptr<Runtime::Graph> captured(detail::ContextState& state,
                                         const std::function<void()>& run) {
  run();
  std::unique_ptr<Runtime::Graph> graph;
  detail::throw_unless_ok(state.runtime().capture(
      [&](Stream) {
        run();
        return Status::success();
      },
      state.stream(), &graph));
  return graph;
}

TEST_P(ApiSgemmGraphs, AReplayReadsWhatTheDeviceHoldsThen) {
  Context context = detail::open_context(GetParam());
  detail::ContextState& state = detail::ContextAccess::state(context);
  for (const auto& [shape, batch] : workspace_shapes) {
    SCOPED_TRACE(testing::Message() << shape.m << 'x' << shape.n << 'x' << shape.k);
    const Products products(context, shape, batch);
    const DeviceFloats scalars(context, {1, 0});
    const auto run = [&] {
      products.run(context, Scalar::at(scalars.data()), Scalar::at(scalars.data() + 1));
    };
    const std::unique_ptr<Runtime::Graph> graph = captured(state, run);
    for (const float alpha : {2.0f, 0.0f, -1.5f}) {
      const std::vector<float> now = {alpha, 0};
      detail::throw_unless_ok(state.runtime().copy(scalars.data(), now.data(),
                                                   now.size() * sizeof(float), state.stream()));
      detail::throw_unless_ok(graph->replay(state.stream()));
      const std::vector<float> replayed = products.c.get();
      run();
      EXPECT_EQ(replayed, products.c.get()) << "alpha " << alpha;
    }
  }
}

// Which kernel of a split call computes is found out by the device, each time anew.
TEST_P(ApiSgemmGraphs, AReplayOfASplitProductGoesByTheDataOfThen) {
  Context context = detail::open_context(GetParam());
  detail::ContextState& state = detail::ContextAccess::state(context);
  for (const Shape& shape : {Shape{1024, 1024, 1024}, Shape{2048, 2048, 2048}}) {
    SCOPED_TRACE(shape.m);
    const Products products(context, shape, 1);
    const auto run = [&] {
      sgemm(context, 1, products.view_a(), products.view_b(), 0, products.view_c(),
            SgemmOptions{Math::fp32_split});
    };
    const std::unique_ptr<Runtime::Graph> graph = captured(state, run);
    for (const float x : {0.5f, std::numeric_limits<float>::infinity(), 1e-40f, 0x1p60f, 0.25f}) {
      detail::throw_unless_ok(
          state.runtime().copy(products.a.data(), &x, sizeof(float), state.stream()));
      detail::throw_unless_ok(graph->replay(state.stream()));
      const std::vector<float> replayed = products.c.get();
      run();
      EXPECT_EQ(replayed, products.c.get()) << "A[0][0] = " << x;
      EXPECT_EQ(std::isfinite(replayed[0]), std::isfinite(x));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, ApiSgemmGraphs, testing::ValuesIn(devices_with_graphs()),
                         device_test_name);

}  // namespace
}  // namespace kw::test
