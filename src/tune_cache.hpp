// Measured choices among kernels, kept in a file: for an exact shape, the kernel that was fastest
// on this device. Text, one line per problem, written by `kernelwright tune`:
//
//   kernelwright tune cache | 1 | 0.1.0 | NVIDIA H200 | 13.0        format, library, device, driver
//   sgemm 4096 4096 4096 n t 1 -> stream_256x128 2700.5 us          m n k op_a op_b batch
//
// Choices are for plain fp32; other arithmetic follows the rule (select.hpp).
//
// A file of another format, library version, device or driver is not used: its choices may be wrong
// there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "sgemm/problem.hpp"

namespace kw {

// What a choice is kept for: problems that differ in nothing else share it.
struct TuneKey {
  std::int64_t m = 0, n = 0, k = 0;
  Op op_a = Op::none, op_b = Op::none;
  std::int64_t batch = 1;

  friend bool operator<(const TuneKey& x, const TuneKey& y) {
    return std::tie(x.m, x.n, x.k, x.op_a, x.op_b, x.batch) <
           std::tie(y.m, y.n, y.k, y.op_a, y.op_b, y.batch);
  }
};

struct TuneChoice {
  std::string kernel;
  double us = 0;
};

inline TuneKey tune_key(const Sgemm& p) { return {p.m, p.n, p.k, p.op_a, p.op_b, p.batch}; }

class TuneCache {
 public:
  // All of a file or, with a status that names it and the reason, nothing.
  static Status read(const std::string& path, const Device& device, TuneCache* cache);
  // Whether a file begins as a tune cache does, usable here or not.
  static bool is_one(const std::string& path);
  // Replaces what is there as a whole: it renames a temporary file beside it.
  Status write(const std::string& path, const Device& device) const;

  void set(const TuneKey& key, TuneChoice choice) { choices_[key] = std::move(choice); }
  const std::map<TuneKey, TuneChoice>& choices() const { return choices_; }

 private:
  std::map<TuneKey, TuneChoice> choices_;
};

// In fp32 the kernel of the cache, if it is in the list, computes in fp32 and supports the problem;
// else the rule's (select.hpp). Nothing where no kernel computes it.
std::optional<Choice<Sgemm>> choose_kernel(const Sgemm& problem, const Device& device,
                                           const KernelList<Sgemm>& kernels, const TuneCache& cache,
                                           Math math);

}  // namespace kw
