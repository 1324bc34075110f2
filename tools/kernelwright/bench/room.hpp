// Whether a problem fits in memory, asked before anything is allocated for it.
#pragma once

#include <string>
#include <vector>

#include "bench/row.hpp"
#include "gpu/device.hpp"
#include "program.hpp"

namespace kw::bench {

// Bytes that one problem may take: nine tenths of a GPU's memory; where the device works in host
// memory also no more than what is free there now.
double usable_bytes(const Device& device);

// "8.6 GB", "47 EB", "4.8e+24 bytes".
std::string bytes_text(double bytes);

// Of memory, what it takes against what is there; empty where it fits.
std::string lack_of_room(double bytes, const Device& device);

// Throws UsageError naming the argument that made the first problem that does not fit.
template <class Trial, class Case>
void require_room(const char* argument, const std::vector<Case>& cases, const Device& device) {
  for (const Case& c : cases) {
    const std::string lack = lack_of_room(Trial::bytes(c, device), device);
    if (lack.empty()) continue;
    throw UsageError(std::string(argument) + ": " + size_text(c) + " takes " + lack +
                     "; take a smaller one" + (device.is_gpu() ? "" : ", or free memory"));
  }
}

}  // namespace kw::bench
