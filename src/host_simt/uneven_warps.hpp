// In random order (host_simt.hpp) the threads of a block get on about equally far, so that a
// barrier that is missing between warps is seldom noticed. This makes some warps run far ahead of
// others.
#pragma once

namespace kw::host_simt {

// Of every later launch in random order. Change it only while no launch is running.
bool& uneven_warps();

}  // namespace kw::host_simt
