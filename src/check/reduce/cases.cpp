// The generated reductions of case.hpp: choices are mixed so that each pair of them meets,
// not the full product.
#include <array>

#include "check/draw.hpp"
#include "check/reduce/case.hpp"
#include "reduce/walk/order.hpp"

namespace kw::check {
namespace {

constexpr auto ops = all_reduce_ops;
constexpr auto types = all_data_types;
constexpr std::array<Input, 5> reduce_inputs = {Input::uniform, Input::unit, Input::normal,
                                                Input::integers, Input::constant};
constexpr std::array<std::int64_t, 2> reduce_guards = {1024, 0};
constexpr std::array<std::int64_t, 3> reduce_pads = {0, 3, 16};
constexpr std::array<std::int64_t, 12> misalignments = {0, 0, 0, 1, 2, 3, 4, 5, 7, 8, 11, 15};

// Elements of a chunk that is as small as they come.
std::int64_t small_chunk(DataType type) {
  return with_type(type, []<class T>() { return smallest_chunk<T>; });
}

// One below, at, and one above what a warp, a block and a block's vectors take, and what a chunk of
// the documented order takes.
std::vector<std::int64_t> whole_lengths(DataType type) {
  std::vector<std::int64_t> lengths = {0, 1, 2, 3, 5, 8, 16};
  const std::int64_t chunk = small_chunk(type);
  for (const std::int64_t edge : {std::int64_t{32}, std::int64_t{128}, std::int64_t{256},
                                  std::int64_t{1024}, std::int64_t{4096}, chunk, 2 * chunk}) {
    for (const std::int64_t off : {-1, 0, 1}) lengths.push_back(edge + off);
  }
  lengths.push_back(5 * chunk + 77);
  return lengths;
}

// Choices that every case makes, whatever its shape.
ReduceCase draw_case(ReduceShape shape, DataType type, ReduceOp op, std::size_t number,
                     std::uint64_t seed) {
  Draw draw(number);
  ReduceCase c;
  c.op = op;
  c.type = type;
  c.shape = shape;
  c.input = draw.from(reduce_inputs);
  c.guard = draw.from(reduce_guards);
  c.misalign = draw.from(misalignments);
  c.correction = draw.from(std::array<std::int64_t, 3>{0, 1, 1});
  c.seed = seed + number;
  return c;
}

class Cases {
 public:
  explicit Cases(std::uint64_t seed) : seed_(seed) {}

  // Each length of each type three times, with a different operation each time.
  void whole_arrays() {
    for (const DataType type : types) {
      const std::vector<std::int64_t> lengths = whole_lengths(type);
      for (std::size_t pass = 0; pass < 3; ++pass) {
        for (std::size_t i = 0; i < lengths.size(); ++i) {
          add_whole(type, ops[(5 * i + 7 * pass + list_.size()) % ops.size()], lengths[i],
                    Sprinkle::none);
        }
      }
    }
  }

  // Each operation of each type over rows, columns and segments.
  void other_shapes() {
    constexpr std::array<std::array<std::int64_t, 2>, 14> extents = {{{1, 1},
                                                                      {3, 31},
                                                                      {7, 64},
                                                                      {33, 33},
                                                                      {100, 5},
                                                                      {1000, 1},
                                                                      {1, 1000},
                                                                      {65, 129},
                                                                      {2, 1025},
                                                                      {1025, 2},
                                                                      {5, 4099},
                                                                      {4099, 3},
                                                                      {0, 7},
                                                                      {7, 0}}};
    constexpr std::array<SegmentLengths, 5> lengths = {
        SegmentLengths::one_to_32, SegmentLengths::uneven, SegmentLengths::equal,
        SegmentLengths::uneven, SegmentLengths::out_of_range};
    constexpr std::array<std::int64_t, 7> counts = {1, 3, 40, 257, 700, 0, 100};
    std::size_t turn = 0;
    for (const ReduceOp op : ops) {
      for (const DataType type : types) {
        for (const ReduceShape shape : {ReduceShape::rows, ReduceShape::columns}) {
          for (int twice = 0; twice < 2; ++twice) {
            const auto& [rows, cols] = extents[turn++ % extents.size()];
            add_matrix(type, op, shape, rows, cols);
          }
          ++turn;
        }
        add_segments(type, op, lengths[turn % lengths.size()], counts[turn % counts.size()]);
        add_segments(type, op, lengths[(turn + 1) % lengths.size()],
                     counts[(turn + 3) % counts.size()]);
      }
    }
    for (const DataType type : types) large_shapes(type);
  }

