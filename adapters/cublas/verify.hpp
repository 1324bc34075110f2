// KERNELWRIGHT_VERIFY: every so many taken calls one is computed twice, by cuBLAS and by the
// library, and elements of both results are compared with float64.
#pragma once

#include <cstdint>
#include <vector>

#include "serve.hpp"
#include "session.hpp"

namespace kw::cublas {

class Verification {
 public:
  // Before the library computes the call: where it is one to verify, lets cuBLAS compute it, keeps
  // elements of that result and puts C back as it was. Waits for the stream.
  Verification(Session& session, const Call& call, Tally* tally, bool captured,
               const Forward& forward);
  // After it: compares.
  void compare() const;

 private:
  struct Element {
    std::int64_t entry, i, j;
    // The value in float64, and what an error is measured by: that of the sum, of which an
    // activation makes no more than 1.2 times.
    double exact, scale;
    float vendor;
  };
  bool prepare(const Forward& forward);
  bool read_exact(Element* element) const;
  bool read_addends(const Element& element, double* of_c, double* bias) const;
  bool read_result(const Element& element, float* value) const;

  Session& session_;
  const Call& call_;
  Tally* tally_;
  std::vector<Element> elements_;
};

}  // namespace kw::cublas
