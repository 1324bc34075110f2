// A Cholesky factorisation on a GPU, column after column: the first half of the columns is factored
// over all rows, what it takes from the other half is one product, of which the triangle and the
// rows below it are wanted, and then the other half is factored. Panels of some columns are
// factored by themselves (cholesky_panel.hpp); so each row meets a triangle once, and no system is
// solved apart. Where sums shall not be long, fewer columns than half come first.
//
// Method  Recursion over columns: Toledo 1997, Gustavson 1997; the residual of each element stays
//         within that of sums of n + 1 products (Higham 2002, theorem 10.3).
#pragma once

#include <algorithm>
#include <cstdint>

#include "level3/halves.hpp"
#include "level3/problem.hpp"
#include "sgemm/problem.hpp"

namespace kw::level3 {

// A triangle on the diagonal and the rows below it, of which there are some only where the triangle
// is as large as a panel can be: the element of L in a row and a column is a[row * row_step + col *
// col_step], where row >= col; one of the steps is 1. `first`: of its first row in the matrix.
struct CholeskyPanel {
  float* a;
  std::int64_t row_step, col_step;
  int size;
  std::int64_t below;
  std::int64_t first;
  int* info;
};

class CholeskyColumns {
 public:
  // Panels of so many columns, and no product that sums over more than `most_k` of them.
  CholeskyColumns(const Level3& p, std::int64_t columns, std::int64_t most_k)
      : p_(p), columns_(columns), most_k_(most_k) {}

  // Calls panel(CholeskyPanel) and update(Sgemm) in the order of a factorisation, as long as they
  // succeed. There is a panel even of an empty matrix.
  template <class Panel, class Update>
  Status each_step(const Panel& panel, const Update& update) const {
    return factor(0, p_.m, 0, panel, update);
  }

 private:
  template <class Panel, class Update>
  Status factor(std::int64_t first, std::int64_t size, std::int64_t below, const Panel& panel,
                const Update& update) const {
    if (size <= columns_) return panel(panel_of(first, size, below));
    const std::int64_t part = std::min(first_part(size, columns_), most_k_), left = size - part;
    Status factored = factor(first, part, below + left, panel, update);
    if (!factored.ok()) return factored;
    const Status updated = update(update_of(first, part, left, below));
    return updated.ok() ? factor(first + part, left, below, panel, update) : updated;
  }

  bool is_lower() const { return p_.triangle == Triangle::lower; }
  float* at(std::int64_t row, std::int64_t col) const {
    return is_lower() ? p_.c + row * p_.ldc + col : p_.c + col * p_.ldc + row;
  }

  CholeskyPanel panel_of(std::int64_t first, std::int64_t size, std::int64_t below) const {
    return {.a = at(first, first),
            .row_step = is_lower() ? p_.ldc : 1,
            .col_step = is_lower() ? 1 : p_.ldc,
            .size = static_cast<int>(size),
            .below = below,
            .first = first,
            .info = p_.info};
  }
  // The rows from first + part on lose, in the `left` columns from there on, the product of the
  // `part` columns before; of U, which lies transposed, columns and rows.
  Sgemm update_of(std::int64_t first, std::int64_t part, std::int64_t left,
                  std::int64_t below) const {
    const std::int64_t at_next = first + part;
    Sgemm update;
    update.triangle = p_.triangle;
    update.m = is_lower() ? left + below : left;
    update.n = is_lower() ? left : left + below;
    update.k = part;
    update.alpha = -1;
    update.beta = 1;
    update.op_a = is_lower() ? Op::none : Op::transpose;
    update.op_b = is_lower() ? Op::transpose : Op::none;
    update.a = update.b = at(at_next, first);
    update.c = at(at_next, at_next);
    update.lda = update.ldb = update.ldc = p_.ldc;
    return update;
  }

  const Level3& p_;
  const std::int64_t columns_, most_k_;
};

}  // namespace kw::level3
