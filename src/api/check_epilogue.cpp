// The checks of an epilogue's fields, before anything is written.
#include "api/check_epilogue.hpp"

#include <string>

#include "text.hpp"

namespace kw::detail {

namespace {

constexpr const char* options = "options.epilogue.";

std::string field(const char* name) { return std::string(options) + name; }

bool has_source(const SgemmCall& call) {
  return call.options.epilogue.source.data != nullptr && !call.beta.is(0);
}

// Messages call it S, as the header does.
Operand source_of(const SgemmCall& call) {
  const Epilogue& epilogue = call.options.epilogue;
  return {'s', epilogue.source, call.batch.count, epilogue.stride_source};
}
// A check of S names its arguments by the letter: "s.rows", "lds", "stride_s".
Status of_source(Status status) {
  if (status.ok()) return status;
  const std::string& by_letter = status.argument;
  const std::string argument = by_letter == "stride_s" ? "stride_source"
                               : by_letter == "lds"    ? "source.ld"
                                                       : "source" + by_letter.substr(1);
  return invalid(text(options, "source is S: ", status.message), options + argument);
}

// The vectors of the entries as lines of a matrix, for what only looks at places.
Operand bias_of(const SgemmCall& call, const Operand& c) {
  const Epilogue& epilogue = call.options.epilogue;
  const std::int64_t count = epilogue.bias_of == BiasOf::rows ? c.view.rows : c.view.cols;
  return {'v', row_major(epilogue.bias, 1, count), call.batch.count, epilogue.stride_bias};
}

Status check_source_numbers(const SgemmCall& call, const Operand& c) {
  const Operand source = source_of(call);
  if (call.batch.by_pointers) {
    return invalid(text(options,
                        "source is given with arrays of pointers, for which there is none: "
                        "pass strides, or add it to C"),
                   field("source"));
  }
  if (Status stride = check_stride(source); !stride.ok()) return of_source(std::move(stride));
  if (Status view = check_view(source); !view.ok()) return of_source(std::move(view));
  if (source.view.op != Op::none || source.view.layout != c.view.layout) {
    return invalid(text(options, "source is ",
                        source.view.op != Op::none ? "transposed" : "in the other layout than C",
                        ": pass it as C is stored"),
                   field("source"));
  }
  if (source.view.rows == c.view.rows && source.view.cols == c.view.cols) return Status::success();
  return invalid(text(options, "source is S (", source.view.rows, " x ", source.view.cols,
                      "), but C is ", c.view.rows, " x ", c.view.cols, ": make the two equal"),
                 field("source"));
}

}  // namespace

bool reads_other_source(const SgemmCall& call) {
  const Epilogue& epilogue = call.options.epilogue;
  const bool is_c = epilogue.source.data == call.c.data && epilogue.source.ld == call.c.ld &&
                    (call.batch.count <= 1 || epilogue.stride_source == call.batch.stride_c);
  return has_source(call) && !is_c;
}

bool has_epilogue(const SgemmCall& call) {
  const Epilogue& epilogue = call.options.epilogue;
  return epilogue.bias != nullptr || epilogue.activation != Activation::none || has_source(call);
}

Status check_epilogue_numbers(const SgemmCall& call, const Operand& c) {
  const Epilogue& epilogue = call.options.epilogue;
  const int activation = static_cast<int>(epilogue.activation);
  const int along = static_cast<int>(epilogue.bias_of);
  if (activation < 0 || activation > static_cast<int>(Activation::gelu_erf)) {
    return invalid(text(options, "activation is ", activation,
                        ": pass 0 (none), 1 (relu), 2 (gelu_tanh) or 3 (gelu_erf)"),
                   field("activation"));
  }
  if (along != static_cast<int>(BiasOf::rows) && along != static_cast<int>(BiasOf::columns)) {
    return invalid(text(options, "bias_of is ", along, ": pass 0 (rows) or 1 (columns)"),
                   field("bias_of"));
  }
  if (epilogue.stride_bias < 0) {
    return invalid(text(options, "stride_bias is ", epilogue.stride_bias, ": pass 0 or more"),
                   field("stride_bias"));
  }
  return has_source(call) ? check_source_numbers(call, c) : Status::success();
}

Status check_epilogue_places(const SgemmCall& call, const Operand& c) {
  const Epilogue& epilogue = call.options.epilogue;
  if (epilogue.bias != nullptr) {
    const auto past = reinterpret_cast<std::uintptr_t>(epilogue.bias) % alignof(float);
    if (past != 0) {
      return invalid(text(options, "bias lies ", past, " bytes past a multiple of ", alignof(float),
                          ": a float's address is a multiple of ", alignof(float)),
                     field("bias"));
    }
    if (!call.batch.by_pointers && !check_no_shared_element(c, bias_of(call, c)).ok()) {
      return invalid(
          text(options, "bias at ", static_cast<const void*>(epilogue.bias),
               " shares an element with ", c.description(), " at ",
               static_cast<const void*>(c.view.data), " with ", c.steps(), ": keep it elsewhere"),
          field("bias"));
    }
  }
  if (!has_source(call)) return Status::success();
  const Operand source = source_of(call);
  if (Status data = check_data(source); !data.ok()) return of_source(std::move(data));
  if (!reads_other_source(call)) return Status::success();
  Status apart = check_no_shared_element(c, source);
  if (apart.ok()) return apart;
  return invalid(text(options, "source is S: ", apart.message, ", or pass C itself"),
                 field("source"));
}

}  // namespace kw::detail