  // What is special about values: whole arrays short and of several chunks, and rows.
  void special_values() {
    for (const DataType type : types) {
      for (const ReduceOp op : ops) {
        for (const Sprinkle sprinkle :
             {Sprinkle::nan, Sprinkle::infinities, Sprinkle::signed_zeros, Sprinkle::extremes,
              Sprinkle::far_mean, Sprinkle::huge, Sprinkle::tiny}) {
          if (makes_sense(sprinkle, op, type)) add_special(type, op, sprinkle);
        }
      }
    }
  }

  std::vector<ReduceCase> list() { return std::move(list_); }

 private:
  ReduceCase& add(ReduceShape shape, DataType type, ReduceOp op) {
    list_.push_back(draw_case(shape, type, op, list_.size(), seed_));
    return list_.back();
  }
  void add_whole(DataType type, ReduceOp op, std::int64_t length, Sprinkle sprinkle) {
    ReduceCase& c = add(ReduceShape::whole, type, op);
    c.cols = length;
    c.sprinkle = sprinkle;
  }
  void add_matrix(DataType type, ReduceOp op, ReduceShape shape, std::int64_t rows,
                  std::int64_t cols) {
    ReduceCase& c = add(shape, type, op);
    c.rows = rows;
    c.cols = cols;
    c.ld_pad = Draw(list_.size() + 5000).from(reduce_pads);
  }
  void add_segments(DataType type, ReduceOp op, SegmentLengths lengths, std::int64_t count) {
    ReduceCase& c = add(ReduceShape::segments, type, op);
    c.lengths = lengths;
    c.segments = count;
    c.cols = lengths == SegmentLengths::equal ? 37 * count : 0;
  }

  // Sequences of more than one chunk.
  void large_shapes(DataType type) {
    const std::int64_t chunk = small_chunk(type);
    const auto op = [&](std::size_t i) { return ops[(i + list_.size()) % ops.size()]; };
    add_matrix(type, op(0), ReduceShape::rows, 3, chunk + 1);
    add_matrix(type, op(3), ReduceShape::rows, 2, 2 * chunk + 5);
    add_matrix(type, op(6), ReduceShape::columns, chunk + 1, 3);
    add_matrix(type, op(9), ReduceShape::columns, 2 * chunk + 5, 2);
    add_segments(type, op(2), SegmentLengths::log_uniform, 4);
  }

  static bool makes_sense(Sprinkle sprinkle, ReduceOp op, DataType type) {
    if (!is_floating(type)) {
      return sprinkle == Sprinkle::extremes || sprinkle == Sprinkle::far_mean;
    }
    const bool is_far = sprinkle == Sprinkle::huge || sprinkle == Sprinkle::tiny;
    // Only norms promise to stay within a range that squares leave.
    return !(is_far && op == ReduceOp::variance && type == DataType::float64);
  }

  void add_special(DataType type, ReduceOp op, Sprinkle sprinkle) {
    constexpr std::array<std::int64_t, 6> shorts = {1, 2, 3, 7, 33, 300};
    const std::int64_t chunk = small_chunk(type);
    const std::size_t turn = special_++;
    const std::int64_t length = turn % 4 == 0   ? 2 * chunk + 3
                                : turn % 4 == 1 ? 1000
                                                : shorts[turn / 4 % shorts.size()];
    add_whole(type, op, length, sprinkle);
    if (turn % 3 == 0) {
      add_segments(type, op, SegmentLengths::one_to_32, 11);
    } else {
      add_matrix(type, op, turn % 3 == 1 ? ReduceShape::rows : ReduceShape::columns, 9, 21);
    }
    list_.back().sprinkle = sprinkle;
  }

  std::uint64_t seed_;
  std::vector<ReduceCase> list_;
  std::size_t special_ = 0;
};

}  // namespace

std::vector<ReduceCase> reduce_edge_cases(std::uint64_t seed) {
  Cases cases(seed);
  cases.whole_arrays();
  cases.other_shapes();
  cases.special_values();
  return cases.list();
}

std::vector<ReduceCase> reduce_cases_of_shape(const ReduceCase& shape) {
  struct Variant {
    std::int64_t misalign, ld_pad, guard;
    Sprinkle sprinkle;
  };
  constexpr std::array<Variant, 4> variants = {{{0, 0, 1024, Sprinkle::none},
                                                {1, 3, 0, Sprinkle::none},
                                                {3, 16, 1024, Sprinkle::none},
                                                {5, 0, 0, Sprinkle::far_mean}}};
  std::vector<ReduceCase> cases;
  for (const Variant& v : variants) {
    ReduceCase c = shape;
    c.misalign += v.misalign;
    c.ld_pad += v.ld_pad;
    c.guard = v.guard;
    c.sprinkle = v.sprinkle;
    cases.push_back(c);
  }
  return cases;
}

}  // namespace kw::check
