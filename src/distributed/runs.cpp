// Indices dealt out in blocks.
#include "distributed/runs.hpp"

#include <algorithm>

namespace kw::distributed {

std::int64_t Dealt::count(int coordinate) const {
  const std::int64_t whole = length / block;
  const std::int64_t turn = (coordinate - first % ranks + ranks) % ranks;
  std::int64_t blocks = whole / ranks + (turn < whole % ranks ? 1 : 0);
  return blocks * block + (turn == whole % ranks ? length % block : 0);
}

std::vector<Segment> segments(const Dealt& first, const Dealt& second) {
  std::vector<Segment> found;
  for (std::int64_t index = 0; index < first.length;) {
    const std::int64_t end = std::min({first.length, (index / first.block + 1) * first.block,
                                       (index / second.block + 1) * second.block});
    found.push_back({index, end - index, first.owner(index), second.owner(index)});
    index = end;
  }
  return found;
}

void append_runs(const Dealt& dealt, std::int64_t from, std::int64_t length, std::int64_t place,
                 std::vector<Run>* runs) {
  for (std::int64_t index = from; index < from + length;) {
    const std::int64_t end = std::min(from + length, (index / dealt.block + 1) * dealt.block);
    const Run run{index, end - index, dealt.owner(index), dealt.local(index), place + index - from};
    Run* last = runs->empty() ? nullptr : &runs->back();
    if (last != nullptr && last->owner == run.owner && last->local + last->length == run.local &&
        last->place + last->length == run.place) {
      last->length += run.length;
    } else {
      runs->push_back(run);
    }
    index = end;
  }
}

std::vector<Run> runs_of(const Dealt& own, int coordinate, const Dealt& dealt) {
  std::vector<Run> runs;
  const std::int64_t turn = (coordinate - own.first % own.ranks + own.ranks) % own.ranks;
  std::int64_t place = 0;
  for (std::int64_t index = turn * own.block; index < own.length; index += own.block * own.ranks) {
    const std::int64_t length = std::min(own.block, own.length - index);
    append_runs(dealt, index, length, place, &runs);
    place += length;
  }
  return runs;
}

}  // namespace kw::distributed
