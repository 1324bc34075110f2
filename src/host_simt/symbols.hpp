// What the running program's own symbol table tells: where __shared__ arrays are and what a
// kernel's address is called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kw::host_simt {

struct SharedSymbol {
  std::string symbol;     // mangled
  std::uintptr_t offset;  // as SharedArray's
  std::size_t bytes;
};

// Whether the array is a kernel's own, not that of a device function.
bool is_of_kernel(const SharedSymbol& array);

class ProgramSymbols {
 public:
  // Reads the table when first called.
  static const ProgramSymbols& instance();

  bool found() const { return found_; }
  // Arrays of `kernel` and of functions that are not kernels.
  std::vector<SharedSymbol> reachable_from(const void* kernel) const;
  // "shared_tile<true>"; the address as text where there is no name for it.
  std::string kernel_name(const void* kernel) const;
  // Where an array's `offset` 0 is for the calling thread.
  char* shared_base() const;

 private:
  struct Function {
    std::uintptr_t offset;
    std::string symbol;
  };

  ProgramSymbols();
  std::string kernel_symbol(const void* kernel) const;

  bool found_ = false;
  std::uintptr_t load_bias_ = 0;
  std::uintptr_t anchor_offset_ = 0;  // of the thread-local anchor
  std::vector<SharedSymbol> arrays_;
  std::vector<Function> kernels_;
};

// "as" of an array's symbol, "shared_tile<true>" of a kernel's: demangled, without namespaces,
// parameters and tags.
std::string short_name(const std::string& symbol);

}  // namespace kw::host_simt
