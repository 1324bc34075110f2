// Products as a program computes them, through a context of the library: the host's time of such a
// call has the checks of its arguments and the context's plans in it.
#pragma once

#include <memory>

#include "api/context_state.hpp"
#include "check/workbench.hpp"
#include "sgemm/problem.hpp"

namespace kw::bench {

class LibraryCalls {
 public:
  // On the workbench's device and stream.
  explicit LibraryCalls(const check::Workbench& bench);
  Status sgemm(const Sgemm& problem, Math math);
  // The calls as a kernel's row, so that what checks kernels judges them. It is of the last object
  // whose row was asked for on this thread, as long as that lives.
  Kernel<Sgemm> row(Math math);

 private:
  std::unique_ptr<detail::ContextState> state_;
};

}  // namespace kw::bench
