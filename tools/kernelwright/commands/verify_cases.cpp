// From options to cases.
#include "commands/verify_cases.hpp"

#include <algorithm>

#include "kernels.hpp"
#include "shapes.hpp"

namespace kw {
namespace {

template <class Case, class OfShape>
std::vector<Case> cases_of(const CommonOptions& options, int dimensions, const OfShape& of_shape) {
  std::vector<Case> cases;
  for (const Shape& shape : parse_shapes(options.shape, dimensions, 0)) {
    for (const Case& c : of_shape(shape, options.parsed_input())) cases.push_back(c);
  }
  return cases;
}

template <class Case>
void set_input(std::vector<Case>& cases, check::Input input) {
  for (Case& c : cases) c.input = input;
}

// Each shape with each pair of operations.
std::vector<check::SgemmCase> sgemm_cases_of_shapes(const VerifyOptions& options) {
  const std::vector<OpPair> pairs = parse_ops(options.ops);
  return cases_of<check::SgemmCase>(options, 3, [&](const Shape& s, check::Input input) {
    std::vector<check::SgemmCase> cases;
    for (const OpPair& ops : pairs) {
      for (check::SgemmCase c : check::sgemm_cases_of_shape(s.m, s.n, s.k, input, options.seed)) {
        c.op_a = ops.a;
        c.op_b = ops.b;
        c.batch = options.batch;
        c.alpha = options.alpha.value_or(c.alpha);
        c.beta = options.beta.value_or(c.beta);
        cases.push_back(c);
      }
    }
    return cases;
  });
}

}  // namespace

bool is_for_another_device(const Kernel<Sgemm>& kernel, const Device& device) {
  Sgemm element;
  element.m = element.n = element.k = element.lda = element.ldb = element.ldc = 1;
  return kernel.role == Role::rung && !supports(kernel, element, device);
}

std::vector<check::SgemmCase> sgemm_cases(const VerifyOptions& options, bool input_given) {
  if (!options.shape.empty()) return sgemm_cases_of_shapes(options);
  std::vector<check::SgemmCase> cases = check::sgemm_edge_cases(options.seed);
  for (const auto& more :
       {check::sgemm_transpose_cases(options.seed), check::sgemm_batch_cases(options.seed),
        check::sgemm_epilogue_cases(options.seed), check::sgemm_thin_cases(options.seed)}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  if (input_given) set_input(cases, options.parsed_input());
  return cases;
}

std::vector<check::ScaleAddCase> scale_add_cases(const CommonOptions& options, bool input_given) {
  if (!options.shape.empty()) {
    return cases_of<check::ScaleAddCase>(options, 2, [&](const Shape& s, check::Input input) {
      return check::scale_add_cases_of_shape(s.m, s.n, input, options.seed);
    });
  }
  std::vector<check::ScaleAddCase> cases = check::scale_add_edge_cases(options.seed);
  if (input_given) set_input(cases, options.parsed_input());
  return cases;
}

std::vector<check::Level3Case> level3_cases(const VerifyOptions& options, bool input_given) {
  const std::vector<Routine> routines = parse_routines(options.reduce_op);
  if (!options.shape.empty())
    return level3_of_shapes(options.shape, routines, options.parsed_input(), options.seed);
  std::vector<check::Level3Case> cases = check::level3_edge_cases(options.seed);
  std::erase_if(cases, [&](const check::Level3Case& c) {
    return std::count(routines.begin(), routines.end(), c.routine) == 0;
  });
  if (input_given) set_input(cases, options.parsed_input());
  return cases;
}

std::vector<check::CgemmCase> cgemm_cases(const CommonOptions& options, bool input_given,
                                          const Device& device) {
  if (!options.shape.empty()) {
    return cases_of<check::CgemmCase>(options, 3, [&](const Shape& s, check::Input input) {
      return check::cgemm_cases_of_shape(s.m, s.n, s.k, input, options.seed);
    });
  }
  std::vector<check::CgemmCase> cases = check::cgemm_edge_cases(options.seed);
  if (device.is_gpu()) {
    const auto more =
        check::cgemm_cases_of_kernels(all_kernels<Cgemm>(device.kind), cases, device, options.seed);
    cases.insert(cases.end(), more.begin(), more.end());
  }
  if (input_given) set_input(cases, options.parsed_input());
  return cases;
}

std::vector<check::CtrsmCase> ctrsm_cases(const CommonOptions& options, bool input_given) {
  if (!options.shape.empty()) {
    return cases_of<check::CtrsmCase>(options, 2, [&](const Shape& s, check::Input input) {
      return check::ctrsm_cases_of_shape(s.m, s.n, input, options.seed);
    });
  }
  std::vector<check::CtrsmCase> cases = check::ctrsm_edge_cases(options.seed);
  if (input_given) set_input(cases, options.parsed_input());
  return cases;
}

// Operations and types choose among the edge cases, or multiply the shapes.
std::vector<check::ReduceCase> reduce_cases(const VerifyOptions& options, bool input_given) {
  const std::vector<ReduceOp> ops = parse_reduce_ops(options.reduce_op);
  const std::vector<DataType> types = parse_data_types(options.dtype);
  std::vector<check::ReduceCase> cases;
  if (!options.shape.empty()) {
    cases = reductions_of_shapes(options.shape, ops, types, options.parsed_input(), options.seed);
  } else {
    cases = check::reduce_edge_cases(options.seed);
    std::erase_if(cases, [&](const check::ReduceCase& c) {
      return std::count(ops.begin(), ops.end(), c.op) == 0 ||
             std::count(types.begin(), types.end(), c.type) == 0;
    });
  }
  if (input_given) set_input(cases, options.parsed_input());
  return cases;
}

}  // namespace kw
