// From words to complex triangular systems.
#include "commands/ctrsm_options.hpp"

#include <algorithm>
#include <random>

#include "bench/problems.hpp"
#include "commands/parse_words.hpp"
#include "shapes.hpp"
#include "sweeps/draws.hpp"
#include "sweeps/random_products.hpp"

namespace kw {
namespace {

constexpr std::int64_t default_systems = 60;

// What is measured where no shape is asked for.
const char* default_system_sizes(const Device& device) {
  if (device.kind == DeviceKind::host_simt) return "64,130x70";
  if (device.kind == DeviceKind::cpu) return "256,1024";
  return "256,512,1024,2048,4096,8192,4096x512";
}

void finish_system(const CtrsmChoice& choice, check::Input input, std::uint64_t seed,
                   check::CtrsmCase& c) {
  c.input = input;
  c.seed = seed;
  c.alpha = choice.alpha;
  c.alpha_im = choice.alpha_im;
  c.is_timed = true;
}

// Sizes log-uniform, as random products have them; all else at random, operations as BLAS has them.
check::CtrsmCase draw_system(std::mt19937_64& engine) {
  check::CtrsmCase c;
  c.m = random_extent(engine);
  c.n = random_extent(engine);
  c.on_left = below(engine, 2) == 0;
  c.triangle = below(engine, 2) == 0 ? Triangle::lower : Triangle::upper;
  const std::int64_t op = below(engine, 3);
  c.op_a = op == 0 ? Op::none : Op::transpose;
  c.conj_a = op == 2;
  c.unit_diagonal = below(engine, 2) == 0;
  c.lda_pad = random_padding(engine);
  c.ldc_pad = random_padding(engine);
  return c;
}

bool is_within_bounds(const check::CtrsmCase& c) {
  const double operations = bench::work(c);
  return operations >= least_operations && operations <= most_operations &&
         2 * std::max(c.k() * c.k(), c.m * c.n) <= largest_operand;
}

}  // namespace

void CtrsmChoice::add_options(CLI::App& to) {
  add_form_options(to, "MxN,... of the right-hand side (N is a square)", "systems", default_systems,
                   "n, t, c or several: n,t,c");
  to.add_option("--alpha", alpha, "alpha's real part")->capture_default_str();
  to.add_option("--alpha-im", alpha_im, "alpha's imaginary part")->capture_default_str();
}

ChosenCtrsm chosen_ctrsm(const CtrsmChoice& choice, const Device& device, check::Input input,
                         std::uint64_t seed) {
  if (choice.is_random())
    return forms_at_random(seed, choice.count.value_or(default_systems), "systems", device,
                           draw_system, is_within_bounds,
                           [&](check::CtrsmCase& c) { finish_system(choice, input, seed, c); });
  const auto triangles = choice.triangles();
  const auto sides = choice.on_left();
  const auto letters =
      parse_words<char>("--trans", choice.trans, {{"n", 'n'}, {"t", 't'}, {"c", 'c'}});
  const auto units = choice.unit_diagonals();
  const std::string shapes = choice.shape.empty() ? default_system_sizes(device) : choice.shape;
  ChosenCtrsm chosen;
  for (const Shape& shape : parse_shapes(shapes, 2, 1)) {
    for (const Triangle triangle : triangles) {
      for (const bool on_left : sides) {
        for (const char letter : letters) {
          for (const bool unit : units) {
            check::CtrsmCase& c = chosen.cases.emplace_back();
            c.m = shape.m;
            c.n = shape.n;
            c.triangle = triangle;
            c.on_left = on_left;
            c.op_a = letter == 'n' ? Op::none : Op::transpose;
            c.conj_a = letter == 'c';
            c.unit_diagonal = unit;
            finish_system(choice, input, seed, c);
          }
        }
      }
    }
  }
  return chosen;
}

}  // namespace kw
