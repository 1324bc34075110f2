// Devices and the contexts that the process keeps on them, for Python.
#include "core/error.hpp"
#include "core/service.hpp"
#include "module/functions.hpp"
#include "module/operands.hpp"

namespace kw::python {

namespace {

nb::tuple describe(int ordinal) {
  Call call(ordinal, nullptr);
  return nb::make_tuple(kwDeviceKind(call->handle), ordinal == on_cpu ? 0 : ordinal,
                        kwDeviceName(call->handle));
}

// All GPUs, in order, then the CPU; and why there is no GPU, or none.
nb::tuple devices() {
  nb::list found;
  nb::object why_not = nb::none();
  for (int ordinal = 0;; ++ordinal) {
    try {
      found.append(describe(ordinal));
    } catch (const Failure& failure) {
      if (ordinal == 0) why_not = nb::str(failure.what());
      break;
    }
  }
  found.append(describe(on_cpu));
  return nb::make_tuple(found, why_not);
}

void synchronize(int ordinal, nb::handle stream) {
  const Stream asked = asked_stream(stream).value_or(nullptr);
  const nb::gil_scoped_release without_gil;
  Call call(ordinal, asked);
  call->check(kwSynchronize(call->handle));
}

// Which kernel a product would take, its predicted time and workspace.
nb::tuple plan(std::int64_t m, std::int64_t n, std::int64_t k, nb::handle math, int ordinal,
               nb::handle stream) {
  const kwMath_t arithmetic = to_math(math);
  Call call(ordinal, asked_stream(stream).value_or(nullptr));
  call->use_math(arithmetic);
  call->use_epilogue(nullptr);
  // Only an address's alignment counts.
  auto* const aligned = reinterpret_cast<float*>(std::uintptr_t{1} << 40);
  auto* const beside = aligned + (std::int64_t{1} << 36);
  auto* const result = beside + (std::int64_t{1} << 36);
  const float one = 1, zero = 0;
  kwSgemmPlan made = {};
  call->check(kwPlanSgemm(call->handle, KW_ROW_MAJOR, KW_OP_NONE, KW_OP_NONE, m, n, k, &one,
                          aligned, k > 0 ? k : 1, beside, n > 0 ? n : 1, &zero, result,
                          n > 0 ? n : 1, &made));
  return nb::make_tuple(made.kernel, made.time_us, made.workspace_bytes);
}

}  // namespace

void add_devices(nb::module_& module) {
  module.attr("ON_CPU") = on_cpu;
  module.def("version", kwVersion);
  module.def("devices", devices);
  module.def("synchronize", synchronize, nb::arg("ordinal"), nb::arg("stream").none());
  module.def("plan", plan, nb::arg("m"), nb::arg("n"), nb::arg("k"), nb::arg("math").none(),
             nb::arg("ordinal"), nb::arg("stream").none());
  module.def("service", [] { return reinterpret_cast<std::uintptr_t>(&service()); });
  module.def("contexts", [] { return nb::make_tuple(pool().size(), pool().spares()); });
  module.def("release", [] { pool().clear(); });
}

}  // namespace kw::python
