// The checks that every call makes of its matrices before anything is written.
#pragma once

#include <cstdint>
#include <string>

#include "kernelwright/matrix.hpp"
#include "kernelwright/scalar.hpp"
#include "status.hpp"

namespace kw::detail {

// A matrix as a call names it: 'a' stands for the arguments "a" and "lda" and is called A in
// messages.
struct Operand {
  char letter;
  MatrixView<const float> view;
  // Of a batch: how many such matrices, this many elements apart.
  std::int64_t entries = 1;
  std::int64_t stride = 0;
  int element_bytes = sizeof(float);  // twice that of a complex matrix

  bool is_complex() const { return element_bytes > static_cast<int>(sizeof(float)); }
  std::string argument() const { return {letter}; }
  std::string ld_argument() const { return std::string("ld") + letter; }
  std::string stride_argument() const { return std::string("stride_") + letter; }
  std::string name() const { return {static_cast<char>(letter - 'a' + 'A')}; }
  // "A (row-major, 4 x 5)"
  std::string description() const;
  // "lda 5", "lda 5 and stride_a 20 (7 entries)"
  std::string steps() const;

  // Lines are what ld separates: rows of a row-major matrix, columns of a column-major one.
  std::int64_t lines() const { return view.layout == Layout::row_major ? view.rows : view.cols; }
  std::int64_t width() const { return view.layout == Layout::row_major ? view.cols : view.rows; }
  bool empty() const { return view.rows == 0 || view.cols == 0 || entries == 0; }
};

Status invalid(std::string message, std::string argument);

// Numbers in place of enumerators, as only C or a cast can pass them.
Status check_layout(int layout, const char* argument);
Status check_op(int op, const char* argument, bool is_complex = false);
// "m is -1: pass 0 or more"
Status check_size(std::int64_t size, const char* argument);

// Enumerators, sizes and ld, and that every byte offset fits 64 bits: all that needs no address.
Status check_view(const Operand& operand);
Status check_square(const Operand& operand);
// An argument of two values, such as uplo, and what they mean.
Status check_choice(int value, const char* argument, const char* zero, const char* one);
// For an operand that is read or written: not null unless empty, aligned, within the address space.
Status check_data(const Operand& operand);
// An output cannot be written transposed.
Status check_not_transposed(const Operand& output);
// Fails only where an element of `output` provably is one of `input`.
Status check_no_shared_element(const Operand& output, const Operand& input);
// Fails only where two entries of `output` provably have an element in common.
Status check_entries_apart(const Operand& output);
// Not negative.
Status check_stride(const Operand& operand);
// Of a scalar on the device: that its address is one, and that `output` does not hold it.
Status check_scalar(const Scalar& scalar, const char* argument, int element_bytes = sizeof(float));
Status check_scalar_outside(const Scalar& scalar, const char* argument, const Operand& output);
// Of an array of pointers in device memory, one per entry.
Status check_pointers(const void* pointers, std::int64_t entries, const char* argument);

}  // namespace kw::detail
