// Operands, calls and checks of one rank.
#include "bench/distributed_rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "api/calls.hpp"
#include "check/tolerance.hpp"
#include "check/tools.hpp"

namespace kw::bench {
namespace {

std::size_t float_bytes(std::int64_t elements) {
  return static_cast<std::size_t>(elements) * sizeof(float);
}

std::int64_t elements_of(const Distribution& d, const Grid& grid, int rank) {
  return local_rows(d, grid, rank) * local_cols(d, grid, rank);
}

Distribution dealt(std::int64_t rows, std::int64_t cols, std::int64_t block, const Grid& grid) {
  if (block == 0) return block_distribution(rows, cols, grid);
  return {rows, cols, block, block, 0, 0};
}

std::int64_t rows_of_a(const DistributedOptions& o, std::int64_t m, std::int64_t k) {
  return o.op_a == Op::none ? m : k;
}
std::int64_t rows_of_b(const DistributedOptions& o, std::int64_t n, std::int64_t k) {
  return o.op_b == Op::none ? k : n;
}

// Up to 16 of `count`, the first and the last among them.
std::int64_t sample_count(std::int64_t count) { return std::min<std::int64_t>(16, count); }
std::int64_t sample_step(std::int64_t count) {
  const std::int64_t samples = sample_count(count);
  return samples > 1 ? (count - 1) / (samples - 1) : 1;
}

}  // namespace

DistributedRank::DistributedRank(detail::GroupState& group, int rank, std::int64_t m,
                                 std::int64_t n, std::int64_t k, const DistributedOptions& options,
                                 bool parts)
    : group_(group),
      seat_(group.seat(rank)),
      runtime_(seat_.state().runtime()),
      rank_(rank),
      has_parts_(parts),
      m_(m),
      n_(n),
      k_(k),
      options_(options),
      da_(dealt(rows_of_a(options, m, k), m + k - rows_of_a(options, m, k), options.block,
                group.grid())),
      db_(dealt(rows_of_b(options, n, k), n + k - rows_of_b(options, n, k), options.block,
                group.grid())),
      dc_(block_distribution(m, n, group.grid())),
      a_(runtime_, float_bytes(m * k)),
      b_(runtime_, float_bytes(k * n)),
      c_(runtime_, float_bytes(m * n)),
      first_c_(runtime_, float_bytes(options.beta != 0 ? m * n : 0)),
      part_a_(runtime_, float_bytes(parts ? elements_of(da_, group.grid(), rank) : 0)),
      part_b_(runtime_, float_bytes(parts ? elements_of(db_, group.grid(), rank) : 0)),
      part_c_(runtime_, float_bytes(parts ? elements_of(dc_, group.grid(), rank) : 0)) {}

void DistributedRank::fill() {
  const check::Tools& tools = check::tools_for(runtime_.device());
  const Stream stream = seat_.state().stream();
  const auto fill = [&](float* data, std::int64_t rows, std::int64_t cols, check::Operand operand) {
    check::Placement place;
    place.total = rows * cols;
    place.rows = rows;
    place.cols = cols;
    place.ld = cols;
    check::require(
        tools.fill_matrix({data, place, {options_.input, options_.seed, operand}, false}, stream));
  };
  fill(a_.as<float>(), da_.rows, da_.cols, check::Operand::a);
  fill(b_.as<float>(), db_.rows, db_.cols, check::Operand::b);
  if (options_.beta != 0) fill(first_c_.as<float>(), m_, n_, check::Operand::c);
  reset(Measured::one);
  if (has_parts_) {
    reset(Measured::distributed);
    deal_out(da_, a_.as<float>(), part_a_.as<float>());
    deal_out(db_, b_.as<float>(), part_b_.as<float>());
  }
  check::require(runtime_.synchronize(stream));
}

void DistributedRank::reset(Measured what) {
  const Stream stream = seat_.state().stream();
  check::DeviceBuffer& c = what == Measured::one ? c_ : part_c_;
  if (options_.beta == 0) {
    check::require(runtime_.fill(c.data(), 0xFF, c.bytes(), stream));
  } else if (what == Measured::one) {
    check::require(runtime_.copy(c.data(), first_c_.data(), c.bytes(), stream));
  } else {
    deal_out(dc_, first_c_.as<float>(), c.as<float>());
  }
  check::require(runtime_.synchronize(stream));
}

// Block by block, from the definition.
void DistributedRank::deal_out(const Distribution& d, const float* whole, float* part) {
  const Grid& grid = group_.grid();
  const std::int64_t rows = local_rows(d, grid, rank_), cols = local_cols(d, grid, rank_);
  for (std::int64_t row = 0; row < rows; row += d.block_rows) {
    for (std::int64_t col = 0; col < cols; col += d.block_cols) {
      const std::int64_t from_row = row * grid.p + grid.row(rank_) * d.block_rows;
      const std::int64_t from_col = col * grid.q + grid.col(rank_) * d.block_cols;
      CopyLines lines;
      lines.from = whole + from_row * d.cols + from_col;
      lines.from_pitch = float_bytes(d.cols);
      lines.to = part + row * cols + col;
      lines.to_pitch = float_bytes(cols);
      lines.from_device = lines.to_device = runtime_.device().ordinal;
      lines.width = float_bytes(std::min(d.block_cols, d.cols - from_col));
      lines.height = static_cast<std::size_t>(std::min(d.block_rows, d.rows - from_row));
      check::require(seat_.transfer().copy(lines, seat_.state().stream()));
    }
  }
}

MatrixView<const float> DistributedRank::whole_a() const {
  MatrixView<const float> view = row_major<const float>(a_.as<float>(), da_.rows, da_.cols);
  view.op = options_.op_a;
  return view;
}

MatrixView<const float> DistributedRank::whole_b() const {
  MatrixView<const float> view = row_major<const float>(b_.as<float>(), db_.rows, db_.cols);
  view.op = options_.op_b;
  return view;
}

detail::DistributedCall DistributedRank::distributed_call() const {
  const Grid& grid = group_.grid();
  const auto ld = [&](const Distribution& d) {
    return std::max<std::int64_t>(1, local_cols(d, grid, rank_));
  };
  return {options_.alpha,
          options_.beta,
          {da_, part_a_.as<float>(), ld(da_), Layout::row_major, options_.op_a},
          {db_, part_b_.as<float>(), ld(db_), Layout::row_major, options_.op_b},
          {dc_, part_c_.as<float>(), ld(dc_), Layout::row_major, Op::none},
          {options_.math, options_.panel_k}};
}

void DistributedRank::call(Measured what, int times, distributed::Timeline* timeline) {
  for (int i = 0; i < times; ++i) {
    if (what == Measured::one) {
      detail::SgemmCall one{options_.alpha,
                            whole_a(),
                            whole_b(),
                            options_.beta,
                            row_major(c_.as<float>(), m_, n_),
                            {}};
      one.options.math = options_.math;
      check::require(detail::sgemm(seat_.state(), one));
      continue;
    }
    const detail::CallParts parts{what != Measured::products, what != Measured::copies, timeline};
    check::require(detail::sgemm_distributed(group_, rank_, distributed_call(), parts));
  }
  check::require(group_.synchronize(rank_));
}

void DistributedRank::check(Measured what, SampleError* error) {
  const Grid& grid = group_.grid();
  const bool is_one = what == Measured::one;
  const std::int64_t rows = is_one ? m_ : local_rows(dc_, grid, rank_);
  const std::int64_t cols = is_one ? n_ : local_cols(dc_, grid, rank_);
  if (rows == 0 || cols == 0) return;
  const std::int64_t row0 = is_one ? 0 : grid.row(rank_) * dc_.block_rows;
  const std::int64_t col0 = is_one ? 0 : grid.col(rank_) * dc_.block_cols;
  const float* c = is_one ? c_.as<float>() : part_c_.as<float>();
  compare({row0, sample_step(rows), sample_count(rows), col0, 1, cols}, c,
          runtime_.device().ordinal, cols, error);
  compare({row0, 1, rows, col0, sample_step(cols), sample_count(cols)}, c,
          runtime_.device().ordinal, cols, error);
}

void DistributedRank::check_host(const float* c, SampleError* error) {
  compare({0, sample_step(m_), sample_count(m_), 0, 1, n_}, c, -1, n_, error);
  compare({0, 1, m_, 0, sample_step(n_), sample_count(n_)}, c, -1, n_, error);
}

void DistributedRank::gather(const Sample& s, const float* c, int c_device, std::int64_t ld,
                             std::vector<float>* values) {
  const Stream stream = seat_.state().stream();
  check::DeviceBuffer gathered(runtime_, float_bytes(s.rows * s.cols));
  // Sampled rows lie row_step lines apart; of sampled columns, each is a matrix of one column.
  for (std::int64_t j = 0; j < (s.col_step == 1 ? 1 : s.cols); ++j) {
    const bool by_column = s.col_step != 1;
    CopyLines lines;
    lines.from = c + j * s.col_step;
    lines.from_pitch = float_bytes(s.row_step * ld);
    lines.to = gathered.as<float>() + j;
    lines.to_pitch = float_bytes(s.cols);
    lines.from_device = c_device;
    lines.to_device = runtime_.device().ordinal;
    lines.width = float_bytes(by_column ? 1 : s.cols);
    lines.height = static_cast<std::size_t>(s.rows);
    check::require(seat_.transfer().copy(lines, stream));
  }
  values->resize(static_cast<std::size_t>(s.rows * s.cols));
  check::require(runtime_.copy(values->data(), gathered.data(), gathered.bytes(), stream));
}

void DistributedRank::compare(const Sample& s, const float* c, int c_device, std::int64_t ld,
                              SampleError* error) {
  const auto elements = static_cast<std::size_t>(s.rows * s.cols);
  const Stream stream = seat_.state().stream();
  check::DeviceBuffer product(runtime_, elements * sizeof(double));
  check::DeviceBuffer magnitude(runtime_, elements * sizeof(double));
  const std::int64_t a_row = options_.op_a == Op::none ? da_.cols : 1;
  const std::int64_t b_col = options_.op_b == Op::none ? 1 : db_.cols;
  check::require(
      check::tools_for(runtime_.device())
          .oracle({s.rows, s.cols, k_, a_.as<float>() + s.row0 * a_row, s.row_step * a_row,
                   options_.op_a == Op::none ? 1 : da_.cols, b_.as<float>() + s.col0 * b_col,
                   options_.op_b == Op::none ? db_.cols : 1, s.col_step * b_col,
                   product.as<double>(), magnitude.as<double>()},
                  stream));
  std::vector<float> got, before(elements);
  std::vector<double> want(elements), size(elements);
  gather(s, c, c_device, ld, &got);
  if (options_.beta != 0) {
    gather(s, first_c_.as<float>() + s.row0 * n_ + s.col0, runtime_.device().ordinal, n_, &before);
  }
  check::require(runtime_.copy(want.data(), product.data(), product.bytes(), stream));
  check::require(runtime_.copy(size.data(), magnitude.data(), magnitude.bytes(), stream));
  const double bound = check::product_tolerance(options_.input, k_);
  for (std::size_t i = 0; i < elements; ++i) {
    const double old = static_cast<double>(options_.beta) * static_cast<double>(before[i]);
    want[i] = static_cast<double>(options_.alpha) * want[i] + old;
    const double unit = check::unit_roundoff *
                        (std::fabs(static_cast<double>(options_.alpha)) * size[i] + std::fabs(old));
    const double difference = static_cast<double>(got[i]) - want[i];
    if (!(std::fabs(difference) <= bound * unit + check::smallest_subnormal)) {
      const auto at = static_cast<std::int64_t>(i);
      if (error->failures++ == 0) {
        error->message = fmt::format("rank {}: C({}, {}) is {}, but float64 has {}", rank_,
                                     s.row0 + at / s.cols * s.row_step,
                                     s.col0 + at % s.cols * s.col_step, got[i], want[i]);
      }
      continue;
    }
    const double relative = unit > 0 ? difference / unit : 0;
    error->max = std::max(error->max, std::fabs(relative));
    error->sum += relative;
    error->sum_squares += relative * relative;
    error->elements += 1;
  }
}

void DistributedRank::ends(float* first, float* last) {
  const Stream stream = seat_.state().stream();
  const std::int64_t elements = elements_of(dc_, group_.grid(), rank_);
  if (elements == 0) return;
  check::require(runtime_.copy(first, part_c_.data(), sizeof(float), stream));
  check::require(runtime_.copy(last, part_c_.as<float>() + elements - 1, sizeof(float), stream));
}

}  // namespace kw::bench
