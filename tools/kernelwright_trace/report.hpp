// What was traced, for people and as JSON.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>

#include "rungs.hpp"

namespace kw {

// Counts by line of the source, where an instruction of the source may be several of the machine's.
using Lines = std::map<std::pair<std::string, trace::Kind>, trace::AccessCounts>;

// `lines_told`: of the costliest of the source, at most so many.
void print_trace(const RungTrace& traced, int lines_told);
nlohmann::json trace_to_json(const RungTrace& traced);

}  // namespace kw
