// Everything is computed where the data lies; what comes back are findings.
#include "check/accuracy/fuzz_trial.hpp"

#include <algorithm>

#include "arithmetic.hpp"

namespace kw::check {
namespace {

std::size_t bytes_of(std::int64_t elements, std::size_t size) {
  return static_cast<std::size_t>(elements) * size;
}

}  // namespace

int fuzz_products(const FuzzCase& c, std::int64_t outputs) {
  return static_cast<int>(std::max<std::int64_t>(8, ceil_div(outputs, c.m * c.n)));
}

Workspace FuzzTrial::Scratch::at_least(std::size_t bytes) {
  if (buffer_.bytes() < bytes) {
    buffer_ = {};  // before the larger one
    buffer_ = DeviceBuffer(bench_.runtime(), bytes);
  }
  return {bytes > 0 ? buffer_.data() : nullptr, bytes, bench_.tickets()};
}

FuzzTrial::FuzzTrial(Workbench& bench, Scratch& scratch, const FuzzCase& c)
    : bench_(bench),
      scratch_(scratch),
      case_(c),
      a_(bench.runtime(), bytes_of(c.m * c.k, sizeof(float))),
      b_(bench.runtime(), bytes_of(c.k * c.n, sizeof(float))),
      c_(bench.runtime(), bytes_of(c.m * c.n, sizeof(float))),
      product_(bench.runtime(), bytes_of(c.m * c.n, sizeof(double))),
      magnitude_(bench.runtime(), bytes_of(c.m * c.n, sizeof(double))) {
  problem_ = {{c.m, c.n, c.k, Op::none, Op::none, 1, a_.as<float>(), c.k, b_.as<float>(), c.n, 0,
               c_.as<float>(), c.n}};
}

void FuzzTrial::fill(int number) {
  const Tools& tools = bench_.tools();
  const std::uint64_t seed = case_.seed * 1024 + static_cast<std::uint64_t>(number);
  const FuzzCase& c = case_;
  const FillDrawn a = {a_.as<float>(), c.m, c.k, c.data, Operand::a, seed};
  const FillDrawn b = {b_.as<float>(), c.k, c.n, c.data, Operand::b, seed};
  require(tools.fill_drawn(a, bench_.stream()));
  require(tools.fill_drawn(b, bench_.stream()));
  require(tools.oracle(make_oracle(problem_, product_.as<double>(), magnitude_.as<double>()),
                       bench_.stream()));
  require(tools.one_sum({a_.as<float>(), b_.as<float>(), c_.as<float>(), c.m, c.n, c.k},
                        bench_.stream()));
  one_sum_ = judge(c_);
}

Partial FuzzTrial::judge(const DeviceBuffer& c) {
  return bench_.find(
      bench_.tools().judge_drawn,
      JudgeDrawn{c.as<float>(), product_.as<double>(), magnitude_.as<double>(), case_.m * case_.n});
}

Partial FuzzTrial::run(const Kernel<Sgemm>& kernel, const char** path) {
  const auto plan = plan_for(kernel, problem_, bench_.device());
  if (!plan)
    throw Error(StatusCode::unsupported, "kernel",
                std::string(kernel.name) + " does not support this problem");
  const Workspace scratch = scratch_.at_least(plan->workspace_bytes);
  // NaN: what a kernel leaves out shows.
  require(bench_.runtime().fill(c_.data(), 0xFF, c_.bytes(), bench_.stream()));
  require(launch_planned(kernel, problem_, bench_.device(), *plan, scratch, bench_.stream()));
  *path = kernel.name;
  if (kernel.path_taken != nullptr) {
    PathWords words{};
    if (scratch.bytes >= sizeof(words))
      words = bench_.read(static_cast<const PathWords*>(scratch.data));
    *path = kernel.path_taken(problem_, bench_.device(), *plan, words);
  }
  return judge(c_);
}

}  // namespace kw::check
