// Products for _torch.
#include "core/service.hpp"

#include <exception>

namespace kw::python {

namespace {

bool multiply_or_say(int ordinal, Stream stream, const Product& product, std::string* error) {
  try {
    Call call(ordinal, stream);
    multiply(*call, product);
    return true;
  } catch (const std::exception& thrown) {
    *error = thrown.what();
    return false;
  }
}

}  // namespace

const Service& service() {
  static const Service own = {multiply_or_say, is_expressible};
  return own;
}

}  // namespace kw::python
