// Devices and kernel lists.
#include "kernels.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <charconv>

#include "attention/kernels.hpp"
#include "cgemm/kernels.hpp"
#include "choice.hpp"
#include "ctrsm/kernels.hpp"
#include "level3/kernels.hpp"
#include "program.hpp"
#include "reduce/kernels.hpp"
#include "rowwise/kernels.hpp"
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

KernelList<Sgemm> joined(KernelList<Sgemm> ladder, const KernelList<Sgemm>& another) {
  append(ladder, another);
  return ladder;
}

KernelList<Sgemm> production(const Backend& backend, const Sgemm&) { return backend.sgemm(); }
KernelList<Level3> production(const Backend& backend, const Level3&) { return backend.level3(); }
KernelList<ScaleAdd> production(const Backend& backend, const ScaleAdd&) {
  return backend.scale_add();
}

KernelList<Reduce> production(const Backend& backend, const Reduce&) { return backend.reduce(); }
KernelList<Cgemm> production(const Backend& backend, const Cgemm&) { return backend.cgemm(); }
KernelList<Ctrsm> production(const Backend& backend, const Ctrsm&) { return backend.ctrsm(); }
KernelList<Rowwise> production(const Backend& backend, const Rowwise&) { return backend.rowwise(); }
KernelList<Attention> production(const Backend& backend, const Attention&) {
  return backend.attention();
}

KernelList<Sgemm> rungs(DeviceKind kind, const Sgemm&) {
  if (kind == DeviceKind::cpu) return cpu::sgemm_rungs();
#ifdef KW_HAVE_CUDA_LADDER
  if (kind == DeviceKind::cuda) {
    return joined(on_cuda::sgemm_rungs(), on_cuda::sgemm_amd_rungs());
  }
#endif
#ifdef KW_HAVE_HIP
  if (kind == DeviceKind::hip) {
    return joined(on_hip::sgemm_rungs(), on_hip::sgemm_amd_rungs());
  }
#endif
#ifdef KW_HAVE_HOST_SIMT
  if (kind == DeviceKind::host_simt) {
    return joined(on_host::sgemm_rungs(), on_host::sgemm_amd_rungs());
  }
#endif
  return {};
}
KernelList<Level3> rungs(DeviceKind, const Level3&) { return {}; }
KernelList<ScaleAdd> rungs(DeviceKind, const ScaleAdd&) { return {}; }
KernelList<Cgemm> rungs(DeviceKind, const Cgemm&) { return {}; }
KernelList<Ctrsm> rungs(DeviceKind, const Ctrsm&) { return {}; }
KernelList<Rowwise> rungs(DeviceKind, const Rowwise&) { return {}; }

KernelList<Attention> rungs(DeviceKind kind, const Attention&) {
#ifdef KW_HAVE_CUDA_LADDER
  if (kind == DeviceKind::cuda) return on_cuda::attention_rungs();
#endif
#ifdef KW_HAVE_HIP
  if (kind == DeviceKind::hip) return on_hip::attention_rungs();
#endif
#ifdef KW_HAVE_HOST_SIMT
  if (kind == DeviceKind::host_simt) return on_host::attention_rungs();
#endif
  static_cast<void>(kind);
  return {};
}

