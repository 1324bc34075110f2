// Products on the command line: which shapes, transposes and leading dimensions are meant.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/roofline.hpp"
#include "bench/row.hpp"
#include "check/verify.hpp"
#include "check/verify_cgemm.hpp"
#include "commands/chosen.hpp"
#include "commands/commands.hpp"

namespace kw {

// The options of `bench sgemm` and `verify sgemm` that choose products, as typed.
struct ProductChoice {
  std::string shape, sweep, ops, op_a = "N", op_b = "N";
  std::int64_t batch = 0;         // 0: the sweep's, or 1
  std::vector<std::int64_t> pad;  // of A, B and C
  std::optional<std::int64_t> count;
  std::optional<double> max_work;
  float alpha = 1, beta = 0;
  float alpha_im = 0, beta_im = 0;  // of cgemm
  bool conjugate = false;           // of cgemm: operands that are transposed
  std::string default_sweep;        // where neither shape nor sweep is given; empty: classic

  // Whether the sweep is one of products with ops of their own, of which rows say more (SweepRow).
  bool is_of_products() const { return sweep == "random" || sweep == "programs"; }

  // All options of `bench sgemm` that choose products.
  void add_bench_options(CLI::App& to);
  // Those of `bench cgemm` besides.
  void add_complex_options(CLI::App& to);
  // --count and --max-work, which need --sweep.
  void add_sweep_limits(CLI::App& to, CLI::Option* sweep_option);
};

using ChosenProducts = Chosen<check::SgemmCase>;

// What a sweep's product may cost at most on a device, where --max-work does not say.
double default_max_work(const Device& device);

// Throws UsageError where options do not go together.
ChosenProducts chosen_products(const ProductChoice& choice, const Device& device,
                               check::Input input, std::uint64_t seed);

// What --kernel stands for where it is not given with a sweep of products: the library's choice.
std::string kernel_of_choice(const Device& device);

// Puts a product's label, and its roofline where that is known, into its rows.
void label_rows(std::vector<bench::Row>& rows, const bench::SweepRow& label,
                const check::SgemmCase& c, const std::optional<bench::Roofline>& roofline);

// The same of complex products; of every two operands of a random sweep that are transposed, one is
// conjugated too.
using ChosenComplexProducts = Chosen<check::CgemmCase>;
ChosenComplexProducts complex_products(const ProductChoice& choice, const Device& device,
                                       check::Input input, std::uint64_t seed);
void label_rows(std::vector<bench::Row>& rows, const bench::SweepRow& label,
                const check::CgemmCase& c, const std::optional<bench::Roofline>& roofline);

// The names of all sweeps, for help texts and messages.
std::string product_sweep_names();

}  // namespace kw
