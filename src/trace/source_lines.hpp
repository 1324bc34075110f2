// Where in the source an instruction of this program comes from, asked of binutils' addr2line.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace kw::trace {

// "r07_conflict_free.cu:41", or "steps.hpp:43 from r08_shuffle.cu:24" where a kernel file calls
// what has the access; the address where addr2line or the program's debug information is missing.
std::map<std::uintptr_t, std::string> source_lines(const std::vector<std::uintptr_t>& calls);

// What one line of the above is made of: the inlined functions' places, innermost first, as
// addr2line prints them.
std::string place_of(const std::vector<std::string>& frames);

}  // namespace kw::trace
