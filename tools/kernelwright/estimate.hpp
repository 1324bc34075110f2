// How long the rest of some work takes, judged by the parts of it that are done.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace kw {

class Estimate {
 public:
  // A part takes `fixed_s` seconds, known beforehand, and more in proportion to its work (in any
  // unit).
  struct Part {
    double fixed_s = 0;
    double work = 1;
  };

  Estimate() = default;
  explicit Estimate(std::vector<Part> parts) : parts_(std::move(parts)) {}

  // The next part in order took so many seconds.
  void done(double seconds);
  std::size_t parts() const { return parts_.size(); }
  std::size_t parts_done() const { return done_; }

  // Seconds for the parts that are left, of which the next one has been under way for `spent_s`.
  // Empty before a part is done.
  std::optional<double> remaining_s(double spent_s) const;

 private:
  std::vector<Part> parts_;
  std::size_t done_ = 0;
  double work_done_ = 0, work_seconds_ = 0;
};

// "40 s", "3 min", "2 h 10 min".
std::string duration_text(double seconds);

}  // namespace kw
