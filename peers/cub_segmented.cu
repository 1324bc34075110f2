// CUB's sums, minima and maxima of rows and of segments. CUB 3.0 has no function for rows of one
// length: theirs are segments whose offsets are computed. It gives each segment one block.
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cub/device/device_segmented_reduce.cuh>

#include "cub_calls.cuh"

namespace kw::peers {
namespace {

template <ReduceOp op, class T, class Offsets>
cudaError_t segmented(const Reduce& p, std::int64_t count, Offsets begin, Offsets end,
                      void* temporary, std::size_t& bytes, cudaStream_t stream) {
  return cub::DeviceSegmentedReduce::Reduce(temporary, bytes, data_of<T>(p), out_of<T>(p), count,
                                            begin, end, combine<op>(), neutral<op, T>(), stream);
}

// Where row `row` begins, or, with `first` its length, where it ends.
struct RowOffset {
  int ld, first;
  __host__ __device__ int operator()(int row) const { return first + row * ld; }
};

template <ReduceOp op, class T>
cudaError_t rows(const Reduce& p, void* temporary, std::size_t& bytes, cudaStream_t stream) {
  const auto offsets = [&](std::int64_t first) {
    return thrust::make_transform_iterator(
        thrust::make_counting_iterator(0),
        RowOffset{static_cast<int>(p.ld), static_cast<int>(first)});
  };
  return segmented<op, T>(p, p.rows, offsets(0), offsets(p.cols), temporary, bytes, stream);
}

template <ReduceOp op, class T>
cudaError_t segments(const Reduce& p, void* temporary, std::size_t& bytes, cudaStream_t stream) {
  return segmented<op, T>(p, p.segments, p.offsets, p.offsets + 1, temporary, bytes, stream);
}

}  // namespace

CubCall* find_cub_rows(ReduceOp op, DataType type) {
  if (type != DataType::float32) return nullptr;
  if (op == ReduceOp::sum) return rows<ReduceOp::sum, float>;
  if (op == ReduceOp::min) return rows<ReduceOp::min, float>;
  if (op == ReduceOp::max) return rows<ReduceOp::max, float>;
  return nullptr;
}

CubCall* find_cub_segments(ReduceOp op, DataType type) {
  if (type != DataType::float32) return nullptr;
  if (op == ReduceOp::sum) return segments<ReduceOp::sum, float>;
  if (op == ReduceOp::min) return segments<ReduceOp::min, float>;
  if (op == ReduceOp::max) return segments<ReduceOp::max, float>;
  return nullptr;
}

}  // namespace kw::peers
