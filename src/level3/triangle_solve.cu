// triangle_solve: trsm by halves. The first half of the unknowns is solved, its product with the
// block below is subtracted from the second half's right-hand side, by the product's own kernels,
// and then that is solved. Blocks of 128 unknowns are solved by substitution (solve_block.hpp).
// Each element of A is read by one of these once.
//
// Prediction  16384 with 16384 lines, split: products of 22 ms at 200 TFLOP/s, and 128 blocks of
//             10 to 20 us each that wait for each other; with 1024 lines the blocks are a third.
// Method      Substitution by blocks: Higham 2002, section 8; its residual is that of a sum.
#include <algorithm>
#include <optional>
#include <vector>

#include "level3/copies.hpp"
#include "level3/production.hpp"
#include "level3/products.hpp"
#include "level3/solve_block.hpp"

namespace KW_TARGET {
namespace {

// Of a block of unknowns, with as many lines as a round of blocks takes: an upper estimate, so that
// whoever compares it with another's time does not choose it too soon.
constexpr double solve_block_us = 20;

// A system from its first unknown to its last, which may be the last row or column of A.
class Solve {
 public:
  explicit Solve(const Level3& p) : p_(p), forward_(p.is_lower() == p.on_left) {}

  // Calls block(SolveBlock) and update(Sgemm) in the order of a solution.
  template <class Block, class Update>
  Status each_step(const Block& block, const Update& update) const {
    return solve(0, p_.k, true, block, update);
  }

 private:
  // `is_first`: the right-hand side has not met alpha yet.
  template <class Block, class Update>
  Status solve(std::int64_t first, std::int64_t size, bool is_first, const Block& block,
               const Update& update) const {
    if (size <= solve_size) return block(block_of(first, size, is_first));
    const std::int64_t half =
        ceil_div(ceil_div(size, std::int64_t{2}), std::int64_t{solve_size}) * solve_size;
    const Status known = solve(first, half, is_first, block, update);
    if (!known.ok()) return known;
    const Status updated = update(update_of(first, half, size - half, is_first));
    return updated.ok() ? solve(first + half, size - half, false, block, update) : updated;
  }

  // Where `size` unknowns from the first-th on begin in memory.
  std::int64_t at(std::int64_t first, std::int64_t size) const {
    return forward_ ? first : p_.k - first - size;
  }

  SolveBlock block_of(std::int64_t first, std::int64_t size, bool is_first) const {
    const bool as_stored = (p_.op_a == Op::none) == p_.on_left;
    const std::int64_t row = as_stored ? p_.lda : 1, col = as_stored ? 1 : p_.lda;
    const std::int64_t step = p_.on_left ? p_.ldc : 1, own = forward_ ? first : p_.k - 1 - first;
    const std::int64_t sign = forward_ ? 1 : -1;
    return {.a = p_.a + own * (p_.lda + 1),
            .a_row = sign * row,
            .a_col = sign * col,
            .x = p_.c + own * step,
            .x_step = sign * step,
            .line_step = p_.on_left ? 1 : p_.ldc,
            .size = static_cast<int>(size),
            .lines = p_.on_left ? p_.n : p_.m,
            .unit_diagonal = p_.unit_diagonal,
            .alpha = is_first ? p_.alpha : 1,
            .alpha_at = is_first ? p_.alpha_at : nullptr,
            .batch = p_.batch,
            .stride_a = p_.stride_a,
            .stride_x = p_.stride_c};
  }

