// Calls of the C interface in a loop, for what measures the package beside it.
#include <nanobind/stl/string.h>

#include <chrono>
#include <optional>

#include "core/error.hpp"
#include "module/functions.hpp"
#include "module/operands.hpp"

namespace kw::python {

namespace {

// One product of dense square matrices on the stream that their package has now.
class CallLoop {
 public:
  CallLoop(nb::handle a, nb::handle b, nb::handle out, nb::handle math)
      : a_(Array::of(a, "a", std::nullopt, true)),
        b_(Array::of(b, "b", std::nullopt, true)),
        out_(Array::of(out, "out", std::nullopt, true)),
        math_(to_math(math)),
        place_(place_of({&a_, &b_, &out_}, std::nullopt)) {
    const std::int64_t n = a_.view().size[0];
    for (const Array* array : {&a_, &b_, &out_}) {
      const Strided& view = array->view();
      if (array->type() != KW_FLOAT32 || view.dimensions != 2 || view.size[0] != n ||
          view.size[1] != n || !view.is_dense()) {
        refuse(array->name(), " must be a dense float32 matrix of ", n, " rows and columns");
      }
    }
  }

  // The time of the host for so many calls.
  double seconds(int count) {
    using Clock = std::chrono::steady_clock;
    Call call(place_.ordinal, place_.stream);
    call->use_math(math_);
    call->use_epilogue(nullptr);
    const std::int64_t n = a_.view().size[0];
    const float one = 1, zero = 0;
    const auto begin = Clock::now();
    for (int i = 0; i < count; ++i) {
      call->check(kwSgemm(call->handle, KW_ROW_MAJOR, KW_OP_NONE, KW_OP_NONE, n, n, n, &one,
                          address(a_), n, address(b_), n, &zero, address(out_), n));
    }
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

 private:
  static float* address(const Array& array) { return static_cast<float*>(array.view().data); }

  Array a_, b_, out_;
  kwMath_t math_;
  Place place_;
};

}  // namespace

void add_call_loop(nb::module_& module) {
  nb::class_<CallLoop>(module, "CallLoop")
      .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle>())
      .def("seconds", &CallLoop::seconds);
}

}  // namespace kw::python
