// What functions of plain matrices, without batches, ask of their arrays.
#pragma once

#include "module/operands.hpp"

namespace kw::python {

// A float32 matrix that BLAS can express, copied where it is not.
Array matrix_of(nb::handle object, const char* name, std::optional<Stream> work,
                const Array* beside = nullptr);

// The same of float32 or complex64.
Array any_matrix_of(nb::handle object, const char* name, std::optional<Stream> work,
                    const Array* beside = nullptr);

Strided sizes_of(std::int64_t rows, std::int64_t cols);

// `out`, of these sizes and such that a call can write it, or a new matrix beside `like`.
Array result_of(nb::handle out, const Array& like, const Strided& sizes,
                std::optional<Stream> work);

}  // namespace kw::python
