// The cuBLAS that the program loaded: where calls are forwarded to, and its getters.
#pragma once

#include <cstddef>
#include <cstdint>

#include "abi.hpp"
#include "symbols.hpp"

namespace kw::cublas {

// The program's own function of a hooked symbol; null where no cuBLAS is loaded. It is looked for
// once a symbol: in the dependencies of the object that `caller`, an address in its code, belongs
// to; then behind this library in the program's global scope; then in a cuBLAS that is loaded
// anywhere. A library that was found stays loaded, so the address stays good.
void* vendor_function(Symbol symbol, const void* caller);

// The same for a program that looked the symbol up by itself and got `found`.
void note_vendor_function(Symbol symbol, void* found);

// The getters of the library that the hooked function came from. Null functions where it has none.
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
const Getters& getters_beside(void* vendor_function);
const LtGetters& lt_getters_beside(void* vendor_function);

// The hook of a symbol by its name; null where there is none.
void* hook_of(const char* name, Symbol* symbol);

// The C library's dlsym, whatever this library exports under that name.
using Dlsym = void* (*)(void* handle, const char* name);
Dlsym real_dlsym();

}  // namespace kw::cublas
