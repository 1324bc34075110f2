// CUB's sums of whole arrays, in our types of result. Sums of 16-bit floats are carried in float,
// of integers in 64 bits: an accumulator as wide as the result is what a user of CUB would ask for.
#include <cub/device/device_reduce.cuh>

#include "cub_calls.cuh"

namespace kw::peers {
namespace {

template <class T, class Result>
cudaError_t sum(const Reduce& p, void* temporary, std::size_t& bytes, cudaStream_t stream) {
  return cub::DeviceReduce::Reduce(temporary, bytes, data_of<T>(p), out_of<Result>(p),
                                   static_cast<int>(p.cols), ::cuda::std::plus<Result>{}, Result{},
                                   stream);
}

}  // namespace

CubCall* find_cub_sum(DataType type) {
  switch (type) {
    case DataType::float32: return sum<float, float>;
    case DataType::float64: return sum<double, double>;
    case DataType::float16: return sum<__half, float>;
    case DataType::bfloat16: return sum<__nv_bfloat16, float>;
    case DataType::int8: return sum<std::int8_t, std::int64_t>;
    case DataType::int32: return sum<std::int32_t, std::int64_t>;
    case DataType::int64: return sum<std::int64_t, std::int64_t>;
  }
  return nullptr;
}

std::string cub_compiled_version() {
  return std::to_string(CUB_MAJOR_VERSION) + "." + std::to_string(CUB_MINOR_VERSION) + "." +
         std::to_string(CUB_SUBMINOR_VERSION);
}

}  // namespace kw::peers
