// Products through a context of the library.
#include "bench/library_calls.hpp"

#include <optional>

#include "api/calls.hpp"
#include "backends.hpp"

namespace kw::bench {
namespace {

// A row-major matrix of which op(A) has so many rows and columns.
MatrixView<const float> operand(const float* data, std::int64_t rows, std::int64_t cols,
                                std::int64_t ld, Op op) {
  const bool as_it_is = op == Op::none;
  return {data, as_it_is ? rows : cols, as_it_is ? cols : rows, ld, Layout::row_major, op};
}

Scalar scalar(float value, const float* address) {
  return address != nullptr ? Scalar::at(address) : Scalar(value);
}

thread_local LibraryCalls* calls_of_row = nullptr;

template <Math math>
Status launch_row(const Sgemm& problem, const Device&, Workspace, Stream) {
  return calls_of_row->sgemm(problem, math);
}

template <Math math>
const char* path_of_row(const Sgemm& problem, const Device&, const Plan<Sgemm>&, const PathWords&) {
  return calls_of_row->path(problem, math);
}

}  // namespace

LibraryCalls::LibraryCalls(const check::Workbench& bench) {
  const Device& device = bench.device();
  check::require(detail::ContextState::open(*find_backend(device.kind), device.ordinal,
                                            bench.stream(), &state_));
}

Kernel<Sgemm> LibraryCalls::row(Math math) {
  calls_of_row = this;
  const bool is_split = math == Math::fp32_split;
  return {.name = is_split ? "library_split" : "library",
          .parent = nullptr,
          .idea = "a call of the library through a context",
          .role = Role::production,
          .math = math,
          .supports = [](const Sgemm&, const Device&) { return true; },
          .workspace_bytes = no_workspace<Sgemm>,
          .launch = is_split ? launch_row<Math::fp32_split> : launch_row<Math::fp32>,
          .path_taken = is_split ? path_of_row<Math::fp32_split> : path_of_row<Math::fp32>};
}

namespace {

detail::SgemmCall call_of(const Sgemm& p, Math math) {
  detail::SgemmCall call;
  call.alpha = scalar(p.alpha, p.alpha_at);
  call.a = operand(p.a, p.m, p.k, p.lda, p.op_a);
  call.b = operand(p.b, p.k, p.n, p.ldb, p.op_b);
  call.beta = scalar(p.beta, p.beta_at);
  call.c = row_major(p.c, p.m, p.n, p.ldc);
  call.options.math = math;
  Epilogue& epilogue = call.options.epilogue;
  epilogue.bias = p.epilogue.bias;
  epilogue.stride_bias = p.epilogue.stride_bias;
  epilogue.bias_of = p.epilogue.bias_of_rows ? BiasOf::rows : BiasOf::columns;
  epilogue.activation = p.epilogue.activation;
  if (p.epilogue.source != nullptr) {
    epilogue.source = row_major(p.epilogue.source, p.m, p.n, p.epilogue.ld_source);
    epilogue.stride_source = p.epilogue.stride_source;
  }
  call.batch = {p.batch,   p.stride_a, p.stride_b, p.stride_c, p.a_array != nullptr,
                p.a_array, p.b_array,  p.c_array};
  return call;
}

}  // namespace

Status LibraryCalls::sgemm(const Sgemm& p, Math math) {
  return detail::sgemm(*state_, call_of(p, math));
}

const char* LibraryCalls::path(const Sgemm& p, Math math) {
  std::string path;
  check::require(detail::sgemm_path(*state_, call_of(p, math), &path));
  return paths_.insert(path).first->c_str();
}

}  // namespace kw::bench
