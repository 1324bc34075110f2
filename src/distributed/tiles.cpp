// Tilings and their steps.
#include "distributed/tiles.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "distributed/rates.hpp"

namespace kw::distributed {

namespace {

constexpr double tile_float_bytes = 4;
// From host to device through pinned buffers, and back at the same time: a fraction of what the
// link has, for the host's memory is read and written twice.
constexpr double link_bytes_per_us = 25e3;
constexpr double most_workspace = 4.0 * (std::int64_t{1} << 30);  // math.hpp

double as_double(std::int64_t value) { return static_cast<double>(value); }

std::int64_t parts(std::int64_t length, std::int64_t tile) { return (length + tile - 1) / tile; }

// Tiles as equal as they can be, in multiples of 256 where there are several.
std::int64_t evened(std::int64_t length, std::int64_t tile) {
  const std::int64_t count = parts(length, tile);
  if (count == 1) return length;
  const std::int64_t each = (length + count - 1) / count;
  return std::min(tile, (each + 255) / 256 * 256);
}

double predicted_us(const Tiling& t, Math math) {
  const double edge = std::cbrt(as_double(t.tile_m) * as_double(t.tile_n) * as_double(t.tile_k));
  const double rate = interpolated(h200_rates.products(math, true), edge);
  const double c_bytes = tile_float_bytes * as_double(t.m) * as_double(t.n);
  const auto passes = as_double(parts(t.k, t.tile_k));  // over C, each but the first reads it too
  const double steps = passes * as_double(parts(t.m, t.tile_m)) * as_double(parts(t.n, t.tile_n));
  const double products = 2 * as_double(t.m) * as_double(t.n) * as_double(t.k) / (rate * 1e6) +
                          2 * (passes - 1) * c_bytes / (h200_rates.memory_gbs.value * 1e3) +
                          steps * step_us.value;
  const double first = tile_float_bytes * as_double(t.tile_k) * as_double(t.tile_m + t.tile_n);
  const double last = tile_float_bytes * as_double(t.tile_m) * as_double(t.tile_n);
  return std::max({products, t.bytes_in() / link_bytes_per_us, t.bytes_out() / link_bytes_per_us}) +
         (first + last) / link_bytes_per_us;
}

Tiling make_tiling(std::int64_t m, std::int64_t n, std::int64_t k, Math math, std::int64_t tile_m,
                   std::int64_t tile_n, std::int64_t tile_k, bool keeps_b) {
  Tiling t;
  t.m = m;
  t.n = n;
  t.k = k;
  t.tile_m = evened(m, tile_m);
  t.tile_n = evened(n, tile_n);
  t.tile_k = evened(k, tile_k);
  // All of a strip of B stays while the tiles of A go past, or none does.
  t.slots_b = keeps_b ? static_cast<int>(std::max<std::int64_t>(2, parts(k, t.tile_k))) : 2;
  if (math == Math::fp32_split) {
    t.workspace_bytes = static_cast<std::size_t>(
        std::min(most_workspace, 6 * as_double(t.tile_m + t.tile_n) * as_double(t.tile_k)));
  }
  return t;
}

// A slot holds one tile, and is free once the last product that uses it has ended.
class Slots {
 public:
  explicit Slots(int count)
      : keys_(static_cast<std::size_t>(count), {-1, -1}),
        users_(static_cast<std::size_t>(count), -1) {}

  Placed place(std::pair<std::int64_t, std::int64_t> key, int step) {
    const auto found = std::find(keys_.begin(), keys_.end(), key);
    const bool is_here = found != keys_.end();
    const auto slot = static_cast<std::size_t>(
        is_here ? found - keys_.begin()
                : std::min_element(users_.begin(), users_.end()) - users_.begin());
    const Placed placed{static_cast<int>(slot), !is_here, is_here ? -1 : users_[slot]};
    keys_[slot] = key;
    users_[slot] = step;
    return placed;
  }

 private:
  std::vector<std::pair<std::int64_t, std::int64_t>> keys_;
  std::vector<int> users_;
};

}  // namespace

double Tiling::bytes() const {
  return tile_float_bytes * (slots_a * as_double(tile_m) * as_double(tile_k) +
                             slots_b * as_double(tile_k) * as_double(tile_n) +
                             2 * as_double(tile_m) * as_double(tile_n)) +
         static_cast<double>(workspace_bytes);
}

double Tiling::bytes_in() const {
  const std::int64_t times_b = slots_b >= parts(k, tile_k) ? 1 : parts(m, tile_m);
  return tile_float_bytes * as_double(k) *
         (as_double(m) * as_double(parts(n, tile_n)) + as_double(n) * as_double(times_b));
}

double Tiling::bytes_out() const { return tile_float_bytes * as_double(m) * as_double(n); }

std::optional<Tiling> choose_tiling(std::int64_t m, std::int64_t n, std::int64_t k, Math math,
                                    double device_bytes) {
  std::optional<Tiling> best;
  double least = std::numeric_limits<double>::infinity();
  constexpr std::int64_t smallest = 16, largest = std::int64_t{1} << 16;
  for (std::int64_t tile_m = smallest; tile_m <= largest; tile_m *= 2) {
    for (std::int64_t tile_n = smallest; tile_n <= largest; tile_n *= 2) {
      for (std::int64_t tile_k = smallest; tile_k <= largest; tile_k *= 2) {
        for (bool keeps_b : {true, false}) {
          const Tiling tiling = make_tiling(m, n, k, math, tile_m, tile_n, tile_k, keeps_b);
          const double us = predicted_us(tiling, math);
          if (tiling.bytes() > device_bytes || us >= least) continue;
          least = us;
          best = tiling;
        }
      }
    }
  }
  return best;
}

std::vector<TileStep> make_steps(const Tiling& t) {
  std::vector<TileStep> steps;
  Slots a(t.slots_a), b(t.slots_b);
  int tile = 0;
  for (std::int64_t j = 0; j < t.n; j += t.tile_n) {
    for (std::int64_t i = 0; i < t.m; i += t.tile_m, ++tile) {
      for (std::int64_t p = 0; p < t.k; p += t.tile_k) {
        TileStep step;
        step.i = i;
        step.j = j;
        step.p = p;
        step.m = std::min(t.tile_m, t.m - i);
        step.n = std::min(t.tile_n, t.n - j);
        step.k = std::min(t.tile_k, t.k - p);
        const int number = static_cast<int>(steps.size());
        step.a = a.place({i, p}, number);
        step.b = b.place({p, j}, number);
        step.tile = tile;
        step.is_first = p == 0;
        step.is_last = p + step.k == t.k;
        steps.push_back(step);
      }
    }
  }
  return steps;
}

}  // namespace kw::distributed
