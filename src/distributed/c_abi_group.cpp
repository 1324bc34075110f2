// The C interface: groups of ranks and their products, over the C++ one.
#include <cstdint>
#include <memory>
#include <vector>

#include "api/c_handle.hpp"
#include "kernelwright/distributed.hpp"
#include "text.hpp"

struct kwGroup {
  kw::Group group;
};

namespace {

using kw::DistributedMatrix;
using kw::Distribution;
using kw::Grid;
using kw::Status;
using kw::detail::invalid;

static_assert(KW_COL_MAJOR == static_cast<int>(kw::Layout::col_major));
static_assert(KW_OP_TRANSPOSE == static_cast<int>(kw::Op::transpose));

// Runs `body`, and keeps what it throws for the calling thread.
template <class Body>
kwStatus_t said_to_thread(const Body& body) noexcept {
  return kw::c_abi::guarded(kw::c_abi::error_without_handle, [&] {
    try {
      return body();
    } catch (const kw::Error& error) {
      return Status::failure(error.code(), error.what(), error.argument());
    }
  });
}

Status null_argument(const char* name, const char* what) {
  return invalid(kw::text(name, " is null: pass ", what), name);
}

template <class Body>
kwStatus_t with_group(kwGroup_t group, const Body& body) noexcept {
  return said_to_thread([&] {
    if (group == nullptr) {
      return null_argument("group", "one of kwGroupCreateCpu or kwGroupCreateGpus");
    }
    return body(group->group);
  });
}

template <class Make>
kwStatus_t create(kwGroup_t* group, const Make& make) noexcept {
  return said_to_thread([&] {
    if (group == nullptr) return null_argument("group", "the address of a kwGroup_t");
    *group = nullptr;
    *group = std::make_unique<kwGroup>(kwGroup{make()}).release();
    return Status::success();
  });
}

Distribution dealt(const kwDistribution& given) {
  return {given.rows,       given.cols,      given.block_rows,
          given.block_cols, given.first_row, given.first_col};
}

template <class T>
DistributedMatrix<T> part(const kwDistributedMatrix& given) {
  return {dealt(given.whole), given.data, given.ld, static_cast<kw::Layout>(given.layout),
          static_cast<kw::Op>(given.op)};
}

template <class T>
std::vector<DistributedMatrix<T>> parts(const kwDistributedMatrix* given, int ranks) {
  std::vector<DistributedMatrix<T>> found;
  found.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) found.push_back(part<T>(given[rank]));
  return found;
}

Status check_matrices(const kwDistributedMatrix* a, const kwDistributedMatrix* b,
                      const kwDistributedMatrix* c, kwMath_t math) {
  const char* const what = "the address of a kwDistributedMatrix";
  if (a == nullptr) return null_argument("a", what);
  if (b == nullptr) return null_argument("b", what);
  if (c == nullptr) return null_argument("c", what);
  if (math != KW_MATH_FP32 && math != KW_MATH_FP32_SPLIT) {
    return invalid(kw::text("math is ", math, ": pass KW_MATH_FP32 or KW_MATH_FP32_SPLIT"), "math");
  }
  return Status::success();
}

Status check_name(const char* name) {
  return name == nullptr ? null_argument("name", "one that all ranks of the group pass")
                         : Status::success();
}

Status check_grid(int p, int q) {
  if (p >= 1 && q >= 1) return Status::success();
  return invalid(kw::text("the grid is ", p, " x ", q, ": p and q must be 1 or more"), "p");
}

Status check_rank(int rank, const Grid& grid) {
  if (rank >= 0 && rank < grid.p * grid.q) return Status::success();
  return invalid(kw::text("rank is ", rank, ", but the grid has ", grid.p * grid.q, " ranks"),
                 "rank");
}

}  // namespace

kwStatus_t kwGroupCreateCpu(kwGroup_t* group, int p, int q, double time_limit_s) {
  return create(group, [&] { return kw::Group::cpu({p, q}, {time_limit_s}); });
}

kwStatus_t kwGroupCreateGpus(kwGroup_t* group, int p, int q, const int* ordinals,
                             double time_limit_s) {
  return create(group, [&] {
    kw::detail::throw_unless_ok(check_grid(p, q));
    std::vector<int> chosen;
    if (ordinals != nullptr) chosen.assign(ordinals, ordinals + std::int64_t{p} * q);
    return kw::Group::gpus({p, q}, chosen, {time_limit_s});
  });
}

