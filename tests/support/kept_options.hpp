// Host SIMT's options as they are, put back at the end of a scope or of a test, also where an
// assertion leaves it.
#pragma once

#include "host_simt/host_simt.hpp"

namespace kw::test {

class KeptOptions {
 public:
  KeptOptions() = default;
  KeptOptions(const KeptOptions&) = delete;
  KeptOptions& operator=(const KeptOptions&) = delete;
  ~KeptOptions() { host_simt::options() = before_; }

 private:
  const host_simt::Options before_ = host_simt::options();
};

}  // namespace kw::test
