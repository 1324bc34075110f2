// Host SIMT's row in the list of backends.
#include "host_simt/backend.hpp"

#include "attention/kernels.hpp"
#include "cgemm/kernels.hpp"
#include "ctrsm/kernels.hpp"
#include "host_simt/runtime.hpp"
#include "level3/kernels.hpp"
#include "reduce/kernels.hpp"
#include "rowwise/kernels.hpp"
#include "scale_add/kernels.hpp"
#include "sgemm/kernels.hpp"

namespace kw::host_simt {

const Backend& backend() {
  static const Backend backend{DeviceKind::host_simt,
                               [] { return 1; },
                               open,
                               on_host::sgemm_production,
                               on_host::level3_production,
                               on_host::scale_add_production,
                               on_host::reduce_production,
                               on_host::cgemm_production,
                               on_host::ctrsm_production,
                               on_host::rowwise_production,
                               on_host::attention_production};
  return backend;
}

}  // namespace kw::host_simt
