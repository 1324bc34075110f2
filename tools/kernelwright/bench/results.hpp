// What a result file says besides its rows: device, software, command (schema 1).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "bench/ceilings.hpp"
#include "gpu/device.hpp"

namespace kw::bench {

nlohmann::ordered_json device_json(const Device& device, const Ceilings& ceilings);
nlohmann::ordered_json software_json(const Device& device);
// A result file but for its rows (result_file.hpp).
nlohmann::ordered_json head_json(const std::string& command, const Device& device,
                                 const Ceilings& ceilings);

// Writes to a file, or to standard output where `path` is "-". Throws std::runtime_error where it
// cannot.
void write_json(const std::string& path, const nlohmann::ordered_json& json);

}  // namespace kw::bench
