// The documented order of additions (src/reduce/walk/order.hpp) as a plain loop that shares nothing
// with the kernels: one sequence of numbers, one result. What it gives, every device must give, bit
// for bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace kw {

// Neighbours, then pairs of neighbours, up to one.
template <class P, class Merge>
P plain_tree(std::vector<P> values, const Merge& merge) {
  for (std::size_t step = 1; step < values.size(); step *= 2) {
    for (std::size_t i = 0; i + step < values.size(); i += 2 * step) {
      merge(values[i], values[i + step]);
    }
  }
  return values[0];
}

// Element i of a chunk belongs to lane i mod lanes, chunk c to slot c mod slots.
struct PlainOrder {
  std::size_t lanes, chunk, slots;
};

// Of arrays, rows and segments: 256 threads of 16 bytes.
constexpr PlainOrder plain_order(std::size_t n, std::size_t element_bytes) {
  const std::size_t lanes = 256 * (16 / element_bytes);
  const std::size_t rounds = (n + 528 * lanes - 1) / (528 * lanes);
  return {lanes, lanes * std::clamp<std::size_t>(rounds, 4, 262144), 256};
}

// Chunks of 64 rows, a slot each: a tree over all of them.
constexpr PlainOrder plain_column_order(std::size_t n) {
  return {8, 64, std::max<std::size_t>((n + 63) / 64, 1)};
}

// Chunks of the sequence, then their totals. `of_chunk(begin, end)` gives a total.
template <class Total, class OfChunk, class Merge>
Total plain_chunks(std::size_t n, const PlainOrder& order, Total empty, const OfChunk& of_chunk,
                   const Merge& merge) {
  if (n <= order.chunk) return of_chunk(std::size_t{0}, n);
  std::vector<Total> slots(order.slots, empty);
  for (std::size_t c = 0; c * order.chunk < n; ++c) {
    merge(slots[c % order.slots], of_chunk(c * order.chunk, std::min(n, (c + 1) * order.chunk)));
  }
  return plain_tree(slots, merge);
}

// Sum of term(x), added up as Lane within a lane and as double from there on.
template <class Lane, class V, class Term>
double plain_sum(const std::vector<V>& x, const PlainOrder& order, const Term& term) {
  const auto add = [](double& into, double later) { into += later; };
  const auto of_chunk = [&](std::size_t begin, std::size_t end) {
    std::vector<Lane> lanes(order.lanes, Lane{0});
    for (std::size_t i = begin; i < end; ++i) {
      lanes[(i - begin) % lanes.size()] += term(static_cast<Lane>(x[i]));
    }
    return plain_tree(std::vector<double>(lanes.begin(), lanes.end()), add);
  };
  return plain_chunks(x.size(), order, 0.0, of_chunk, add);
}

// Count, mean and sum of squared differences from the mean.
struct PlainMoments {
  double count, mean, squares;
};

// Within a chunk, sums of differences to its first element and of their squares; chunks merge after
// Chan, Golub and LeVeque.
inline PlainMoments plain_moments(const std::vector<float>& x, const PlainOrder& order) {
  struct Sums {
    double difference = 0, square = 0;
  };
  const auto of_chunk = [&](std::size_t begin, std::size_t end) {
    std::vector<Sums> lanes(order.lanes);
    for (std::size_t i = begin; i < end; ++i) {
      const double d = static_cast<double>(x[i]) - static_cast<double>(x[begin]);
      Sums& lane = lanes[(i - begin) % lanes.size()];
      lane.difference += d;
      lane.square = std::fma(d, d, lane.square);
    }
    const Sums sums = plain_tree(lanes, [](Sums& into, const Sums& later) {
      into.difference += later.difference;
      into.square += later.square;
    });
    const auto count = static_cast<double>(end - begin);
    const double mean = sums.difference / count;
    const double squares = std::fma(-sums.difference, mean, sums.square);
    return PlainMoments{count, static_cast<double>(x[begin]) + mean, squares < 0 ? 0 : squares};
  };
  const auto merge = [](PlainMoments& into, const PlainMoments& later) {
    if (later.count == 0) return;
    if (into.count == 0) {
      into = later;
      return;
    }
    const double count = into.count + later.count;
    const double share = later.count / count;
    const double apart = later.mean - into.mean;
    into.squares = std::fma(apart * apart, into.count * share, into.squares + later.squares);
    into.mean = std::fma(apart, share, into.mean);
    into.count = count;
  };
  return plain_chunks(x.size(), order, PlainMoments{0, 0, 0}, of_chunk, merge);
}

}  // namespace kw
