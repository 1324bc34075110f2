// The families of devices that this program can use.
#include "backends.hpp"

#include <algorithm>

#include "attention/kernels.hpp"
#include "cgemm/kernels.hpp"
#include "cpu/runtime_cpu.hpp"
#include "ctrsm/kernels.hpp"
#include "gpu/runtime_gpu.hpp"
#include "level3/kernels.hpp"
#include "reduce/kernels.hpp"
#include "rowwise/kernels.hpp"
#include "scale_add/kernels.hpp"
#include "sgemm/kernels.hpp"

namespace kw {

namespace {

std::vector<Backend> built_in() {
  return {
      {DeviceKind::cpu, cpu::device_count, cpu::open, cpu::sgemm_production, cpu::level3_production,
       cpu::scale_add_production, cpu::reduce_production, cpu::cgemm_production,
       cpu::ctrsm_production, cpu::rowwise_production, cpu::attention_production},
#ifdef KW_HAVE_CUDA
      {DeviceKind::cuda, on_cuda::device_count, on_cuda::open, on_cuda::sgemm_production,
       on_cuda::level3_production, on_cuda::scale_add_production, on_cuda::reduce_production,
       on_cuda::cgemm_production, on_cuda::ctrsm_production, on_cuda::rowwise_production,
       on_cuda::attention_production},
#endif
#ifdef KW_HAVE_HIP
      {DeviceKind::hip, on_hip::device_count, on_hip::open, on_hip::sgemm_production,
       on_hip::level3_production, on_hip::scale_add_production, on_hip::reduce_production,
       on_hip::cgemm_production, on_hip::ctrsm_production, on_hip::rowwise_production,
       on_hip::attention_production},
#endif
  };
}

std::vector<Backend>& mutable_backends() {
  static std::vector<Backend> list = built_in();
  return list;
}

}  // namespace

const std::vector<Backend>& backends() { return mutable_backends(); }

const Backend* find_backend(DeviceKind kind) {
  const auto& list = backends();
  const auto found = std::find_if(list.begin(), list.end(),
                                  [&](const Backend& backend) { return backend.kind == kind; });
  return found == list.end() ? nullptr : &*found;
}

void add_backend(const Backend& backend) {
  if (find_backend(backend.kind) == nullptr) mutable_backends().push_back(backend);
}

}  // namespace kw
