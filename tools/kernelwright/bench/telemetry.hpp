// SM clock and board power of a GPU while it works on one thing after the other.
#pragma once

#include <memory>
#include <optional>

#include "gpu/device.hpp"

namespace kw::bench {

// A background thread samples for as long as this lives. Each sample counts for the slot that was
// active when it was taken; a slot too short to have been sampled gets one when it ends.
class Telemetry {
 public:
  struct Reading {
    std::optional<double> sm_clock_mhz, power_w;  // means over a slot's samples
  };

  // Inert where there is no GPU or no NVML.
  explicit Telemetry(const Device& device);
  ~Telemetry();
  Telemetry(const Telemetry&) = delete;
  Telemetry& operator=(const Telemetry&) = delete;

  // Forgets all readings and makes room for slots 0 .. count - 1.
  void reset(int count);
  void begin(int slot);
  void end();
  Reading reading(int slot) const;

 private:
  class Sampler;
  std::unique_ptr<Sampler> sampler_;
};

}  // namespace kw::bench
