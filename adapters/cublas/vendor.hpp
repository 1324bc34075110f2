// The cuBLAS and cuSOLVER that the program loaded: where calls are forwarded to, and their getters.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi.hpp"
#include "forms.hpp"
#include "symbols.hpp"

namespace kw::cublas {

// The getters of a cuBLAS or cuBLASLt. Null functions where it has none.
struct Getters {
  Status (*stream)(Handle, Stream*) = nullptr;
  Status (*pointer_mode)(Handle, Enum*) = nullptr;
  Status (*math_mode)(Handle, Enum*) = nullptr;
  bool complete() const { return stream && pointer_mode && math_mode; }
};
struct LtGetters {
  Status (*matmul)(void* description, Enum attribute, void* value, std::size_t bytes,
                   std::size_t* written) = nullptr;
  Status (*layout)(void* layout, Enum attribute, void* value, std::size_t bytes,
                   std::size_t* written) = nullptr;
  bool complete() const { return matmul && layout; }
};

// Of cuSOLVER, and how much workspace a factorisation needs.
struct SolverGetters {
  Status (*stream)(Handle, Stream*) = nullptr;
  Status (*potrf_size)(KW_PARAMETERS_potrf_size(int)) = nullptr;
  Status (*xpotrf_size)(KW_PARAMETERS_xpotrf_size(std::int64_t)) = nullptr;
};

// The program's own function of a hooked symbol, and what is beside it.
struct Vendor {
  void* function = nullptr;
  Getters getters;
  LtGetters lt_getters;
  SolverGetters solver;
};

// For a call from `caller`, an address in the program's code: null where none is loaded. It is
// looked for once a caller: in the dependencies of the object that the caller belongs to, so that
// two versions of cuBLAS in one process keep apart; then what a program looked up by itself; then
// behind this library in the program's global scope; then in a cuBLAS that is loaded anywhere. A
// library that was found stays loaded, so the addresses stay good.
const Vendor* vendor_of(Symbol symbol, const void* caller);

// A program looked the symbol up by itself and got `found`.
void note_looked_up(Symbol symbol, void* found);

// The hook of a symbol by its name; null where there is none.
void* hook_of(const char* name, Symbol* symbol);

// The C library's dlsym, whatever this library exports under that name.
using Dlsym = void* (*)(void* handle, const char* name);
Dlsym real_dlsym();

}  // namespace kw::cublas
