// Matrices of other packages' arrays.
#include "module/matrices.hpp"

#include <utility>

#include "core/error.hpp"
#include "core/matrix.hpp"

namespace kw::python {

Array matrix_of(nb::handle object, const char* name, std::optional<Stream> work,
                const Array* beside) {
  Array array = Array::of(object, name, work, false, beside);
  if (!array.is(KW_FLOAT32)) {
    throw nb::type_error(sentence(name, " must have elements of type float32: convert it").c_str());
  }
  if (array.view().dimensions != 2) {
    refuse(name, " has ", array.view().dimensions, " dimensions: pass a matrix");
  }
  return is_expressible(array.view()) ? std::move(array) : array.dense_copy();
}

Array any_matrix_of(nb::handle object, const char* name, std::optional<Stream> work,
                    const Array* beside) {
  Array array = Array::of(object, name, work, false, beside);
  if (!array.is(KW_FLOAT32) && !array.is_complex64()) {
    throw nb::type_error(
        sentence(name, " must have elements of type float32 or complex64: convert it").c_str());
  }
  if (array.view().dimensions != 2) {
    refuse(name, " has ", array.view().dimensions, " dimensions: pass a matrix");
  }
  return is_expressible(array.view()) ? std::move(array) : array.dense_copy();
}

Strided sizes_of(std::int64_t rows, std::int64_t cols) {
  Strided sizes;
  sizes.append(rows, 0);
  sizes.append(cols, 0);
  return sizes;
}

Array result_of(nb::handle out, const Array& like, const Strided& sizes,
                std::optional<Stream> work) {
  const bool is_complex = like.is_complex64();
  if (out.is_none())
    return is_complex ? Array::made_complex64(like, sizes) : Array::made(like, sizes, KW_FLOAT32);
  Array array = Array::of(out, "out", work, false, &like);
  if (is_complex)
    check_complex_out(array, sizes);
  else
    check_out(array, sizes, KW_FLOAT32);
  if (!is_expressible(array.view())) {
    refuse("out has strides of ", array.view().stride[0], " and ", array.view().stride[1],
           " elements: pass a matrix whose rows or columns are dense");
  }
  return array;
}

}  // namespace kw::python
