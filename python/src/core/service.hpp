// What _torch takes from _core, so that both share the process's contexts. Both are of one build.
#pragma once

#include <string>

#include "core/product.hpp"

namespace kw::python {

struct Service {
  // Queues the product on the stream; false, and a sentence, where nothing was done.
  bool (*multiply)(int ordinal, Stream stream, const Product& product, std::string* error);
  bool (*is_expressible)(const Strided& array);
};

// _core's own.
const Service& service();

}  // namespace kw::python