KernelList<Reduce> rungs(DeviceKind kind, const Reduce&) {
  if (kind == DeviceKind::cpu) return cpu::reduce_rungs();
#ifdef KW_HAVE_CUDA_LADDER
  if (kind == DeviceKind::cuda) return on_cuda::reduce_rungs();
#endif
#ifdef KW_HAVE_HIP
  if (kind == DeviceKind::hip) return on_hip::reduce_rungs();
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
KernelList<Level3> choices(DeviceKind kind, const Level3&) {
  if (kind == DeviceKind::cpu) return {};
  return level3_choices();
}
KernelList<ScaleAdd> choices(DeviceKind, const ScaleAdd&) { return {}; }
KernelList<Reduce> choices(DeviceKind, const Reduce&) { return {}; }
KernelList<Rowwise> choices(DeviceKind kind, const Rowwise&) {
  if (kind == DeviceKind::cpu) return {};
  return rowwise_choices();
}
KernelList<Attention> choices(DeviceKind kind, const Attention&) {
  if (kind == DeviceKind::cpu) return {};
  return attention_choices();
}
KernelList<Ctrsm> choices(DeviceKind kind, const Ctrsm&) {
  if (kind == DeviceKind::cpu) return {};
  return ctrsm_choices();
}
KernelList<Cgemm> choices(DeviceKind kind, const Cgemm&) {
  if (kind == DeviceKind::cpu) return {};
  return cgemm_choices();
}

KernelList<Sgemm> peers_of(DeviceKind kind, const Sgemm&) {
  if (kind == DeviceKind::cpu) return peers::sgemm_cpu();
  if (kind == DeviceKind::cuda) return peers::sgemm_cuda();
  if (kind == DeviceKind::hip) return peers::sgemm_hip();
  return {};
}
KernelList<Level3> peers_of(DeviceKind kind, const Level3&) {
  if (kind == DeviceKind::cuda) return peers::level3_cuda();
  return {};
}
KernelList<ScaleAdd> peers_of(DeviceKind, const ScaleAdd&) { return {}; }
KernelList<Rowwise> peers_of(DeviceKind kind, const Rowwise&) {
#ifdef KW_HAVE_CUDA
  if (kind == DeviceKind::cuda) return on_cuda::rowwise_copy();
#endif
#ifdef KW_HAVE_HOST_SIMT
  if (kind == DeviceKind::host_simt) return on_host::rowwise_copy();
#endif
  static_cast<void>(kind);
  return {};
}
KernelList<Attention> peers_of(DeviceKind, const Attention&) { return {}; }
KernelList<Cgemm> peers_of(DeviceKind kind, const Cgemm&) {
  if (kind == DeviceKind::cuda) return peers::cgemm_cuda();
  return {};
}
KernelList<Ctrsm> peers_of(DeviceKind kind, const Ctrsm&) {
  if (kind == DeviceKind::cuda) return peers::ctrsm_cuda();
  return {};
}
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

// The first kind of GPU that is here, else the first that this build has kernels for.
const Backend* gpu_backend() {
  const Backend* cuda = find_backend(DeviceKind::cuda);
  const Backend* hip = find_backend(DeviceKind::hip);
  if (cuda == nullptr || (cuda->device_count() == 0 && hip != nullptr && hip->device_count() > 0)) {
    return hip;
  }
  return cuda;
}

// A word of --device.
struct DeviceWord {
  const char* word;
  const Backend* backend;
  const char* how_to_get_it;  // where there is no backend
};

DeviceWord find_word(const std::string& word) {
  const Backend* gpu = gpu_backend();
  const bool gpu_is_here = gpu != nullptr && gpu->device_count() > 0;
  const Backend* cpu = find_backend(DeviceKind::cpu);
  const char* no_cpu = "this build has no CPU backend";
  const DeviceWord words[] = {
      {"auto", gpu_is_here ? gpu : cpu, no_cpu},
      {"cpu", cpu, no_cpu},
      {"gpu", gpu,
       "this build has no GPU kernels; install the CUDA toolkit, put nvcc on PATH and configure "
       "again, or for AMD GPUs apt-get install hipcc libamdhip64-dev and configure with "
       "-DKW_HIP=ON"},
      {"cuda", find_backend(DeviceKind::cuda),
       "this build has no CUDA kernels; install the CUDA toolkit, put nvcc on PATH and configure "
       "again"},
      {"hip", find_backend(DeviceKind::hip),
       "this build has no HIP kernels; apt-get install hipcc libamdhip64-dev and configure with "
       "-DKW_HIP=ON"},
      {"host-simt", find_backend(DeviceKind::host_simt),
       "this build has no host SIMT; apt-get install libboost-context-dev and configure again"}};
  const auto* found = std::find_if(std::begin(words), std::end(words),
                                   [&](const DeviceWord& known) { return word == known.word; });
  if (found != std::end(words)) return *found;
  throw UsageError(fmt::format(
      "--device: \"{}\" is not one of auto, cpu, gpu, cuda, hip, gpu:NUMBER, host-simt", word));
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
  std::vector<bool> chosen(all.size(), globs.front() == '!');
  for (const std::string& glob : split_globs(globs)) {
    const bool takes_away = glob.rfind('!', 0) == 0;
    bool found = false;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (fnmatch(glob.c_str() + (takes_away ? 1 : 0), all[i].name, 0) != 0) continue;
      chosen[i] = !takes_away;
      found = true;
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
  if (kernels.empty()) {
    throw UsageError(fmt::format("--kernel: \"{}\" takes every kernel away; leave some", globs));
  }
  return kernels;
}

template KernelList<Sgemm> all_kernels(DeviceKind);
template KernelList<Level3> all_kernels(DeviceKind);
template KernelList<ScaleAdd> all_kernels(DeviceKind);
template KernelList<Reduce> all_kernels(DeviceKind);
template KernelList<Cgemm> all_kernels(DeviceKind);
template KernelList<Ctrsm> all_kernels(DeviceKind);
template KernelList<Rowwise> all_kernels(DeviceKind);
template KernelList<Attention> all_kernels(DeviceKind);
template KernelList<Sgemm> select_kernels(const KernelList<Sgemm>&, const std::string&);
template KernelList<Level3> select_kernels(const KernelList<Level3>&, const std::string&);
template KernelList<ScaleAdd> select_kernels(const KernelList<ScaleAdd>&, const std::string&);
template KernelList<Reduce> select_kernels(const KernelList<Reduce>&, const std::string&);
template KernelList<Cgemm> select_kernels(const KernelList<Cgemm>&, const std::string&);
template KernelList<Ctrsm> select_kernels(const KernelList<Ctrsm>&, const std::string&);
template KernelList<Rowwise> select_kernels(const KernelList<Rowwise>&, const std::string&);
template KernelList<Attention> select_kernels(const KernelList<Attention>&, const std::string&);

std::unique_ptr<Runtime> open_device(const std::string& name) {
  const std::size_t colon = name.find(':');
  const std::string word = name.substr(0, colon);
  int ordinal = 0;
  if (colon != std::string::npos) {
    const char* begin = name.data() + colon + 1;
    const char* end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(begin, end, ordinal);
    const bool is_gpu = word == "gpu" || word == "cuda" || word == "hip";
    if (error != std::errc() || stop != end || ordinal < 0 || !is_gpu) {
      throw UsageError(fmt::format("--device: \"{}\" is not of the form gpu:NUMBER", name));
    }
  }
  const auto [known, backend, how_to_get_it] = find_word(word);
  if (backend == nullptr) {
    throw Error(StatusCode::no_device, "--device",
                fmt::format("--device {}: {}", name, how_to_get_it));
  }
  std::unique_ptr<Runtime> runtime;
  const Status status = backend->open(ordinal, &runtime);
  if (status.ok()) return runtime;
  throw Error(
      status.code, "--device",
      fmt::format("--device {}: {}{}", name, status.message,
                  backend->device_count() == 0 ? "; --device cpu and host-simt work here" : ""));
}

}  // namespace kw
