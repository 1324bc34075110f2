// From words to problems of level 3.
#include "commands/level3_options.hpp"

#include <algorithm>
#include <random>

#include "bench/problems.hpp"
#include "commands/parse_words.hpp"
#include "shapes.hpp"
#include "sweeps/draws.hpp"
#include "sweeps/random_products.hpp"

namespace kw {
namespace {

constexpr Routine all_routines[] = {Routine::syrk, Routine::syrkx, Routine::syr2k, Routine::symm,
                                    Routine::trmm, Routine::trsm,  Routine::potrf};
constexpr std::int64_t default_problems = 120;

// What is measured where no shape is asked for.
const char* default_sizes(const Device& device) {
  if (device.kind == DeviceKind::host_simt) return "64,130x70x50";
  if (device.kind == DeviceKind::cpu) return "256,1024";
  return "256,512,1024,2048,4096,8192,16384x1024x1024";
}

void finish(const Level3Choice& choice, check::Input input, std::uint64_t seed,
            check::Level3Case& c) {
  c.input = input;
  c.seed = seed;
  c.alpha = choice.alpha;
  c.beta = choice.beta;
  c.is_timed = true;
}

// Sizes log-uniform, as random products have them; all else of a routine at random.
check::Level3Case draw(std::mt19937_64& engine) {
  // Seeds draw what they drew before there was potrf.
  const Routine routine = all_routines[below(engine, 6)];
  const std::int64_t m = random_extent(engine), n = random_extent(engine),
                     k = random_extent(engine);
  check::Level3Case c = check::level3_case(routine, m, n, k, below(engine, 2) == 0);
  c.triangle = below(engine, 2) == 0 ? Triangle::lower : Triangle::upper;
  const Op op = below(engine, 2) == 0 ? Op::none : Op::transpose;
  if (routine != Routine::symm) c.op_a = op;
  if (routine <= Routine::syr2k) c.op_b = op;
  c.unit_diagonal = routine >= Routine::trmm && below(engine, 2) == 0;
  c.lda_pad = random_padding(engine);
  c.ldb_pad = random_padding(engine);
  c.ldc_pad = random_padding(engine);
  return c;
}

bool is_within_bounds(const check::Level3Case& c) {
  const double operations = bench::work(c);
  const std::int64_t of_a = c.routine <= Routine::syr2k ? c.m * c.k : c.k * c.k;
  return operations >= least_operations && operations <= most_operations &&
         std::max(of_a, c.m * c.n) <= largest_operand;
}

ChosenLevel3 at_random(const Level3Choice& choice, const Device& device, check::Input input,
                       std::uint64_t seed) {
  const auto asked = parse_routines(choice.ops);
  const auto is_wanted = [&](const check::Level3Case& c) {
    return std::count(asked.begin(), asked.end(), c.routine) > 0 && is_within_bounds(c);
  };
  return forms_at_random(seed, choice.count.value_or(default_problems), "problems", device, draw,
                         is_wanted, [&](check::Level3Case& c) { finish(choice, input, seed, c); });
}

}  // namespace

std::vector<Routine> parse_routines(const std::string& text) {
  if (text == "all") return {std::begin(all_routines), std::end(all_routines)};
  std::vector<std::pair<std::string, Routine>> known;
  for (const Routine routine : all_routines) known.emplace_back(to_string(routine), routine);
  return parse_words("--op", text, known);
}

void Level3Choice::add_options(CLI::App& to) {
  to.add_option("--op", ops, "all, or some of ssyrk, ssyrkx, ssyr2k, ssymm, strmm, strsm, spotrf")
      ->type_name("LIST")
      ->capture_default_str();
  add_form_options(to,
                   "MxNxK,... (N is a cube): updates have m and k, spotrf m, the others m and n",
                   "problems", default_problems, "n, t or both: n,t");
  to.add_option("--alpha", alpha)->capture_default_str();
  to.add_option("--beta", beta)->capture_default_str();
}

ChosenLevel3 chosen_level3(const Level3Choice& choice, const Device& device, check::Input input,
                           std::uint64_t seed) {
  if (choice.is_random()) return at_random(choice, device, input, seed);
  const auto triangles = choice.triangles();
  const auto sides = choice.on_left();
  const auto ops =
      parse_words<Op>("--trans", choice.trans, {{"n", Op::none}, {"t", Op::transpose}});
  const auto units = choice.unit_diagonals();
  ChosenLevel3 chosen;
  const std::string shapes = choice.shape.empty() ? default_sizes(device) : choice.shape;
  for (const Routine routine : parse_routines(choice.ops)) {
    const bool updates = routine <= Routine::syr2k, factors = routine == Routine::potrf;
    const bool has_a = routine == Routine::trmm || routine == Routine::trsm;
    for (const Shape& shape : parse_shapes(shapes, 3, 1)) {
      for (const Triangle triangle : triangles) {
        for (const bool on_left : sides) {
          if ((updates || factors) && on_left != sides.front()) continue;
          for (const Op op : ops) {
            const bool has_op = routine != Routine::symm && !factors;
            if (!has_op && op != ops.front()) continue;
            for (const bool unit : units) {
              if (!has_a && unit != units.front()) continue;
              check::Level3Case c = check::level3_case(routine, shape.m, shape.n, shape.k, on_left);
              c.triangle = triangle;
              if (has_op) c.op_a = op;
              if (updates) c.op_b = op;
              c.unit_diagonal = has_a && unit;
              finish(choice, input, seed, c);
              chosen.cases.push_back(c);
            }
          }
        }
      }
    }
  }
  return chosen;
}

std::vector<check::Level3Case> level3_of_shapes(const std::string& shapes,
                                                const std::vector<Routine>& asked,
                                                check::Input input, std::uint64_t seed) {
  std::vector<check::Level3Case> cases;
  for (const Shape& s : parse_shapes(shapes, 3, 0)) {
    for (const Routine routine : asked) {
      for (const check::Level3Case& c :
           check::level3_cases_of_shape(routine, s.m, s.n, s.k, input, seed))
        cases.push_back(c);
    }
  }
  return cases;
}

}  // namespace kw
