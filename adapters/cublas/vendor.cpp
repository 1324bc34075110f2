// Finding cuBLAS without naming one at build time, and without loading one.
#include "vendor.hpp"

#include <dlfcn.h>
#include <link.h>

#include <atomic>

namespace kw::cublas {

namespace {

std::atomic<void*> functions[symbol_count];

// What may be loaded, newest first.
constexpr const char* cublas_names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
                                        "libcublas.so"};
constexpr const char* cublas_lt_names[] = {"libcublasLt.so.13", "libcublasLt.so.12",
                                           "libcublasLt.so.11", "libcublasLt.so"};

void* own_hook(Symbol symbol) {
  Symbol same{};
  return hook_of(row_of(symbol).name, &same);
}

void* unless_own(Symbol symbol, void* found) {
  return found == own_hook(symbol) ? nullptr : found;
}

void* in_library(const char* path, const char* name) {
  void* const handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  void* const found = real_dlsym()(handle, name);
  dlclose(handle);
  return found;
}

void* in_dependencies_of(const void* caller, const char* name) {
  Dl_info info{};
  void* map = nullptr;
  if (dladdr1(caller, &info, &map, RTLD_DL_LINKMAP) == 0 || map == nullptr) return nullptr;
  const char* const path = static_cast<link_map*>(map)->l_name;
  // The main program's scope is the global one, which comes next anyway.
  return path == nullptr || *path == '\0' ? nullptr : in_library(path, name);
}

void* anywhere(Symbol symbol) {
  const bool lt = row_of(symbol).library == Library::cublasLt;
  for (const char* path : lt ? cublas_lt_names : cublas_names) {
    if (void* const found = in_library(path, row_of(symbol).name)) return found;
  }
  return nullptr;
}

const char* file_of(const void* function) {
  Dl_info info{};
  return dladdr(function, &info) != 0 ? info.dli_fname : nullptr;
}

void* keep(Symbol symbol, void* found) {
  if (found == nullptr) return nullptr;
  // Never closed: the library stays.
  if (const char* const path = file_of(found)) {
    static_cast<void>(dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE));
  }
  functions[static_cast<std::size_t>(symbol)].store(found, std::memory_order_release);
  return found;
}

template <class Function>
void get(Function* function, void* beside, const char* name) {
  const char* const path = file_of(beside);
  *function = reinterpret_cast<Function>(path == nullptr ? nullptr : in_library(path, name));
}

}  // namespace

Dlsym real_dlsym() {
  static std::atomic<Dlsym> found{nullptr};
  Dlsym real = found.load(std::memory_order_acquire);
  if (real != nullptr) return real;
  // The versions under which C libraries have it: of glibc since 2.34, and before.
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"}) {
    real = reinterpret_cast<Dlsym>(dlvsym(RTLD_NEXT, "dlsym", version));
    if (real != nullptr) break;
  }
  found.store(real, std::memory_order_release);
  return real;
}

void* vendor_function(Symbol symbol, const void* caller) {
  void* found = functions[static_cast<std::size_t>(symbol)].load(std::memory_order_acquire);
  if (found != nullptr) return found;
  const char* const name = row_of(symbol).name;
  found = unless_own(symbol, in_dependencies_of(caller, name));
  if (found == nullptr) found = unless_own(symbol, real_dlsym()(RTLD_NEXT, name));
  if (found == nullptr) found = unless_own(symbol, anywhere(symbol));
  return keep(symbol, found);
}

void note_vendor_function(Symbol symbol, void* found) {
  if (functions[static_cast<std::size_t>(symbol)].load(std::memory_order_acquire) == nullptr) {
    keep(symbol, found);
  }
}

const Getters& getters_beside(void* vendor_function) {
  static const Getters found = [&] {
    Getters getters;
    get(&getters.stream, vendor_function, "cublasGetStream_v2");
    get(&getters.pointer_mode, vendor_function, "cublasGetPointerMode_v2");
    get(&getters.math_mode, vendor_function, "cublasGetMathMode");
    return getters;
  }();
  return found;
}

const LtGetters& lt_getters_beside(void* vendor_function) {
  static const LtGetters found = [&] {
    LtGetters getters;
    get(&getters.matmul, vendor_function, "cublasLtMatmulDescGetAttribute");
    get(&getters.layout, vendor_function, "cublasLtMatrixLayoutGetAttribute");
    return getters;
  }();
  return found;
}

}  // namespace kw::cublas
