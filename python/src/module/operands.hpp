// The arrays of a call: where it runs, and that they agree about it.
#pragma once

#include <complex>
#include <initializer_list>
#include <optional>

#include "module/array.hpp"

namespace kw::python {

// Device and stream of a call.
struct Place {
  int ordinal = on_cpu;
  Stream stream = nullptr;
};

// The stream that a caller named: an int (0: the default stream), or none.
std::optional<Stream> asked_stream(nb::handle stream);

// All on one device. The stream is the caller's, else the first one that an array's package works
// on; what other packages queued on another stream is waited for.
Place place_of(std::initializer_list<const Array*> arrays, std::optional<Stream> asked);

// Refuses an `out` that may not be written, of other sizes or of another type.
void check_out(const Array& out, const Strided& sizes, kwDataType_t type);
void check_complex_out(const Array& out, const Strided& sizes);

kwMath_t to_math(nb::handle math);
// Of any number.
std::complex<float> to_complex(nb::handle number);
bool is_text(nb::handle object, const char* text);

}  // namespace kw::python
