// Products as a program computes them, through a context of the library: the host's time of such a
// call has the checks of its arguments and the context's plans in it.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "api/context_state.hpp"
#include "check/workbench.hpp"
#include "sgemm/problem.hpp"

namespace kw::bench {

class LibraryCalls {
 public:
  // On the workbench's device and stream.
  explicit LibraryCalls(const check::Workbench& bench);
  // In a context that is there, of the device where the problems are.
  explicit LibraryCalls(std::unique_ptr<detail::ContextState> state) : state_(std::move(state)) {}
  Status sgemm(const Sgemm& problem, Math math);
  // Which way the last call took, which was this one: "stream_64x64", "hopper_fp16x3_128x128 in
  // sub-problems". Waits for it; valid as long as this object is.
  const char* path(const Sgemm& problem, Math math);
  // The calls as a kernel's row, so that what checks kernels judges them. It is of the last object
  // whose row was asked for on this thread, as long as that lives.
  Kernel<Sgemm> row(Math math);

 private:
  std::unique_ptr<detail::ContextState> state_;
  std::set<std::string> paths_;
};

}  // namespace kw::bench
