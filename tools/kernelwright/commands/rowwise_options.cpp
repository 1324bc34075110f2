// From words to row-wise operations.
#include "commands/rowwise_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "commands/commands.hpp"
#include "commands/parse_words.hpp"
#include "program.hpp"
#include "shapes.hpp"
#include "sweeps/random_rowwise.hpp"

namespace kw {
namespace {

constexpr std::array all_row_ops = {RowwiseOp::softmax, RowwiseOp::log_softmax,
                                    RowwiseOp::layer_norm, RowwiseOp::rms_norm, RowwiseOp::map};
constexpr std::array all_row_types = {DataType::float32, DataType::float16, DataType::bfloat16};
constexpr std::int64_t default_rowwise = 90;

const char* default_row_shapes(const Device& device) {
  if (device.kind == DeviceKind::host_simt) return "33x100,2x20000";
  if (device.kind == DeviceKind::cpu) return "1024x1024,8x200000";
  return "1048576x64,65536x768,16384x4096,4096x16384,512x262144,64x4194304,1x100000000";
}

ChosenRowwise drawn_rowwise(const RowwiseChoice& choice, const Device& device, check::Input input,
                            std::uint64_t seed) {
  const double most = device.is_gpu()                  ? most_row_elements
                      : device.kind == DeviceKind::cpu ? std::int64_t{1} << 22
                                                       : std::int64_t{1} << 14;
  constexpr double mebibyte = 1 << 20;
  const auto all =
      random_rowwise(seed, choice.count.value_or(default_rowwise), choice.least_mib * mebibyte);
  ChosenRowwise chosen = labelled(
      all, seed,
      [&](const check::RowwiseCase& c) { return static_cast<double>(c.rows * c.cols) <= most; },
      [](const check::RowwiseCase& c) { return third_of(c); });
  for (check::RowwiseCase& c : chosen.cases) {
    c.input = input;
    c.seed = seed;
  }
  if (chosen.cases.size() < all.size()) {
    chosen.left_out = fmt::format("{} of {} are left out: more than {:.0f} elements",
                                  all.size() - chosen.cases.size(), all.size(), most);
  }
  return chosen;
}

std::vector<check::RowwiseCase> of_row_shapes(const std::string& shapes, const std::string& ops,
                                              const std::string& types, check::Input input,
                                              std::uint64_t seed, std::int64_t least) {
  std::vector<check::RowwiseCase> cases;
  for (const RowwiseOp op : parse_names(all_row_ops, ops, "--op")) {
    for (const DataType type : parse_names(all_row_types, types, "--dtype")) {
      for (const Shape& shape : parse_shapes(shapes, 2, least)) {
        check::RowwiseCase& c = cases.emplace_back();
        c.op = op;
        c.type = type;
        c.rows = shape.m;
        c.cols = shape.n;
        c.affine = is_norm(op);
        if (op == RowwiseOp::map) c.activation = RowActivation::gelu_tanh;
        c.input = input;
        c.seed = seed;
      }
    }
  }
  return cases;
}

}  // namespace

std::string rowwise_op_names() { return names_of(all_row_ops); }

void RowwiseChoice::add_options(CLI::App& to) {
  to.add_option("--op", ops, "all, or some of " + rowwise_op_names())
      ->type_name("LIST")
      ->capture_default_str();
  to.add_option("--dtype", types, "all, or some of " + names_of(all_row_types))
      ->type_name("LIST")
      ->capture_default_str();
  CLI::Option* shape_option = to.add_option("--shape", shape, "ROWSxCOLS,... (N is a square)");
  shape_option->type_name("LIST")->check(not_empty());
  CLI::Option* sweep_option =
      to.add_option("--sweep", sweep, "random")->check(CLI::IsMember({"random"}));
  sweep_option->excludes(shape_option);
  to.add_option("--count", count,
                fmt::format("Of --sweep random: a third each under 4 us, 4 to 50 and over 50 by an "
                            "H200's bandwidth (default: {}); --seed draws them",
                            default_rowwise))
      ->check(whole_number(1, 100000))
      ->needs(sweep_option);
  to.add_option("--least-mib", least_mib,
                "Of --sweep random: those of at least so many MiB, read and written, alone")
      ->check(number_from_zero(true))
      ->needs(sweep_option);
  to.add_option("--misalign", misalign, "Elements past a 256-byte boundary")
      ->check(whole_number(0, 255))
      ->capture_default_str();
  to.add_option("--pad", pad, "Elements between rows")
      ->check(whole_number(0, 1 << 20))
      ->capture_default_str();
  to.add_flag("--in-place", in_place, "y is x");
  to.add_flag("--residual", residual,
              "Bias and residual are added first, and their sum is written");
}

ChosenRowwise chosen_rowwise(const RowwiseChoice& choice, const Device& device, check::Input input,
                             std::uint64_t seed) {
  if (choice.is_random()) {
    const RowwiseChoice defaults;
    if (choice.ops != defaults.ops || choice.types != defaults.types || choice.misalign != 0 ||
        choice.pad != 0 || choice.in_place || choice.residual) {
      throw UsageError(
          "--sweep random draws operation, type, alignment and padding; leave --op, --dtype, "
          "--misalign, --pad, --in-place and --residual out");
    }
    return drawn_rowwise(choice, device, input, seed);
  }
  const std::string shapes = choice.shape.empty() ? default_row_shapes(device) : choice.shape;
  ChosenRowwise chosen;
  chosen.cases = of_row_shapes(shapes, choice.ops, choice.types, input, seed, 1);
  for (check::RowwiseCase& c : chosen.cases) {
    c.misalign = choice.misalign;
    c.ldx_pad = c.ldy_pad = choice.pad;
    c.in_place = choice.in_place;
    c.bias = c.sum = choice.residual;
    if (choice.residual) c.residual = check::RowResidual::all;
  }
  return chosen;
}

std::vector<check::RowwiseCase> rowwise_to_verify(const std::string& ops, const std::string& types,
                                                  const std::string& shapes, check::Input input,
                                                  std::uint64_t seed) {
  std::vector<check::RowwiseCase> cases;
  if (!shapes.empty()) {
    for (const check::RowwiseCase& shape : of_row_shapes(shapes, ops, types, input, seed, 0)) {
      for (const check::RowwiseCase& c : check::rowwise_cases_of_shape(shape)) cases.push_back(c);
    }
    return cases;
  }
  const auto row_ops = parse_names(all_row_ops, ops, "--op");
  const auto row_types = parse_names(all_row_types, types, "--dtype");
  cases = check::rowwise_edge_cases(seed);
  std::erase_if(cases, [&](const check::RowwiseCase& c) {
    return std::count(row_ops.begin(), row_ops.end(), c.op) == 0 ||
           std::count(row_types.begin(), row_types.end(), c.type) == 0;
  });
  return cases;
}

}  // namespace kw
