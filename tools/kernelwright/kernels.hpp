// Which devices are here and which kernels each of them has: everything that the commands choose
// from comes out of the registries' lists.
#pragma once

#include <memory>

#include <string>
#include <vector>
#include "backends.hpp"

namespace kw {

// Makes host SIMT known to `backends()` where it is compiled in. Once, before anything else.
void add_developer_backends();

// Rungs, production kernels, peers of one kind of device, in ladder order.
template <class Problem>
KernelList<Problem> all_kernels(DeviceKind kind);

// The kernels whose names match any of the globs (separated by commas), order kept; all where
// `globs` is empty. A glob behind "!" takes away again, from all where it comes first: "!amd_*".
// Throws UsageError, listing what exists, where one of the globs matches none.
template <class Problem>
KernelList<Problem> select_kernels(const KernelList<Problem>& all, const std::string& globs);

// Opens "cpu", "gpu", "gpu:1", "host-simt", or "auto": the first GPU, else the CPU. Throws
// UsageError for another name and kw::Error{no_device} where the device is not here.
std::unique_ptr<Runtime> open_device(const std::string& name);

}  // namespace kw
