// Arrays with fewer dimensions.
#include "core/strided.hpp"

namespace kw::python {

Strided coalesced(const Strided& array) {
  Strided found;
  found.data = array.data;
  if (array.elements() == 0) {
    found.append(0, 1);
    return found;
  }
  for (int i = 0; i < array.dimensions; ++i) {
    if (array.size[i] == 1) continue;
    const int last = found.dimensions - 1;
    if (last >= 0 && found.stride[last] == array.size[i] * array.stride[i]) {
      found.size[last] *= array.size[i];
      found.stride[last] = array.stride[i];
    } else {
      found.append(array.size[i], array.stride[i]);
    }
  }
  return found;
}

}  // namespace kw::python
