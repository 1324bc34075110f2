// The work of tools.hpp in host memory, and the choice of the table for a device.
#include "check/reduce/tools.hpp"

#include <algorithm>

#include "check/each.hpp"

namespace kw::check {
namespace {

Status fill(const FillElements& fill, Stream stream) {
  return with_type(fill.values.type,
                   [&]<class T>() { return run_each(FillEach<T>{fill}, stream); });
}

Status judge_elements(const JudgeElements& judge, Partial* partials, Stream stream) {
  return with_type(judge.values.type, [&]<class T>() {
    return run_judge(JudgeEachElement<T>{judge}, partials, stream);
  });
}

Status judge_results(const JudgeReduce& judge, Partial* partials, Stream stream) {
  return with_type(judge.type, [&]<class T>() {
    return run_judge(JudgeEachResult<T>{judge}, partials, stream);
  });
}

Status oracle(const ReduceOracle& o, Stream stream) {
  const std::int64_t jobs = o.sequences * o.pieces;
  const std::int64_t elements =
      o.shape == ReduceShape::whole || o.shape == ReduceShape::segments ? o.cols : o.rows * o.cols;
  const int parts = static_cast<int>(std::clamp<std::int64_t>(jobs, 1, threads_for(elements)));
  return with_type(o.values.type, [&]<class T>() {
    parallel_ranges(jobs, parts, [&](int, std::int64_t begin, std::int64_t end) {
      for (std::int64_t job = begin; job < end; ++job) {
        deliver<T>(o, job, find_in_piece<T>(o, job, 0, 1));
      }
    });
    return o.pieces > 1 ? run_each(ConcludeSequence<T>{o}, stream) : Status::success();
  });
}

}  // namespace

std::int64_t oracle_pieces(ReduceShape shape, std::int64_t sequences, std::int64_t elements) {
  constexpr std::int64_t piece_elements = 1 << 16;
  if (shape == ReduceShape::segments || sequences == 0) return 1;
  return std::clamp<std::int64_t>(elements / sequences / piece_elements, 1, 4096);
}

std::size_t oracle_scratch_bytes(std::int64_t sequences, std::int64_t pieces) {
  static_assert(sizeof(Findings<double>) == sizeof(Findings<std::int64_t>));
  if (pieces <= 1) return 0;
  return static_cast<std::size_t>(sequences * pieces) * sizeof(Findings<double>);
}

const ReduceTools& cpu_reduce_tools() {
  static const ReduceTools table = {fill, oracle, judge_elements, judge_results};
  return table;
}

const ReduceTools& reduce_tools_for([[maybe_unused]] const Device& device) {
#ifdef KW_HAVE_CUDA
  if (device.kind == DeviceKind::cuda) return on_cuda::check::reduce_tools();
#endif
#ifdef KW_HAVE_HIP
  if (device.kind == DeviceKind::hip) return on_hip::check::reduce_tools();
#endif
  return cpu_reduce_tools();
}

}  // namespace kw::check
