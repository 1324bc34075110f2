// From words to complex triangular systems.
#include "commands/ctrsm_options.hpp"

#include <algorithm>
#include <random>

#include "bench/problems.hpp"
#include "bench/roofline.hpp"
#include "commands/parse_words.hpp"
#include "commands/product_options.hpp"
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

ChosenCtrsm systems_at_random(const CtrsmChoice& choice, const Device& device, check::Input input,
                              std::uint64_t seed) {
  ChosenCtrsm chosen;
  std::mt19937_64 engine(seed);
  const std::int64_t count = choice.count.value_or(default_systems);
  for (std::int64_t number = 0; number < count;) {
    check::CtrsmCase c = draw_system(engine);
    const bench::Third third = bench::third_of_us(bench::roofline_us(c));
    if (!is_within_bounds(c)) continue;
    if (static_cast<std::int64_t>(third) != number % bench::thirds) continue;
    const std::int64_t own = number++;
    if (bench::work(c) > default_max_work(device)) {
      chosen.left_out = "systems that take this device long are left out";
      continue;
    }
    finish_system(choice, input, seed, c);
    chosen.cases.push_back(c);
    bench::SweepRow& label = chosen.labels.emplace_back();
    label.sweep = "random";
    label.seed = seed;
    label.number = own;
    label.third = bench::to_string(third);
  }
  return chosen;
}

}  // namespace

void CtrsmChoice::add_options(CLI::App& to) {
  CLI::Option* shape_option =
      to.add_option("--shape", shape, "MxN,... of the right-hand side (N is a square)");
  shape_option->type_name("LIST")->check(not_empty());
  CLI::Option* sweep_option =
      to.add_option("--sweep", sweep, "random")->check(CLI::IsMember({"random"}));
  sweep_option->excludes(shape_option);
  to.add_option("--count", count,
                fmt::format("Of --sweep random: systems, a third each under 4 us, 4 to 50 and over "
                            "50 by an H200's roofline (default: {}); --seed draws them",
                            default_systems))
      ->check(whole_number(1, 100000))
      ->needs(sweep_option);
  to.add_option("--uplo", uplo, "lower, upper or both: lower,upper")->capture_default_str();
  to.add_option("--side", side, "left, right or both: left,right")->capture_default_str();
  to.add_option("--trans", trans, "n, t, c or several: n,t,c")->capture_default_str();
  to.add_option("--diag", diag, "n, u or both: n,u (unit)")->capture_default_str();
  to.add_option("--alpha", alpha, "alpha's real part")->capture_default_str();
  to.add_option("--alpha-im", alpha_im, "alpha's imaginary part")->capture_default_str();
}

ChosenCtrsm chosen_ctrsm(const CtrsmChoice& choice, const Device& device, check::Input input,
                         std::uint64_t seed) {
  if (choice.is_random()) return systems_at_random(choice, device, input, seed);
  const auto triangles = parse_words<Triangle>(
      "--uplo", choice.uplo, {{"lower", Triangle::lower}, {"upper", Triangle::upper}});
  const auto sides = parse_words<bool>("--side", choice.side, {{"left", true}, {"right", false}});
  const auto letters =
      parse_words<char>("--trans", choice.trans, {{"n", 'n'}, {"t", 't'}, {"c", 'c'}});
  const auto units = parse_words<bool>("--diag", choice.diag, {{"n", false}, {"u", true}});
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
