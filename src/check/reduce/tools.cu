// The work of tools.hpp on a GPU.
#include "check/reduce/tools.hpp"

#include "check/each_kernels.hpp"

namespace KW_TARGET::check {
namespace {

using namespace kw::check;  // NOLINT(google-build-using-namespace): the text is shared with the CPU

// One block a piece of a sequence, as long as there are pieces.
template <class T>
__global__ void find_pieces(ReduceOracle oracle) {
  __shared__ Findings<Seen<T>> shared[threads];
  const std::int64_t jobs = oracle.sequences * oracle.pieces;
  for (std::int64_t job = blockIdx.x; job < jobs; job += gridDim.x) {
    shared[threadIdx.x] = find_in_piece<T>(oracle, job, threadIdx.x, threads);
    for (int half = threads / 2; half > 0; half /= 2) {
      __syncthreads();
      if (static_cast<int>(threadIdx.x) < half) {
        Finder<Seen<T>>::merge(shared[threadIdx.x], shared[threadIdx.x + half]);
      }
    }
    if (threadIdx.x == 0) deliver<T>(oracle, job, shared[0]);
    __syncthreads();
  }
}

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
  constexpr std::int64_t max_blocks = 1 << 20;
  return with_type(o.values.type, [&]<class T>() {
    const std::int64_t jobs = o.sequences * o.pieces;
    const std::int64_t blocks = jobs < max_blocks ? jobs : max_blocks;
    const Status status = gpu::launch(find_pieces<T>, grid_of(blocks, stream), o);
    if (!status.ok() || o.pieces == 1) return status;
    return run_each(ConcludeSequence<T>{o}, stream);
  });
}

}  // namespace

const kw::check::ReduceTools& reduce_tools() {
  static const kw::check::ReduceTools table = {fill, oracle, judge_elements, judge_results};
  return table;
}

}  // namespace KW_TARGET::check
