// One rank of a measured product: whole operands for the library's own call, its parts of them for
// the distributed one, and the check of both by samples of whole rows and columns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/distributed.hpp"
#include "check/workbench.hpp"

namespace kw::bench {

enum class Measured { one, distributed, products, copies };
constexpr int measured_count = 4;

struct SampleError {
  double max = 0, sum_squares = 0, sum = 0;
  double elements = 0;
  std::int64_t failures = 0;
  std::string message;  // of the first
};

class DistributedRank {
 public:
  // Without `parts` there are only the whole matrices.
  DistributedRank(detail::GroupState& group, int rank, std::int64_t m, std::int64_t n,
                  std::int64_t k, const DistributedOptions& options, bool parts = true);

  // Fills the operands on the device; deals out A and B.
  void fill();
  // C is again what it was before any call: NaN, or where beta counts, a matrix.
  void reset(Measured what);
  // Puts a call on the streams and waits for this rank's part of it.
  void call(Measured what, int times, distributed::Timeline* timeline = nullptr);
  // Compares what `call` left in C.
  void check(Measured what, SampleError* error);
  // The same of a whole product in host memory.
  void check_host(const float* c, SampleError* error);
  const float* a() const { return a_.as<float>(); }
  const float* b() const { return b_.as<float>(); }
  void ends(float* first, float* last);
  Transfer& transfer() { return seat_.transfer(); }
  Stream stream() { return seat_.state().stream(); }

 private:
  // Rows [row0, row0 + (rows - 1) row_step] and columns likewise, of the whole product.
  struct Sample {
    std::int64_t row0, row_step, rows, col0, col_step, cols;
  };
  // `c` begins at (row0, col0) of the whole.
  void compare(const Sample& sample, const float* c, int c_device, std::int64_t ld,
               SampleError* error);
  void gather(const Sample& sample, const float* c, int c_device, std::int64_t ld,
              std::vector<float>* values);
  detail::DistributedCall distributed_call() const;
  void deal_out(const Distribution& d, const float* whole, float* part);
  MatrixView<const float> whole_a() const;
  MatrixView<const float> whole_b() const;

  detail::GroupState& group_;
  detail::Seat& seat_;
  Runtime& runtime_;
  int rank_;
  bool has_parts_;
  std::int64_t m_, n_, k_;
  DistributedOptions options_;
  Distribution da_, db_, dc_;
  check::DeviceBuffer a_, b_, c_;  // whole
  check::DeviceBuffer first_c_;    // where beta counts
  check::DeviceBuffer part_a_, part_b_, part_c_;
};

}  // namespace kw::bench
