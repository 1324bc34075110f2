// Finding cuBLAS and cuSOLVER without naming one at build time, and without loading one.
#include "vendor.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>

namespace kw::cublas {

namespace {

std::atomic<void*> looked_up[symbol_count];

// A place that calls a symbol, and where its calls go.
struct Site {
  const void* caller;
  Symbol symbol;
  Vendor vendor;
  bool is(Symbol called, const void* from) const { return symbol == called && caller == from; }
};
// All of them. The lock is held for a look at the list alone, and over a fork, so that it is
// nobody's in the child.
std::mutex mutex;
std::deque<Site>& all_sites() {
  static auto* const sites = new std::deque<Site>;  // never destroyed, nor moved
  static const int watched =
      pthread_atfork([] { mutex.lock(); }, [] { mutex.unlock(); }, [] { mutex.unlock(); });
  static_cast<void>(watched);
  return *sites;
}
const Site* known_site(Symbol symbol, const void* caller) {
  std::deque<Site>& sites = all_sites();
  const std::lock_guard<std::mutex> lock(mutex);
  const auto found = std::find_if(sites.begin(), sites.end(),
                                  [&](const Site& site) { return site.is(symbol, caller); });
  return found == sites.end() ? nullptr : &*found;
}
const Site* keep_site(const Site& site) {
  if (const Site* const known = known_site(site.symbol, site.caller)) return known;
  std::deque<Site>& sites = all_sites();
  const std::lock_guard<std::mutex> lock(mutex);
  return &sites.emplace_back(site);  // perhaps beside one that another thread kept just now
}
// Those met last, so that a call takes no lock.
std::atomic<const Site*> recent[256];

std::atomic<const Site*>& place_of(Symbol symbol, const void* caller) {
  const std::uint64_t mixed =
      (reinterpret_cast<std::uintptr_t>(caller) + static_cast<std::uint64_t>(symbol)) *
      0x9E3779B97F4A7C15u;
  return recent[mixed >> 56];
}

// What may be loaded, newest first.
constexpr const char* cublas_names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
                                        "libcublas.so"};
constexpr const char* cublas_lt_names[] = {"libcublasLt.so.13", "libcublasLt.so.12",
                                           "libcublasLt.so.11", "libcublasLt.so"};
constexpr const char* cusolver_names[] = {"libcusolver.so.13", "libcusolver.so.12",
                                          "libcusolver.so.11", "libcusolver.so"};

void* own_hook(Symbol symbol) {
  Symbol same{};
  return hook_of(row_of(symbol).name, &same);
}

void* unless_own(Symbol symbol, void* found) { return found == own_hook(symbol) ? nullptr : found; }

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
  const auto& names = row_of(symbol).library == Library::cublas     ? cublas_names
                      : row_of(symbol).library == Library::cublasLt ? cublas_lt_names
                                                                    : cusolver_names;
  for (const char* path : names) {
    if (void* const found = in_library(path, row_of(symbol).name)) return found;
  }
  return nullptr;
}

const char* file_of(const void* function) {
  Dl_info info{};
  return dladdr(function, &info) != 0 ? info.dli_fname : nullptr;
}

template <class Function>
void get(Function* function, const char* path, const char* name) {
  *function = reinterpret_cast<Function>(in_library(path, name));
}

Vendor find(Symbol symbol, const void* caller) {
  const char* const name = row_of(symbol).name;
  Vendor found;
  found.function = unless_own(symbol, in_dependencies_of(caller, name));
  if (found.function == nullptr) {
    found.function = looked_up[static_cast<std::size_t>(symbol)].load(std::memory_order_acquire);
  }
  if (found.function == nullptr) {
    found.function = unless_own(symbol, real_dlsym()(RTLD_NEXT, name));
  }
  if (found.function == nullptr) found.function = anywhere(symbol);
  const char* const path = found.function == nullptr ? nullptr : file_of(found.function);
  if (path == nullptr) return found;
  // Never closed: the library stays.
  static_cast<void>(dlopen(path, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE));
  if (is_of_solver(symbol)) {
    get(&found.solver.stream, path, "cusolverDnGetStream");
    get(&found.solver.potrf_size, path, "cusolverDnSpotrf_bufferSize");
    get(&found.solver.xpotrf_size, path, "cusolverDnXpotrf_bufferSize");
    return found;
  }
  get(&found.getters.stream, path, "cublasGetStream_v2");
  get(&found.getters.pointer_mode, path, "cublasGetPointerMode_v2");
  get(&found.getters.math_mode, path, "cublasGetMathMode");
  get(&found.lt_getters.matmul, path, "cublasLtMatmulDescGetAttribute");
  get(&found.lt_getters.layout, path, "cublasLtMatrixLayoutGetAttribute");
  return found;
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

const Vendor* vendor_of(Symbol symbol, const void* caller) {
  std::atomic<const Site*>& place = place_of(symbol, caller);
  const Site* site = place.load(std::memory_order_acquire);
  if (site != nullptr && site->is(symbol, caller)) return &site->vendor;
  site = known_site(symbol, caller);
  if (site == nullptr) {
    const Vendor found = find(symbol, caller);
    if (found.function == nullptr) return nullptr;  // it may be loaded later
    site = keep_site({caller, symbol, found});
  }
  place.store(site, std::memory_order_release);
  return &site->vendor;
}

void note_looked_up(Symbol symbol, void* found) {
  void* none = nullptr;
  looked_up[static_cast<std::size_t>(symbol)].compare_exchange_strong(none, found);
}

}  // namespace kw::cublas
