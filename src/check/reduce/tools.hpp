// The parts of a reduction's check that run where the data lies: filling arrays, the oracle, the
// judges. One table a kind of memory, as in tools.hpp; element types are looked up within.
#pragma once

#include <cmath>
#include <cstdint>

#include "check/elementwise.hpp"
#include "check/reduce/data.hpp"
#include "check/reduce/oracle.hpp"
#include "gpu/device.hpp"
#include "kernel.hpp"

namespace kw::check {

// The elements of a matrix whose rows are ld apart, nothing between them.
struct FillElements {
  void* data = nullptr;
  std::int64_t rows = 1, cols = 0, ld = 0;
  ElementStream values;  // its type is that of the elements
};

// Fails for every element of an allocation that is neither as FillElements left it nor, outside of
// the matrix, made of canary bytes. The inside of an output is left out.
struct JudgeElements {
  const void* base = nullptr;
  Placement place;  // in elements
  ElementStream values;
  unsigned char canary = 0;
  bool skip_inside = false;
};

// Results against their references.
struct JudgeReduce {
  const void* out = nullptr;
  DataType type = DataType::float32;  // of the results
  std::int64_t results = 0;
  bool pairs = false;  // two results a reference
  const Reference* references = nullptr;
  double of_result = 0, of_magnitude = 0;  // what an error may be, as shares of these
  bool strict = true;  // a NaN must be the canonical one, a zero have the right sign
};

struct ReduceTools {
  Status (*fill)(const FillElements&, Stream);
  Status (*oracle)(const ReduceOracle&, Stream);
  Status (*judge_elements)(const JudgeElements&, Partial* partials, Stream);
  Status (*judge_results)(const JudgeReduce&, Partial* partials, Stream);
};

const ReduceTools& cpu_reduce_tools();
const ReduceTools& reduce_tools_for(const Device& device);

// How many pieces a sequence is best cut into, and the scratch memory that the findings of all
// pieces take.
std::int64_t oracle_pieces(ReduceShape shape, std::int64_t sequences, std::int64_t elements);
std::size_t oracle_scratch_bytes(std::int64_t sequences, std::int64_t pieces);

// The same as function objects for one element type.
template <class T>
struct FillEach {
  FillElements fill;

  KW_HOST_DEVICE std::int64_t size() const { return fill.rows * fill.cols; }
  KW_HOST_DEVICE void operator()(std::int64_t i) const {
    static_cast<T*>(fill.data)[i / fill.cols * fill.ld + i % fill.cols] =
        element<T>(fill.values, i);
  }
};

template <class T>
struct JudgeEachElement {
  JudgeElements judge;

  KW_HOST_DEVICE std::int64_t size() const { return judge.place.total; }
  KW_HOST_DEVICE void operator()(std::int64_t i, Partial& found) const {
    const std::int64_t inside = judge.place.element_at(i);
    if (inside >= 0 && judge.skip_inside) return;
    using Bits = ElementBits<T>;
    const auto canary = static_cast<Bits>(static_cast<Bits>(~Bits{0}) / 255 * judge.canary);
    const Bits want = inside < 0 ? canary : element_bits(element<T>(judge.values, inside));
    if (static_cast<const Bits*>(judge.base)[i] != want) add_failure(found, i);
  }
};

template <class R>
struct JudgeEachResult {
  JudgeReduce judge;

  KW_HOST_DEVICE std::int64_t size() const { return judge.results; }
  KW_HOST_DEVICE const Reference& reference(std::int64_t i) const {
    return judge.references[judge.pairs ? i / 2 : i];
  }
  KW_HOST_DEVICE R want(std::int64_t i) const {
    const std::int64_t which = judge.pairs ? i % 2 : 0;
    if constexpr (std::is_integral_v<R>)
      return static_cast<R>(reference(i).whole[which]);
    else
      return rounded_to<R>(reference(i).value[which]);
  }
  KW_HOST_DEVICE void operator()(std::int64_t i, Partial& found) const {
    const R got = static_cast<const R*>(judge.out)[i];
    const R wanted = want(i);
    if (element_bits(got) == element_bits(wanted)) return add_error(found, 0);
    if constexpr (std::is_integral_v<R>) {
      add_error(found, static_cast<double>(got) - static_cast<double>(wanted));
      return add_failure(found, i);
    } else {
      judge_inexact(i, static_cast<double>(to_value(got)), static_cast<double>(to_value(wanted)),
                    found);
    }
  }

 private:
  KW_HOST_DEVICE void judge_inexact(std::int64_t i, double got, double wanted,
                                    Partial& found) const {
    const bool alike = (is_nan(got) && is_nan(wanted)) || (got == 0 && wanted == 0);
    if (alike && !judge.strict) return add_error(found, 0);
    const Reference& r = reference(i);
    // Against what the result is before it is rounded, but where that is out of the type's range.
    const bool overflows = fabs(wanted) > 0x1.fffffffffffffp1023;
    const double exact = overflows ? wanted : r.value[judge.pairs ? i % 2 : 0];
    const double error = got - exact;
    const double tolerance = judge.of_result * fabs(exact) + judge.of_magnitude * r.magnitude;
    const double subnormal = tolerance > 0 ? smallest_subnormal_of<R>() : 0;
    const double unit = unit_roundoff * fmax(fabs(exact), r.magnitude);
    add_error(found, error == 0 ? 0 : error / unit);
    if (!(fabs(error) <= tolerance + subnormal) || (alike && judge.strict)) add_failure(found, i);
  }

  template <class Result>
  KW_HOST_DEVICE static constexpr double smallest_subnormal_of() {
    return std::is_same_v<Result, double> ? 0x1p-1074 : smallest_subnormal;
  }
};

}  // namespace kw::check

// The table that tools.cu makes of the same text, by each compiler that this build has.
namespace kw::on_cuda::check {
const kw::check::ReduceTools& reduce_tools();
}
namespace kw::on_hip::check {
const kw::check::ReduceTools& reduce_tools();
}
namespace kw::on_host::check {
const kw::check::ReduceTools& reduce_tools();
}
