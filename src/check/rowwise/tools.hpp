// The parts of a row-wise check that run where the data lies, as in check/tools.hpp.
#pragma once

#include "check/rowwise/judge.hpp"
#include "gpu/device.hpp"

namespace kw::check {

struct RowwiseTools {
  Status (*oracle)(const RowwiseOracle&, Stream);  // one phase of it
  Status (*judge)(const JudgeRowwise&, Partial* partials, Stream);
};

const RowwiseTools& rowwise_tools_for(const Device& device);

}  // namespace kw::check

namespace kw::on_cuda::check {
const kw::check::RowwiseTools& rowwise_tools();
}
namespace kw::on_hip::check {
const kw::check::RowwiseTools& rowwise_tools();
}
namespace kw::on_host::check {
const kw::check::RowwiseTools& rowwise_tools();
}
