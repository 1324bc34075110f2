// What the accuracy suite computes over, as files for other programs: raw little-endian numbers in
// row-major order, and an index of them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "check/accuracy/trial.hpp"

namespace kw {

class AccuracyDump {
 public:
  // Makes the folder where it is missing; throws UsageError where it cannot.
  explicit AccuracyDump(const std::string& folder);

  // A and B as float32, float64's product and |A| |B|. Classes other than plain products (scaled,
  // transposed, padded, empty) are left out.
  void add(const check::AccuracyClass& of, const check::SgemmCase& c,
           const check::AccuracyTrial& trial);
  void write_index(const std::string& command, const Device& device, std::int64_t size);

 private:
  void write(const std::string& name, const void* data, std::size_t bytes) const;

  std::string folder_;
  nlohmann::ordered_json items_ = nlohmann::ordered_json::array();
};

}  // namespace kw
