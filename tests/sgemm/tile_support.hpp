// What tests of plans of tiles share.
#pragma once

#include <stdexcept>
#include <string>

#include "sgemm/problem.hpp"

namespace kw::test {

// The tile of that name in a table of tuning.
template <class Tile, std::size_t count>
const Tile& tile_named(const Tile (&tiles)[count], const std::string& name) {
  for (const Tile& tile : tiles)
    if (tile.name == name) return tile;
  throw std::invalid_argument("no tile " + name);
}

// A product as stored, each matrix with `pad` more columns than it needs.
inline Sgemm padded_product(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t pad = 0) {
  Sgemm p;
  p.m = m;
  p.n = n;
  p.k = k;
  p.lda = k + pad;
  p.ldb = p.ldc = n + pad;
  return p;
}

}  // namespace kw::test
