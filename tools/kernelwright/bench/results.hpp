// The result file: device, software, command and rows, one JSON object (schema 1).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/ceilings.hpp"
#include "bench/row.hpp"

namespace kw::bench {

nlohmann::ordered_json device_json(const Device& device, const Ceilings& ceilings);
nlohmann::ordered_json software_json(const Device& device);
nlohmann::ordered_json results_json(const std::string& command, const Device& device,
                                    const Ceilings& ceilings, const std::vector<Row>& rows);

// Writes to a file, or to standard output where `path` is "-". Throws UsageError where it cannot.
void write_json(const std::string& path, const nlohmann::ordered_json& json);

}  // namespace kw::bench
