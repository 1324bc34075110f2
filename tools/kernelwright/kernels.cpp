// Devices and kernel lists.
#include "kernels.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <charconv>

#include "choice.hpp"
#include "program.hpp"
#include "reduce/kernels.hpp"
#include "sgemm/kernels.hpp"

#ifdef KW_HAVE_HOST_SIMT
#include "host_simt/backend.hpp"
#endif

namespace kw {
namespace {

template <class T>
void append(std::vector<T>& into, const std::vector<T>& from) {
  into.insert(into.end(), from.begin(), from.end());
}

KernelList<Sgemm> production(const Backend& backend, const Sgemm&) { return backend.sgemm(); }
KernelList<ScaleAdd> production(const Backend& backend, const ScaleAdd&) {
  return backend.scale_add();
}

KernelList<Reduce> production(const Backend& backend, const Reduce&) { return backend.reduce(); }

KernelList<Sgemm> rungs(DeviceKind kind, const Sgemm&) {
  if (kind == DeviceKind::cpu) return cpu::sgemm_rungs();
#ifdef KW_HAVE_CUDA
  if (kind == DeviceKind::cuda) return on_cuda::sgemm_rungs();
#endif
#ifdef KW_HAVE_HOST_SIMT
  if (kind == DeviceKind::host_simt) return on_host::sgemm_rungs();
#endif
  return {};
}
KernelList<ScaleAdd> rungs(DeviceKind, const ScaleAdd&) { return {}; }

KernelList<Reduce> rungs(DeviceKind kind, const Reduce&) {
  if (kind == DeviceKind::cpu) return cpu::reduce_rungs();
#ifdef KW_HAVE_CUDA
  if (kind == DeviceKind::cuda) return on_cuda::reduce_rungs();
#endif
#ifdef KW_HAVE_HOST_SIMT
  if (kind == DeviceKind::host_simt) return on_host::reduce_rungs();
#endif
  return {};
}

// A CPU's list is no choice: its first kernel takes everything.
KernelList<Sgemm> choices(DeviceKind kind, const Sgemm&) {
  if (kind == DeviceKind::cpu) return {};
  return sgemm_choices();
}
KernelList<ScaleAdd> choices(DeviceKind, const ScaleAdd&) { return {}; }
KernelList<Reduce> choices(DeviceKind, const Reduce&) { return {}; }

KernelList<Sgemm> peers_of(DeviceKind kind, const Sgemm&) {
  if (kind == DeviceKind::cpu) return peers::sgemm_cpu();
  if (kind == DeviceKind::cuda) return peers::sgemm_cuda();
  return {};
}
KernelList<ScaleAdd> peers_of(DeviceKind, const ScaleAdd&) { return {}; }
KernelList<Reduce> peers_of(DeviceKind kind, const Reduce&) {
  if (kind == DeviceKind::cpu) return peers::reduce_cpu();
  if (kind == DeviceKind::cuda) return peers::reduce_cuda();
  return {};
}

std::vector<std::string> split_globs(const std::string& globs) {
  std::vector<std::string> parts(1);
  for (const char c : globs) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

[[noreturn]] void no_device(const std::string& message) {
  throw Error(StatusCode::no_device, "--device", message);
}

std::unique_ptr<Runtime> open(const Backend* backend, int ordinal, const char* how_to_get_it) {
  if (backend == nullptr) no_device(how_to_get_it);
  const int count = backend->device_count();
  if (ordinal >= count) {
    no_device(fmt::format("--device: number {} of kind {} was asked for, {} found{}", ordinal,
                          to_string(backend->kind), count,
                          count == 0 ? "; --device cpu and --device host-simt work here" : ""));
  }
  std::unique_ptr<Runtime> runtime;
  const Status status = backend->open(ordinal, &runtime);
  if (!status.ok()) throw Error(status.code, "--device", status.message);
  return runtime;
}

const Backend* gpu_backend() {
  const Backend* cuda = find_backend(DeviceKind::cuda);
  return cuda != nullptr ? cuda : find_backend(DeviceKind::hip);
}

}  // namespace

void add_developer_backends() {
#ifdef KW_HAVE_HOST_SIMT
  if (find_backend(DeviceKind::host_simt) == nullptr) add_backend(host_simt::backend());
#endif
}

template <class Problem>
KernelList<Problem> all_kernels(DeviceKind kind) {
  KernelList<Problem> all = rungs(kind, Problem{});
  if (const Backend* backend = find_backend(kind)) append(all, production(*backend, Problem{}));
  append(all, choices(kind, Problem{}));
  append(all, peers_of(kind, Problem{}));
  return all;
}

template <class Problem>
KernelList<Problem> select_kernels(const KernelList<Problem>& all, const std::string& globs) {
  if (globs.empty()) return all;
  std::vector<bool> chosen(all.size());
  for (const std::string& glob : split_globs(globs)) {
    bool found = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (fnmatch(glob.c_str(), all[i].name, 0) != 0) continue;
      chosen[i] = found = true;
    }
    if (found) continue;
    std::string names;
    for (const Kernel<Problem>& kernel : all) names += fmt::format("\n  {}", kernel.name);
    throw UsageError(fmt::format("--kernel: no kernel of this device matches \"{}\"; there are:{}",
                                 glob, names));
  }
  KernelList<Problem> kernels;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (chosen[i]) kernels.push_back(all[i]);
  }
  return kernels;
}

template KernelList<Sgemm> all_kernels(DeviceKind);
template KernelList<ScaleAdd> all_kernels(DeviceKind);
template KernelList<Reduce> all_kernels(DeviceKind);
template KernelList<Sgemm> select_kernels(const KernelList<Sgemm>&, const std::string&);
template KernelList<ScaleAdd> select_kernels(const KernelList<ScaleAdd>&, const std::string&);
template KernelList<Reduce> select_kernels(const KernelList<Reduce>&, const std::string&);

std::unique_ptr<Runtime> open_device(const std::string& name) {
  const std::size_t colon = name.find(':');
  const std::string kind = name.substr(0, colon);
  int ordinal = 0;
  if (colon != std::string::npos) {
    const char* begin = name.data() + colon + 1;
    const char* end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(begin, end, ordinal);
    if (error != std::errc() || stop != end || ordinal < 0 || kind != "gpu") {
      throw UsageError(fmt::format("--device: \"{}\" is not of the form gpu:NUMBER", name));
    }
  }
  if (kind == "auto") {
    const Backend* gpu = gpu_backend();
    if (gpu != nullptr && gpu->device_count() > 0) return open(gpu, 0, "");
    return open(find_backend(DeviceKind::cpu), 0, "no CPU backend in this build");
  }
  if (kind == "cpu") {
    return open(find_backend(DeviceKind::cpu), 0, "--device: this build has no CPU backend");
  }
  if (kind == "gpu") {
    return open(gpu_backend(), ordinal,
                "--device: this build has no GPU kernels; install the CUDA toolkit, put nvcc on "
                "PATH and configure again");
  }
  if (kind == "host-simt") {
    return open(find_backend(DeviceKind::host_simt), 0,
                "--device: this build has no host SIMT; apt-get install libboost-context-dev and "
                "configure again");
  }
  throw UsageError(
      fmt::format("--device: \"{}\" is not one of auto, cpu, gpu, gpu:NUMBER, host-simt", name));
}

}  // namespace kw