kwStatus_t kwGroupJoinCpu(kwGroup_t* group, int p, int q, int rank, const char* name,
                          double time_limit_s) {
  return create(group, [&] {
    kw::detail::throw_unless_ok(check_name(name));
    return kw::Group::join_cpu({p, q}, rank, name, {time_limit_s});
  });
}

kwStatus_t kwGroupJoinGpu(kwGroup_t* group, int p, int q, int rank, const char* name, int ordinal,
                          double time_limit_s) {
  return create(group, [&] {
    kw::detail::throw_unless_ok(check_name(name));
    return kw::Group::join_gpu({p, q}, rank, name, ordinal, {time_limit_s});
  });
}

kwStatus_t kwGroupCloseMemory(kwGroup_t group, int rank) {
  return with_group(group, [&](kw::Group& of) {
    Status status = check_rank(rank, of.grid());
    if (status.ok()) of.close_memory(rank);
    return status;
  });
}

void kwGroupDestroy(kwGroup_t group) { delete group; }

kwStatus_t kwGroupSetStream(kwGroup_t group, int rank, void* stream) {
  return with_group(group, [&](kw::Group& of) {
    Status status = check_rank(rank, of.grid());
    if (status.ok()) of.context(rank).set_stream(stream);
    return status;
  });
}

kwStatus_t kwGroupSynchronize(kwGroup_t group, int rank) {
  return with_group(group, [&](kw::Group& of) {
    Status status = check_rank(rank, of.grid());
    if (status.ok()) of.synchronize(rank);
    return status;
  });
}

kwStatus_t kwGroupAbort(kwGroup_t group, int rank, const char* reason) {
  return with_group(group, [&](kw::Group& of) {
    if (reason == nullptr) return null_argument("reason", "a sentence");
    Status status = check_rank(rank, of.grid());
    if (status.ok()) of.abort(rank, reason);
    return status;
  });
}

kwStatus_t kwBlockDistribution(int64_t rows, int64_t cols, int p, int q,
                               kwDistribution* distribution) {
  return said_to_thread([&] {
    if (distribution == nullptr) {
      return null_argument("distribution", "the address of a kwDistribution");
    }
    Status status = check_grid(p, q);
    if (!status.ok()) return status;
    const Distribution made = kw::block_distribution(rows, cols, {p, q});
    *distribution = {made.rows,       made.cols,      made.block_rows,
                     made.block_cols, made.first_row, made.first_col};
    return status;
  });
}

kwStatus_t kwLocalSize(const kwDistribution* distribution, int p, int q, int rank, int64_t* rows,
                       int64_t* cols) {
  return said_to_thread([&] {
    if (distribution == nullptr || rows == nullptr || cols == nullptr) {
      return null_argument("distribution, rows or cols", "the address of each");
    }
    Status status = check_grid(p, q);
    if (status.ok()) status = check_rank(rank, {p, q});
    if (!status.ok()) return status;
    if (distribution->block_rows < 1 || distribution->block_cols < 1) {
      return invalid(kw::text("blocks are ", distribution->block_rows, " x ",
                              distribution->block_cols, ": they must be 1 x 1 or more"),
                     "distribution");
    }
    *rows = kw::local_rows(dealt(*distribution), {p, q}, rank);
    *cols = kw::local_cols(dealt(*distribution), {p, q}, rank);
    return status;
  });
}

kwStatus_t kwSgemmDistributed(kwGroup_t group, int rank, kwMath_t math, int64_t panel_k,
                              float alpha, const kwDistributedMatrix* a,
                              const kwDistributedMatrix* b, float beta,
                              const kwDistributedMatrix* c) {
  return with_group(group, [&](kw::Group& of) {
    Status status = check_matrices(a, b, c, math);
    if (status.ok()) status = check_rank(rank, of.grid());
    if (!status.ok()) return status;
    kw::sgemm_distributed(of, rank, alpha, part<const float>(*a), part<const float>(*b), beta,
                          part<float>(*c), {static_cast<kw::Math>(math), panel_k});
    return status;
  });
}

kwStatus_t kwSgemmDistributedAll(kwGroup_t group, kwMath_t math, int64_t panel_k, float alpha,
                                 const kwDistributedMatrix* a, const kwDistributedMatrix* b,
                                 float beta, const kwDistributedMatrix* c) {
  return with_group(group, [&](kw::Group& of) {
    Status status = check_matrices(a, b, c, math);
    if (!status.ok()) return status;
    const int ranks = of.grid().ranks();
    kw::sgemm_distributed(of, alpha, parts<const float>(a, ranks), parts<const float>(b, ranks),
                          beta, parts<float>(c, ranks), {static_cast<kw::Math>(math), panel_k});
    return status;
  });
}
