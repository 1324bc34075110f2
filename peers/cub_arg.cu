// CUB's argmin and argmax of whole arrays: the lowest index among equals, as ours. CUB also writes
// the extremum; the first bytes of the workspace take it.
#include <cub/device/device_reduce.cuh>

#include "cub_calls.cuh"

namespace kw::peers {
namespace {

constexpr std::size_t extremum_bytes = 256;  // what follows stays aligned

template <ReduceOp op, class T>
cudaError_t arg(const Reduce& p, void* temporary, std::size_t& bytes, cudaStream_t stream) {
  T* extremum = static_cast<T*>(temporary);
  void* rest = temporary == nullptr ? nullptr : static_cast<char*>(temporary) + extremum_bytes;
  std::size_t rest_bytes = temporary == nullptr ? 0 : bytes - extremum_bytes;
  std::int64_t* index = out_of<std::int64_t>(p);
  const cudaError_t error = op == ReduceOp::argmin
                                ? cub::DeviceReduce::ArgMin(rest, rest_bytes, data_of<T>(p),
                                                            extremum, index, p.cols, stream)
                                : cub::DeviceReduce::ArgMax(rest, rest_bytes, data_of<T>(p),
                                                            extremum, index, p.cols, stream);
  if (temporary == nullptr) bytes = extremum_bytes + rest_bytes;
  return error;
}

template <ReduceOp op>
CubCall* find(DataType type) {
  switch (type) {
    case DataType::float32: return arg<op, float>;
    case DataType::float64: return arg<op, double>;
    case DataType::int32: return arg<op, std::int32_t>;
    default: return nullptr;
  }
}

}  // namespace

CubCall* find_cub_arg(ReduceOp op, DataType type) {
  if (op == ReduceOp::argmin) return find<ReduceOp::argmin>(type);
  if (op == ReduceOp::argmax) return find<ReduceOp::argmax>(type);
  return nullptr;
}

}  // namespace kw::peers
