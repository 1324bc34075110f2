// Views of matrices that the caller owns. A view is a pointer and numbers: it allocates nothing,
// copies nothing and is checked by the call that it is passed to.
#pragma once

#include <cstdint>
#include <type_traits>

namespace kw {

/// Which index moves fastest in memory.
enum class Layout : int {
  row_major = 0,  ///< element (i, j) at data[i * ld + j], ld >= cols
  col_major = 1,  ///< element (i, j) at data[i + j * ld], ld >= rows
};

/// What a product does with a stored matrix before it uses it.
enum class Op : int {
  none = 0,
  transpose = 1,
  conjugate_transpose = 2,  ///< of complex matrices only (cgemm.hpp)
};

/// `rows` x `cols` elements as they are stored, before `op`. Sizes and `ld` count elements.
template <class T>
struct MatrixView {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t ld = 0;
  Layout layout = Layout::row_major;
  Op op = Op::none;

  /// Rows and columns after `op`.
  std::int64_t op_rows() const { return op == Op::none ? rows : cols; }
  std::int64_t op_cols() const { return op == Op::none ? cols : rows; }

  /// A view that may write serves wherever one that only reads is asked for.
  template <class U, std::enable_if_t<std::is_same_v<U, const T> && !std::is_const_v<T>, int> = 0>
  operator MatrixView<U>() const {
    return {data, rows, cols, ld, layout, op};
  }
};

/// A row-major view with a leading dimension of its own.
template <class T>
MatrixView<T> row_major(T* data, std::int64_t rows, std::int64_t cols, std::int64_t ld) {
  return {data, rows, cols, ld, Layout::row_major, Op::none};
}

/// A dense row-major view.
template <class T>
MatrixView<T> row_major(T* data, std::int64_t rows, std::int64_t cols) {
  return row_major(data, rows, cols, cols);
}

/// A column-major view with a leading dimension of its own.
template <class T>
MatrixView<T> col_major(T* data, std::int64_t rows, std::int64_t cols, std::int64_t ld) {
  return {data, rows, cols, ld, Layout::col_major, Op::none};
}

/// A dense column-major view.
template <class T>
MatrixView<T> col_major(T* data, std::int64_t rows, std::int64_t cols) {
  return col_major(data, rows, cols, rows);
}

/// Matrices of one shape, entry i at pointers[i].
template <class T>
struct MatrixPointers {
  T* const* pointers = nullptr;  ///< in the device's memory
  MatrixView<T> shape;           ///< of every entry; its data is not looked at

  /// Pointers to matrices that may be written serve wherever ones that are only read are asked for.
  template <class U, std::enable_if_t<std::is_same_v<U, const T> && !std::is_const_v<T>, int> = 0>
  operator MatrixPointers<U>() const {
    return {pointers, shape};
  }
};

/// The same memory, used transposed; of a view whose op is none or transpose.
template <class T>
MatrixView<T> transposed(MatrixView<T> view) {
  view.op = view.op == Op::none ? Op::transpose : Op::none;
  return view;
}

}  // namespace kw