  // What `known` unknowns from the first-th on take from the `size` after them.
  Sgemm update_of(std::int64_t first, std::int64_t known, std::int64_t size, bool is_first) const {
    const std::int64_t from = at(first, known), to = at(first + known, size);
    const std::int64_t row = p_.on_left ? to : from, col = p_.on_left ? from : to;
    const float* const a = p_.a + (p_.op_a == Op::none ? row * p_.lda + col : col * p_.lda + row);
    const std::int64_t step = p_.on_left ? p_.ldc : 1;
    const float* const x = p_.c + from * step;
    Sgemm update;
    update.m = p_.on_left ? size : p_.m;
    update.n = p_.on_left ? p_.n : size;
    update.k = known;
    update.alpha = -1;
    update.beta = is_first ? p_.alpha : 1;
    update.beta_at = is_first ? p_.alpha_at : nullptr;
    update.op_a = p_.on_left ? p_.op_a : Op::none;
    update.a = p_.on_left ? a : x;
    update.lda = p_.on_left ? p_.lda : p_.ldc;
    update.op_b = p_.on_left ? Op::none : p_.op_a;
    update.b = p_.on_left ? x : a;
    update.ldb = p_.on_left ? p_.ldc : p_.lda;
    update.c = p_.c + to * step;
    update.ldc = p_.ldc;
    update.batch = p_.batch;
    update.stride_a = p_.on_left ? p_.stride_a : p_.stride_c;
    update.stride_b = p_.on_left ? p_.stride_c : p_.stride_a;
    update.stride_c = p_.stride_c;
    return update;
  }

  const Level3& p_;
  const bool forward_;
};

// The sizes of updates, each once, in the order in which they come first: that of a plan's parts.
class UpdateSizes {
 public:
  // The number of an update's size; the next one where it is new.
  std::size_t find(const Sgemm& update) {
    const Size own = {update.m, update.n, update.k};
    const auto known = std::find(sizes_.begin(), sizes_.end(), own);
    if (known != sizes_.end()) return static_cast<std::size_t>(known - sizes_.begin());
    sizes_.push_back(own);
    return sizes_.size() - 1;
  }

 private:
  struct Size {
    std::int64_t m, n, k;
    bool operator==(const Size&) const = default;
  };
  std::vector<Size> sizes_;
};

template <Math math>
struct TriangleSolve {
  static std::optional<Plan<Level3>> make_plan(const Level3& p, const Device& device) {
    if (p.routine != Routine::trsm || device.shared_bytes_per_block_optin < sizeof(SolveShared))
      return std::nullopt;
    Plan<Level3> plan;
    double us = 0;
    UpdateSizes sizes;
    const auto block = [&](const SolveBlock&) {
      us += solve_block_us;
      return Status::success();
    };
    const auto update = [&](const Sgemm& product) {
      const std::size_t number = sizes.find(product);
      if (number == plan.parts.size()) {
        auto part = choose_product(product, device, math);
        if (!part) return Status::failure(StatusCode::unsupported, "no product");
        add_part(std::move(*part), plan);
      }
      us += plan.parts[number].plan.time_us;
      return Status::success();
    };
    if (!Solve(p).each_step(block, update).ok()) return std::nullopt;
    plan.time_us = plan.cost = us;
    if (!plan.min_workspace_bytes) plan.min_workspace_bytes = 0;
    return plan;
  }
  static Status launch_plan(const Level3& p, const Device& device, const Plan<Level3>& plan,
                            Workspace workspace, Stream stream) {
    if (p.m == 0 || p.n == 0 || p.batch == 0) return Status::success();
    if (p.alpha_at == nullptr && p.alpha == 0) return clear_where_zero(p, stream);
    UpdateSizes sizes;
    const auto block = [&](const SolveBlock& of) { return launch_solve_block(of, stream); };
    const auto update = [&](const Sgemm& product) {
      return launch_planned(plan.parts[sizes.find(product)], product, device, workspace, stream);
    };
    const Status status = Solve(p).each_step(block, update);
    return status.ok() && p.alpha_at != nullptr ? clear_where_zero(p, stream) : status;
  }
  static Kernel<Level3> row(const char* name) {
    return {.name = name,
            .parent = nullptr,
            .idea = "by halves: blocks by substitution, products between them",
            .role = Role::production,
            .math = math,
            .make_plan = make_plan,
            .launch_plan = launch_plan};
  }
};

}  // namespace

KernelList<Level3> triangle_solve_rows() {
  return {TriangleSolve<Math::fp32_split>::row("triangle_solve_split"),
          TriangleSolve<Math::fp32>::row("triangle_solve")};
}

}  // namespace KW_TARGET
