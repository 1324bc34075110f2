// The sizes of a product, and what does not fit.
#include <algorithm>
#include <string>

#include "core/error.hpp"
#include "core/product.hpp"

namespace kw::python {

namespace {

std::string shape_text(const Strided& array) {
  std::string text = "(";
  for (int i = 0; i < array.dimensions; ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(array.size[i]);
  }
  return text + (array.dimensions == 1 ? ",)" : ")");
}

}  // namespace

Strided as_rows(const Strided& a) {
  if (a.dimensions != 1) return a;
  Strided made;
  made.data = a.data;
  made.append(1, a.size[0]);
  made.append(a.size[0], a.stride[0]);
  return made;
}

Strided as_columns(const Strided& b) {
  if (b.dimensions != 1) return b;
  Strided made;
  made.data = b.data;
  made.append(b.size[0], b.stride[0]);
  made.append(1, 1);
  return made;
}

ProductSize product_size(const Strided& a, const Strided& b) {
  if (a.dimensions == 0 || b.dimensions == 0) {
    refuse(a.dimensions == 0 ? "a" : "b",
           " has no dimension: pass a vector, a matrix or a batch of matrices");
  }
  const Strided rows = as_rows(a), columns = as_columns(b);
  const int ra = rows.dimensions, rb = columns.dimensions;
  ProductSize found;
  found.m = rows.size[ra - 2];
  found.k = rows.size[ra - 1];
  found.n = columns.size[rb - 1];
  if (columns.size[rb - 2] != found.k) {
    refuse("a is ", shape_text(a), " and b is ", shape_text(b), ": a has ", found.k,
           " columns and b has ", columns.size[rb - 2], " rows, which must be as many");
  }
  const int count = std::max(ra, rb) - 2;
  for (int i = 0; i < count; ++i) {
    const int in_rows = i - (count - (ra - 2)), in_columns = i - (count - (rb - 2));
    const std::int64_t x = in_rows < 0 ? 1 : rows.size[in_rows];
    const std::int64_t y = in_columns < 0 ? 1 : columns.size[in_columns];
    if (x != y && x != 1 && y != 1) {
      refuse("a is ", shape_text(a), " and b is ", shape_text(b), ": batch sizes ", x, " and ", y,
             " differ, and neither is 1");
    }
    found.result.append(x == 1 ? y : x, 0);
  }
  if (a.dimensions > 1) found.result.append(found.m, 0);
  if (b.dimensions > 1) found.result.append(found.n, 0);
  return found;
}

}  // namespace kw::python
