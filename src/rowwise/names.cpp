// Names of row-wise operations, for messages, the command line and result files.
#include "rowwise/problem.hpp"

namespace kw {

const char* to_string(RowwiseOp op) {
  switch (op) {
    case RowwiseOp::softmax: return "softmax";
    case RowwiseOp::log_softmax: return "log_softmax";
    case RowwiseOp::layer_norm: return "layer_norm";
    case RowwiseOp::rms_norm: return "rms_norm";
    case RowwiseOp::map: return "map";
  }
  return "unknown";
}

const char* to_string(RowActivation activation) {
  switch (activation) {
    case RowActivation::none: return "none";
    case RowActivation::relu: return "relu";
    case RowActivation::gelu_tanh: return "gelu_tanh";
    case RowActivation::gelu_erf: return "gelu_erf";
    case RowActivation::silu: return "silu";
  }
  return "unknown";
}

}  // namespace kw
