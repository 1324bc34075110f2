// Opening libkernelwright beside this library.
#include "library.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>

#include "fork_lock.hpp"
#include "vendor.hpp"

namespace kw::cublas {

namespace {

// "0.2" of "0.2.0": before 1.0 a minor version may change what a function takes.
std::string minor_version(const std::string& version) {
  return version.substr(0, version.rfind('.'));
}

KernelwrightLibrary open() {
  KernelwrightLibrary opened;
  const char* const elsewhere = std::getenv("KERNELWRIGHT_LIBRARY");
  const bool named = elsewhere != nullptr && *elsewhere != '\0';
  const char* const path = named ? elsewhere : KW_LIBRARY_NAME;
  void* const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const why = dlerror();
    opened.why_not = std::string(path) + " cannot be opened: " + (why == nullptr ? "" : why);
    return opened;
  }
  bool all = true;
  const auto get = [&](auto* function, const char* name) {
    *function =
        reinterpret_cast<std::remove_pointer_t<decltype(function)>>(real_dlsym()(handle, name));
    all = all && *function != nullptr;
  };
#define KW_GET(name) get(&opened.name, #name);
  KW_LIBRARY_FUNCTIONS(KW_GET)
#undef KW_GET
  const std::string version = opened.kwVersion != nullptr ? opened.kwVersion() : "unknown";
  if (!all || minor_version(version) != minor_version(KW_VERSION)) {
    opened.why_not = std::string(path) + " is version " + version + ", and this adapter is for " +
                     minor_version(KW_VERSION) + ": install both from one release";
  }
  return opened;
}

}  // namespace

const KernelwrightLibrary& library() {
  static std::atomic<const KernelwrightLibrary*> kept{nullptr};
  const KernelwrightLibrary* opened = kept.load(std::memory_order_acquire);
  if (opened != nullptr) return *opened;
  const auto lock = lock_over_forks();
  opened = kept.load(std::memory_order_acquire);
  if (opened == nullptr) {
    opened = new KernelwrightLibrary(open());  // for as long as the process lives
    kept.store(opened, std::memory_order_release);
  }
  return *opened;
}

}  // namespace kw::cublas
