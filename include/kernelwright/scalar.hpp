// A scalar argument: its value, or where it lies in the device's memory.
#pragma once

namespace kw {

/// alpha and beta of a product. A number converts by itself; `Scalar::at` names a float in the
/// memory of the context's device that the call's work reads when it runs: what is written there
/// earlier on the same stream counts, and the call waits for nothing.
class Scalar {
 public:
  Scalar(float value) : value_(value) {}

  static Scalar at(const float* address) {
    Scalar scalar(1);
    scalar.address_ = address;
    scalar.is_on_device_ = true;
    return scalar;
  }

  bool is_on_device() const { return is_on_device_; }
  /// Where it is on the device, 1.
  float value() const { return value_; }
  /// Where it is a value, null.
  const float* address() const { return address_; }

  /// Whether it is known to be this value: never where it lies on the device.
  bool is(float number) const { return !is_on_device_ && value_ == number; }

 private:
  float value_;
  const float* address_ = nullptr;
  bool is_on_device_ = false;
};

}  // namespace kw
