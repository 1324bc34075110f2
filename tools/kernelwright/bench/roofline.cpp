// Whole numbers below 2^53 and one division each: the same on every machine.
#include "bench/roofline.hpp"

#include <algorithm>

#include "bench/problems.hpp"

namespace kw::bench {

double compulsory_bytes(const check::SgemmCase& c) {
  const auto m = static_cast<double>(c.m);
  const auto n = static_cast<double>(c.n);
  const auto k = static_cast<double>(c.k);
  const double c_passes = c.beta == 0 ? 1 : 2;
  return 4.0 * static_cast<double>(c.batch) * (m * k + k * n + c_passes * m * n);
}

double Roofline::time_us(const check::SgemmCase& c) const {
  return time_us(work(c), compulsory_bytes(c));
}
double Roofline::time_us(const check::CgemmCase& c) const {
  return time_us(work(c), 2 * compulsory_bytes(c));
}

double Roofline::time_us(double operations, double bytes) const {
  const bool fits = bytes <= static_cast<double>(cache_bytes);
  const double gbs = fits ? cache_gbs : memory_gbs;
  const double bytes_us = gbs > 0 ? bytes / (gbs * 1e3) : 0;
  return std::max({operations / (fp32_tflops * 1e6), bytes_us, launch_us});
}

std::optional<Roofline> roofline_of(const Ceilings& ceilings, const Device& device, bool alone) {
  if (!ceilings.fp32_tflops || !ceilings.read_gbs) return std::nullopt;
  const auto& empty = ceilings.empty_kernel;
  const double launch_us = !empty ? 0 : alone ? empty->events_us : empty->graph_us;
  return Roofline{*ceilings.fp32_tflops, *ceilings.read_gbs, ceilings.cache_gbs.value_or(0),
                  device.l2_bytes, launch_us};
}

Third third_of_us(double us) {
  return us < 4 ? Third::shortest : us <= 50 ? Third::middle : Third::longest;
}

Third third_of(const check::SgemmCase& c) { return third_of_us(reference_roofline.time_us(c)); }

Third third_of(const check::CgemmCase& c) { return third_of_us(reference_roofline.time_us(c)); }

const char* to_string(Third third) {
  switch (third) {
    case Third::shortest: return "short";
    case Third::middle: return "middle";
    case Third::longest: return "long";
  }
  return "unknown";
}

}  // namespace kw::bench
