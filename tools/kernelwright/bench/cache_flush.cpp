// Cold caches.
#include "bench/cache_flush.hpp"

#include "bench/ceilings.hpp"
#include "bench/gpu_ceilings.hpp"
#include "bench/operand_sets.hpp"
#include "text.hpp"

namespace kw::bench {

CacheFlush::CacheFlush(check::Workbench& bench)
    : device_(bench.device()),
      buffer_(bench.runtime(), cold_factor * device_.l2_bytes),
      sink_(bench.runtime(), sizeof(float)) {
  check::require(bench.runtime().fill(buffer_.data(), 0, buffer_.bytes(), bench.stream()));
  bench.synchronize();
}

Status CacheFlush::run(Stream stream) const {
  if (device_.kind == DeviceKind::cpu) {
    cpu_read(buffer_.data(), buffer_.bytes());
    return Status::success();
  }
  if (const GpuWork* gpu = gpu_work(device_.kind)) {
    const auto count = static_cast<std::int64_t>(buffer_.bytes() / 16);
    return gpu->read_stream(buffer_.data(), count, sink_.as<float>(), device_.sm_count, stream);
  }
  return Status::failure(StatusCode::unsupported,
                         text("this build cannot empty the caches of ", device_.name));
}

}  // namespace kw::bench
