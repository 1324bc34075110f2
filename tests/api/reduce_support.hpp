// A call of kw::reduce in a test: its results as doubles or as bits, with canaries around them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernelwright/reduce.hpp"
#include "reduce/problem.hpp"
#include "reduce/reference.hpp"
#include "support.hpp"

namespace kw::test {

constexpr std::size_t canaries = 64;  // bytes before and after the results
constexpr unsigned char canary = 0xA5;

// Runs the call and returns the bytes of its results.
inline std::vector<unsigned char> reduce_bytes(Context& context, ReduceOp op,
                                               const ReduceView& view,
                                               const ReduceOptions& options = {}) {
  const DataType type = reduce_result_type(op, view.type);
  const std::int64_t count = reduce_result_count(op, view);
  const std::size_t bytes = static_cast<std::size_t>(count) * size_of(type);
  const DeviceArray<unsigned char> out(
      context, std::vector<unsigned char>(canaries + bytes + canaries, canary));
  reduce(context, op, view, {out.data() + canaries, type, count}, options);
  const std::vector<unsigned char> got = out.get();
  for (std::size_t i = 0; i < canaries; ++i) {
    EXPECT_EQ(got[i], canary) << "before the results";
    EXPECT_EQ(got[canaries + bytes + i], canary) << "after the results";
  }
  return {got.begin() + canaries, got.end() - canaries};
}

template <class T>
std::vector<double> doubles(const std::vector<unsigned char>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  std::vector<double> converted;
  converted.reserve(values.size());
  for (T value : values) converted.push_back(as_double(value));
  return converted;
}

inline std::vector<double> to_doubles(DataType type, const std::vector<unsigned char>& bytes) {
  switch (type) {
    case DataType::float32: return doubles<float>(bytes);
    case DataType::float64: return doubles<double>(bytes);
    case DataType::float16: return doubles<float16>(bytes);
    case DataType::bfloat16: return doubles<bfloat16>(bytes);
    case DataType::int8: return doubles<std::int8_t>(bytes);
    case DataType::int32: return doubles<std::int32_t>(bytes);
    case DataType::int64: return doubles<std::int64_t>(bytes);
  }
  return {};
}

inline std::vector<double> reduce_values(Context& context, ReduceOp op, const ReduceView& view,
                                         const ReduceOptions& options = {}) {
  return to_doubles(reduce_result_type(op, view.type), reduce_bytes(context, op, view, options));
}

}  // namespace kw::test
