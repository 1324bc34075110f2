// The least time that a product can take: the longest of its multiply-adds, its bytes and an empty
// launch.
#pragma once

#include <cstddef>
#include <optional>

#include "bench/ceilings.hpp"
#include "check/verify.hpp"
#include "check/verify_cgemm.hpp"

namespace kw::bench {

struct Roofline {
  double fp32_tflops;  // fused multiply-adds, two operations each
  double memory_gbs;
  double cache_gbs;  // where a product's bytes fit in `cache_bytes`; 0: they set no limit there
  std::size_t cache_bytes;
  double launch_us;

  // Each operand counts once, C twice where beta is not 0.
  double time_us(const check::SgemmCase& c) const;
  double time_us(const check::CgemmCase& c) const;
  double time_us(double operations, double bytes) const;
};

// What the thirds of a sweep are told apart by, the same on every device: an H200, rounded.
inline constexpr Roofline reference_roofline = {62, 4400, 7000, std::size_t{60} << 20, 2};

// The device at hand, by what was measured on it; empty where its limits are not known. `alone` as
// Options has it: a launch then takes what it takes between two events.
std::optional<Roofline> roofline_of(const Ceilings& ceilings, const Device& device, bool alone);

// By the time of reference_roofline: under 4 us, 4 to 50, over 50.
enum class Third { shortest, middle, longest };
inline constexpr int thirds = 3;

Third third_of(const check::SgemmCase& c);
Third third_of(const check::CgemmCase& c);
Third third_of_us(double us);
const char* to_string(Third third);  // "short", "middle", "long"

// Bytes that a call must move at least.
double compulsory_bytes(const check::SgemmCase& c);

}  // namespace kw::bench
