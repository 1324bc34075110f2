// From words to products.
#include "commands/product_options.hpp"

#include <algorithm>

#include "bench/problems.hpp"
#include "choice.hpp"
#include "kernels.hpp"
#include "shapes.hpp"
#include "sweeps/program_products.hpp"
#include "sweeps/random_products.hpp"

namespace kw {
namespace {

constexpr std::int64_t default_count = 300;
constexpr std::int64_t most_products = 100000;

Op parse_op(const std::string& letter) { return letter == "T" ? Op::transpose : Op::none; }

// What is measured where no shape is asked for: all that the device does in reasonable time.
std::vector<Shape> default_shapes(const ProductChoice& choice, const Device& device) {
  if (device.kind == DeviceKind::host_simt) return sweep("small");
  std::vector<Shape> shapes =
      sweep(choice.default_sweep.empty() ? "classic" : choice.default_sweep);
  const std::int64_t largest = device.is_gpu() ? 16384 : 2048;
  std::erase_if(shapes, [&](const Shape& shape) { return shape.m > largest; });
  return shapes;
}

check::SgemmCase make_case(const ProductChoice& choice, const Shape& shape, const OpPair& ops) {
  check::SgemmCase c;
  c.m = shape.m;
  c.n = shape.n;
  c.k = shape.k;
  c.batch = choice.batch > 0 ? choice.batch : shape.batch;
  c.op_a = ops.a;
  c.op_b = ops.b;
  if (!choice.pad.empty()) {
    c.lda_pad = choice.pad[0];
    c.ldb_pad = choice.pad[1];
    c.ldc_pad = choice.pad[2];
  }
  return c;
}

std::vector<check::SgemmCase> products_of_shapes(const ProductChoice& choice,
                                                 const Device& device) {
  const std::vector<Shape> shapes = !choice.shape.empty() ? parse_shapes(choice.shape, 3, 1)
                                    : !choice.sweep.empty()
                                        ? sweep(choice.sweep, product_sweep_names())
                                        : default_shapes(choice, device);
  const std::vector<OpPair> pairs =
      choice.ops.empty() ? std::vector<OpPair>{{parse_op(choice.op_a), parse_op(choice.op_b)}}
                         : parse_ops(choice.ops);
  std::vector<check::SgemmCase> cases;
  cases.reserve(shapes.size() * pairs.size());
  for (const Shape& shape : shapes) {
    for (const OpPair& ops : pairs) cases.push_back(make_case(choice, shape, ops));
  }
  return cases;
}

check::SgemmCase make_case(const ProgramProduct& product) {
  check::SgemmCase c;
  c.m = product.m;
  c.n = product.n;
  c.k = product.k;
  c.op_a = product.op_a;
  c.op_b = product.op_b;
  c.batch = product.batch;
  return c;
}

// All products of the sweep, with their labels.
ChosenProducts products_of_sweep(const ProductChoice& choice, std::uint64_t seed) {
  ChosenProducts all;
  const auto add = [&](const check::SgemmCase& c) -> bench::SweepRow& {
    all.cases.push_back(c);
    bench::SweepRow& label = all.labels.emplace_back();
    label.sweep = choice.sweep;
    label.number = static_cast<std::int64_t>(all.cases.size()) - 1;
    label.third = bench::to_string(bench::third_of(c));
    return label;
  };
  if (choice.sweep == "programs") {
    for (const ProgramProduct& product : program_products) {
      add(make_case(product)).program = product.program;
    }
    return all;
  }
  for (const check::SgemmCase& c : random_products(seed, choice.count.value_or(default_count))) {
    add(c).seed = seed;
  }
  return all;
}

// A sweep keeps its numbers where some of its products are left out.
void leave_out_larger(ChosenProducts& products, double max_work) {
  ChosenProducts kept;
  for (std::size_t i = 0; i < products.cases.size(); ++i) {
    if (bench::work(products.cases[i]) > max_work) continue;
    kept.cases.push_back(products.cases[i]);
    kept.labels.push_back(products.labels[i]);
  }
  const std::size_t all = products.cases.size(), left = all - kept.cases.size();
  if (left > 0) {
    kept.left_out = fmt::format(
        "{} of {} products are left out: more than {:.3g} operations; "
        "--max-work sets the limit",
        left, all, max_work);
  }
  products = std::move(kept);
}

void check_options(const ProductChoice& choice) {
  if (choice.count && choice.sweep != "random") {
    throw UsageError("--count: only --sweep random draws so many products as one wants");
  }
  if (!choice.is_of_products()) {
    if (choice.max_work) throw UsageError("--max-work: is of --sweep random and --sweep programs");
    return;
  }
  const auto refuse = [&](const char* option, bool is_given) {
    if (!is_given) return;
    throw UsageError(fmt::format("{}: the products of --sweep {} have their own; leave {} out",
                                 option, choice.sweep, option));
  };
  refuse("--ops", !choice.ops.empty());
  refuse("--op-a", choice.op_a != "N");
  refuse("--op-b", choice.op_b != "N");
  refuse("--batch", choice.batch > 0);
  refuse("--pad", !choice.pad.empty());
}

}  // namespace

void ProductChoice::add_bench_options(CLI::App& to) {
  CLI::Option* shape_option = to.add_option("--shape", shape, "MxNxK,... (N is a cube)");
  shape_option->type_name("LIST")->check(not_empty());
  CLI::Option* sweep_option = to.add_option("--sweep", sweep, product_sweep_names())
                                  ->check(not_empty())
                                  ->excludes(shape_option);
  add_sweep_limits(to, sweep_option);
  to.add_option("--batch", batch,
                "Products in one call, one behind the other in memory (default: 1, or the sweep's)")
      ->check(whole_number(1, largest_extent));
  to.add_option("--pad", pad,
                "Elements between the rows of A, B and C in memory: lda, ldb and ldc are so much "
                "larger than they must be (default: 0,0,0)")
      ->type_name("A,B,C")
      ->delimiter(',')
      ->expected(3)
      ->check(whole_number(0, largest_extent));
  to.add_option("--alpha", alpha)->capture_default_str();
  to.add_option("--beta", beta)->capture_default_str();
  CLI::Option* a = to.add_option("--op-a", op_a, "N or T")
                       ->check(CLI::IsMember({"N", "T"}))
                       ->capture_default_str();
  CLI::Option* b = to.add_option("--op-b", op_b, "N or T")
                       ->check(CLI::IsMember({"N", "T"}))
                       ->capture_default_str();
  to.add_option("--ops", ops, "Several of both: nn,nt,tn,tt")
      ->type_name("LIST")
      ->check(not_empty())
      ->excludes(a)
      ->excludes(b);
}

void ProductChoice::add_complex_options(CLI::App& to) {
  to.add_option("--alpha-im", alpha_im, "alpha's imaginary part")->capture_default_str();
  to.add_option("--beta-im", beta_im, "beta's imaginary part")->capture_default_str();
  to.add_flag("--conjugate", conjugate, "Operands that are transposed are conjugated too");
}

void ProductChoice::add_sweep_limits(CLI::App& to, CLI::Option* sweep_option) {
  to.add_option("--count", count,
                fmt::format("Of --sweep random: products, a third each under 4 us, 4 to 50 and "
                            "over 50 by an H200's roofline (default: {}); --seed draws them",
                            default_count))
      ->check(whole_number(1, most_products))
      ->needs(sweep_option);
  to.add_option("--max-work", max_work,
                "Of --sweep random and programs: leave out products of more operations, 2mnk "
                "(default: 2e9 on a CPU, 1e7 through host SIMT, on a GPU none)")
      ->check(number_from_zero(false))
      ->needs(sweep_option);
}

double default_max_work(const Device& device) {
  if (device.is_gpu()) return 1e15;
  return device.kind == DeviceKind::cpu ? 2e9 : 1e7;
}

ChosenProducts chosen_products(const ProductChoice& choice, const Device& device,
                               check::Input input, std::uint64_t seed) {
  check_options(choice);
  ChosenProducts products;
  if (choice.is_of_products()) {
    products = products_of_sweep(choice, seed);
    leave_out_larger(products, choice.max_work.value_or(default_max_work(device)));
  } else {
    products.cases = products_of_shapes(choice, device);
  }
  for (check::SgemmCase& c : products.cases) {
    c.alpha = choice.alpha;
    c.beta = choice.beta;
    c.input = input;
    c.seed = seed;
  }
  return products;
}

// A CPU's list is no choice: its first kernel takes everything.
std::string kernel_of_choice(const Device& device) {
  const KernelList<Sgemm> all = all_kernels<Sgemm>(device.kind);
  const auto found = std::find_if(all.begin(), all.end(), [&](const Kernel<Sgemm>& kernel) {
    return device.kind == DeviceKind::cpu ? kernel.role == Role::production
                                          : is_choice(kernel.name);
  });
  return found != all.end() ? found->name : "";
}

void label_rows(std::vector<bench::Row>& rows, const bench::SweepRow& label,
                const check::SgemmCase& c, const std::optional<bench::Roofline>& roofline) {
  for (bench::Row& row : rows) {
    row.sweep = label;
    if (roofline) row.sweep->roofline_us = roofline->time_us(c);
  }
}

ChosenComplexProducts complex_products(const ProductChoice& choice, const Device& device,
                                       check::Input input, std::uint64_t seed) {
  ChosenProducts real = chosen_products(choice, device, input, seed);
  ChosenComplexProducts products{{}, std::move(real.labels), std::move(real.left_out)};
  for (std::size_t i = 0; i < real.cases.size(); ++i) {
    check::CgemmCase& c = products.cases.emplace_back(check::CgemmCase{real.cases[i]});
    const bool random = choice.is_of_products();
    c.conj_a = c.op_a == Op::transpose && (random ? i % 2 == 0 : choice.conjugate);
    c.conj_b = c.op_b == Op::transpose && (random ? i / 2 % 2 == 0 : choice.conjugate);
    c.alpha_im = choice.alpha_im;
    c.beta_im = choice.beta_im;
    if (random) products.labels[i].third = bench::to_string(bench::third_of(c));
  }
  return products;
}

void label_rows(std::vector<bench::Row>& rows, const bench::SweepRow& label,
                const check::CgemmCase& c, const std::optional<bench::Roofline>& roofline) {
  for (bench::Row& row : rows) {
    row.sweep = label;
    if (roofline) row.sweep->roofline_us = roofline->time_us(c);
  }
}

std::string product_sweep_names() { return std::string(sweep_names()) + ", random, programs"; }

}  // namespace kw
