// The product as a call from XLA: kernelwright._core.xla_matmul is the capsule that
// kernelwright.jax registers.
#include <xla/ffi/api/ffi.h>

#include <nanobind/nanobind.h>

#include <exception>
#include <string>

#include "core/product.hpp"
#include "module/functions.hpp"

namespace kw::python {

namespace {

namespace ffi = xla::ffi;

// As XLA lays arrays out for calls: dense, last index fastest. A matrix that is `turned` is used
// transposed.
Strided view_of(void* data, ffi::Span<const std::int64_t> sizes, bool turned) {
  Strided view;
  view.data = data;
  for (const std::int64_t size : sizes) view.append(size, 0);
  view.make_dense();
  if (turned) {
    const int row = view.dimensions - 2, col = row + 1;
    std::swap(view.size[row], view.size[col]);
    std::swap(view.stride[row], view.stride[col]);
  }
  return view;
}

ffi::Error multiply_arrays(int ordinal, Stream stream, ffi::AnyBuffer a, ffi::AnyBuffer b,
                           ffi::Result<ffi::AnyBuffer> c, std::int64_t turned, std::int64_t math) {
  const auto wrong = [](const char* text) { return ffi::Error::InvalidArgument(text); };
  if (a.element_type() != ffi::F32 || b.element_type() != ffi::F32 ||
      c->element_type() != ffi::F32) {
    return wrong("kernelwright multiplies float32");
  }
  const std::size_t count = c->dimensions().size();
  if (count < 2 || count > most_dimensions || a.dimensions().size() > count ||
      b.dimensions().size() > count) {
    return wrong("kernelwright takes arrays of 2 to 16 dimensions");
  }
  try {
    Product product;
    product.a = view_of(a.untyped_data(), a.dimensions(), (turned & 1) != 0);
    product.b = view_of(b.untyped_data(), b.dimensions(), (turned & 2) != 0);
    product.c = view_of(c->untyped_data(), c->dimensions(), false);
    product.math = static_cast<kwMath_t>(math);
    const Strided sizes = product_size(product.a, product.b).result;
    for (int i = 0; i < product.c.dimensions; ++i) {
      if (sizes.dimensions != product.c.dimensions || sizes.size[i] != product.c.size[i]) {
        return wrong("kernelwright's result is of another size");
      }
    }
    Call call(ordinal, stream);
    multiply(*call, product);
    return ffi::Error::Success();
  } catch (const std::exception& thrown) {
    return ffi::Error::Internal(thrown.what());
  }
}

ffi::Error multiply_on_cpu(ffi::AnyBuffer a, ffi::AnyBuffer b, ffi::Result<ffi::AnyBuffer> c,
                           std::int64_t turned, std::int64_t math) {
  return multiply_arrays(on_cpu, nullptr, a, b, c, turned, math);
}

ffi::Error multiply_on_gpu(void* stream, std::int32_t ordinal, ffi::AnyBuffer a, ffi::AnyBuffer b,
                           ffi::Result<ffi::AnyBuffer> c, std::int64_t turned, std::int64_t math) {
  return multiply_arrays(ordinal, stream, a, b, c, turned, math);
}

XLA_FFI_DEFINE_HANDLER(on_cpu_handler, multiply_on_cpu,
                       ffi::Ffi::Bind()
                           .Arg<ffi::AnyBuffer>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>()
                           .Attr<std::int64_t>("turned")
                           .Attr<std::int64_t>("math"));
XLA_FFI_DEFINE_HANDLER(on_gpu_handler, multiply_on_gpu,
                       ffi::Ffi::Bind()
                           .Ctx<ffi::PlatformStream<void*>>()
                           .Ctx<ffi::DeviceOrdinal>()
                           .Arg<ffi::AnyBuffer>()
                           .Arg<ffi::AnyBuffer>()
                           .Ret<ffi::AnyBuffer>()
                           .Attr<std::int64_t>("turned")
                           .Attr<std::int64_t>("math"));

}  // namespace

void add_xla_calls(nb::module_& module) {
  module.attr("xla_matmul_cpu") = nb::capsule(reinterpret_cast<void*>(on_cpu_handler));
  module.attr("xla_matmul_gpu") = nb::capsule(reinterpret_cast<void*>(on_gpu_handler));
}

}  // namespace kw::python
