// The walk of a reduction over a chunk, with sums that show every mistake: which element a lane
// gets and when, and which sums meet in which order. Real sums of short formats hide most of that:
// they are exact.
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "fixture.hpp"
#include "reduce/walk/walk.hpp"

namespace KW_TARGET {
namespace {

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 29)) * 0x9E3779B97F4A7C15u;
  return x ^ (x >> 32);
}

// Elements depend on their order and on their index; merged sums, which are alike either way round,
// on who merged with whom.
template <class T>
struct Trace {
  using Lane = std::uint64_t;
  using Partial = std::uint64_t;
  using Total = std::uint64_t;
  static constexpr bool any_order = false;

  static Lane empty_lane() { return 0; }
  static Partial empty() { return 0; }
  static void add(Lane& lane, Value<T> value, std::int32_t at, Value<T>) {
    lane = mixed(lane + static_cast<std::uint64_t>(value) + (static_cast<std::uint64_t>(at) << 32));
  }
  static Partial close(Lane lane) { return lane; }
  static Total total(Partial partial, const Chunk<T>&) { return partial; }
  static void merge(Partial& into, Partial later) { into = mixed(into) + mixed(later); }
};

// order.hpp in a plain loop.
template <class T>
std::uint64_t plain_total(const T* data, std::int64_t count) {
  using A = Trace<T>;
  constexpr auto lanes = static_cast<std::size_t>(order_lanes<T>);
  std::vector<std::uint64_t> sums(lanes, 0);
  for (std::int64_t i = 0; i < count; ++i) {
    A::add(sums[static_cast<std::size_t>(i) % lanes], to_value(data[i]),
           static_cast<std::int32_t>(i), {});
  }
  for (std::size_t step = 1; step < lanes; step *= 2) {
    for (std::size_t i = 0; i < lanes; i += 2 * step) A::merge(sums[i], sums[i + step]);
  }
  return sums[0];
}

template <class T>
__global__ void total_of_chunk(const T* data, std::int64_t count, Extent array,
                               std::uint64_t* total) {
  using A = Trace<T>;
  __shared__ BlockMemory<A, T> memory;
  const int thread = static_cast<int>(threadIdx.x);
  const Chunk<T> chunk = {0, count, {}};
  const Packs<T> packs(data, count, array);
  const int turn = turn_of(packs), member = member_of(thread, turn);
  Walk<A, T> walk;
  walk.start(packs, member);
  walk.finish(packs, member, {});
  const std::uint64_t found =
      total_of_block<A>(walk.lanes, packs.skip, turn, chunk, memory, thread);
  if (thread == 0) *total = found;
}

template <class T>
class ReduceWalk : public HostSimt {
 protected:
  // At each place between two boundaries; the array ends with the chunk, or goes on around it.
  void expect_order(std::int64_t count) {
    constexpr std::int64_t width = order_width<T>;
    for (std::int64_t skip = 0; skip < width; ++skip) {
      for (const std::int64_t around : {std::int64_t{0}, width}) {
        const std::int64_t before = skip + around;
        std::vector<Boundary> memory(static_cast<std::size_t>((before + count) / width + 3));
        T* elements = reinterpret_cast<T*>(memory.data());
        fill(elements, static_cast<std::int64_t>(memory.size()) * width);
        const T* data = elements + before;
        const Extent array = extent_of(data - around, count + 2 * around);
        std::uint64_t found = 0;
        HostSimt::expect_ok(
            gpu::launch(total_of_chunk<T>, {1, order_threads}, data, count, array, &found));
        EXPECT_EQ(found, plain_total(data, count))
            << count << " elements, " << skip << " past a boundary";
      }
    }
  }

 private:
  struct alignas(16) Boundary {
    std::array<unsigned char, 16> bytes;
  };
  // Small whole numbers, all different from their neighbours.
  static void fill(T* elements, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      elements[i] = from_value<T>(static_cast<Value<T>>(i * 7 % 101));
    }
  }
};

using Types = testing::Types<double, float, float16, std::int8_t>;
TYPED_TEST_SUITE(ReduceWalk, Types);

TYPED_TEST(ReduceWalk, AddsInTheOrderOfTheDocument) {
  constexpr std::int64_t width = order_width<TypeParam>, lanes = order_lanes<TypeParam>;
  for (const std::int64_t count : {std::int64_t{0}, std::int64_t{1}, width - 1, width, width + 1,
                                   3 * width + 1, lanes / 8, lanes / 8 + width + 1, lanes - 1,
                                   lanes, lanes + 1, 5 * lanes / 2 + 3, 4 * lanes, 9 * lanes + 1}) {
    this->expect_order(count);
  }
}

// Squares of float64 have a shorter way where all of a pack's are of the middle range
// (src/reduce/numbers/accumulate.hpp): the bits are those of one element after the other.
TEST(ReduceWalkOfSquares, PacksAddAsTheirElements) {
  using A = Accumulator<ReduceKind::norm_square, double>;
  constexpr double elements[] = {1.7,      0.0,    -0.0,    -0x1.8p499, 0x1p500,  0x1.1p500, -1e200,
                                 0x1p-500, 1e-151, -1e-200, 5e-324,     INFINITY, NAN};
  for (const double one : elements) {
    for (const double two : elements) {
      Lanes<A, double> packs, singles;
      for (int j = 0; j < 2; ++j) packs.lane[j] = singles.lane[j] = {1e-3, 0.1 + j, 1e3};
      Pack<double> pack;
      const double both[] = {one, two};
      std::memcpy(pack.words, both, sizeof both);
      packs.add_pack(pack, 0, 0);
      for (int j = 0; j < 2; ++j) A::add(singles.lane[j], both[j], j, 0);
      EXPECT_EQ(std::memcmp(&packs, &singles, sizeof packs), 0) << one << " " << two;
    }
  }
}

}  // namespace
}  // namespace KW_TARGET
