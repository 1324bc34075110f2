// One dimension of a matrix dealt out in blocks: which coordinate of the grid holds an index, and
// where. Pure functions of numbers.
#pragma once

#include <cstdint>
#include <vector>

namespace kw::distributed {

// `length` indices, in blocks of `block` that go round `ranks` coordinates from `first` on.
struct Dealt {
  std::int64_t length = 0, block = 1;
  int first = 0, ranks = 1;

  bool operator==(const Dealt&) const = default;
  int owner(std::int64_t index) const { return static_cast<int>((index / block + first) % ranks); }
  // Where the owner has it.
  std::int64_t local(std::int64_t index) const {
    return index / block / ranks * block + index % block;
  }
  // How many indices a coordinate has.
  std::int64_t count(int coordinate) const;
};

// `length` neighbouring indices that one owner holds together: from `index` of the whole, at
// `local` of the owner's part, and to be put at `place` of whatever gathers them.
struct Run {
  std::int64_t index = 0, length = 0;
  int owner = 0;
  std::int64_t local = 0, place = 0;
};

// All indices in order, cut where their owner in `first` or in `second` changes. Both are of one
// length.
struct Segment {
  std::int64_t index, length;
  int first_owner, second_owner;
};
std::vector<Segment> segments(const Dealt& first, const Dealt& second);

// The runs of `dealt` that make up the indices [from, from + length) of the whole, put from `place`
// on.
void append_runs(const Dealt& dealt, std::int64_t from, std::int64_t length, std::int64_t place,
                 std::vector<Run>* runs);

// The runs of `dealt` that make up all that `coordinate` has of `own`, in its order there.
std::vector<Run> runs_of(const Dealt& own, int coordinate, const Dealt& dealt);

}  // namespace kw::distributed
