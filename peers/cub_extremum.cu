// CUB's minima and maxima of whole arrays. Where a NaN is among the elements CUB's result depends
// on where it stands.
#include <cub/device/device_reduce.cuh>

#include "cub_calls.cuh"

namespace kw::peers {
namespace {

template <ReduceOp op, class T>
cudaError_t extremum(const Reduce& p, void* temporary, std::size_t& bytes, cudaStream_t stream) {
  return cub::DeviceReduce::Reduce(temporary, bytes, data_of<T>(p), out_of<T>(p),
                                   static_cast<int>(p.cols), combine<op>(), neutral<op, T>(),
                                   stream);
}

template <ReduceOp op>
CubCall* find(DataType type) {
  switch (type) {
    case DataType::float32: return extremum<op, float>;
    case DataType::float64: return extremum<op, double>;
    case DataType::float16: return extremum<op, __half>;
    case DataType::bfloat16: return extremum<op, __nv_bfloat16>;
    case DataType::int8: return extremum<op, std::int8_t>;
    case DataType::int32: return extremum<op, std::int32_t>;
    case DataType::int64: return extremum<op, std::int64_t>;
  }
  return nullptr;
}

}  // namespace

CubCall* find_cub_extremum(ReduceOp op, DataType type) {
  if (op == ReduceOp::min) return find<ReduceOp::min>(type);
  if (op == ReduceOp::max) return find<ReduceOp::max>(type);
  return nullptr;
}

}  // namespace kw::peers
