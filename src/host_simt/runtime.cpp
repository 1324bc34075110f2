// The Runtime over host memory.
#include "host_simt/runtime.hpp"

#include <string>

#include "gpu/host_memory_runtime.hpp"
#include "host_simt/device_memory.hpp"
#include "host_simt/host_simt.hpp"

namespace kw::host_simt {
namespace {

Device describe() {
  const Options& o = options();
  Device device;
  device.kind = DeviceKind::host_simt;
  device.name = "host SIMT, " + std::to_string(o.warp_size) + "-lane warps";
  device.architecture = "sm_90";
  device.compute_capability = 90;
  device.sm_count = o.multiprocessors > 0 ? o.multiprocessors : worker_count(o);
  device.warp_size = o.warp_size;
  device.max_threads_per_block = static_cast<int>(max_threads_per_block);
  device.max_threads_per_sm = 2048;
  device.registers_per_block = 65536;
  device.registers_per_sm = 65536;
  device.shared_bytes_per_block = 48 * 1024;
  device.shared_bytes_per_block_optin =
      o.block_shared_bytes > 0 ? o.block_shared_bytes : max_shared_bytes;
  device.shared_bytes_per_sm = 228 * 1024;
  device.l2_bytes = std::size_t{60} << 20;
  device.memory_bytes = memory_bytes();
  const unsigned grid[] = {max_grid.x, max_grid.y, max_grid.z};
  const unsigned block[] = {max_block.x, max_block.y, max_block.z};
  for (int axis = 0; axis < 3; ++axis) {
    device.max_grid[axis] = grid[axis];
    device.max_block[axis] = static_cast<int>(block[axis]);
  }
  return device;
}

class HostSimtRuntime final : public HostMemoryRuntime {
 public:
  const Device& device() const override { return device_; }

  Status allocate(void** data, std::size_t bytes) override {
    *data = memory_.allocate(bytes);
    if (*data != nullptr) return Status::success();
    return Status::failure(StatusCode::out_of_memory,
                           "host SIMT cannot allocate " + std::to_string(bytes) + " bytes of the " +
                               std::to_string(device_.memory_bytes) + " in this machine");
  }
  void release(void* data) noexcept override { memory_.release(data); }

 private:
  Device device_ = describe();
  DeviceMemory memory_;
};

}  // namespace

Status open(int ordinal, std::unique_ptr<Runtime>* runtime) {
  if (ordinal != 0) {
    return Status::failure(
        StatusCode::no_device,
        "host SIMT device " + std::to_string(ordinal) + " is not here: there is one, number 0",
        "ordinal");
  }
  if (Status status = environment_status(); !status.ok()) return status;
  *runtime = std::make_unique<HostSimtRuntime>();
  return Status::success();
}

std::int64_t damaged_allocations() { return DeviceMemory::damaged(); }

}  // namespace kw::host_simt
