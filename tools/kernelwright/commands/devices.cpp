// kernelwright devices: what is here, and what it can do at most.
#include <nlohmann/json.hpp>

#include "bench/result_file.hpp"
#include "bench/results.hpp"
#include "bench/sensors.hpp"
#include "bench/table.hpp"
#include "commands/commands.hpp"
#include "commands/session.hpp"
#include "kernels.hpp"

namespace kw {
namespace {

using Cells = std::vector<std::vector<std::string>>;

// "65536 (64.0 KiB)"
std::string bytes_text(std::size_t bytes) {
  if (bytes == 0) return "-";
  const double kib = static_cast<double>(bytes) / 1024;
  if (kib < 1024) return fmt::format("{} ({:.1f} KiB)", bytes, kib);
  if (kib < 1024 * 1024) return fmt::format("{} ({:.1f} MiB)", bytes, kib / 1024);
  return fmt::format("{} ({:.1f} GiB)", bytes, kib / 1024 / 1024);
}

std::string number_text(std::int64_t value) { return value > 0 ? fmt::format("{}", value) : "-"; }

// From compute capability 8.0 on a block may have all of a multiprocessor's shared memory but what
// the system keeps of it for each block.
std::string reserved_text(const Device& d) {
  if (d.compute_capability < 80 || d.shared_bytes_per_sm < d.shared_bytes_per_block_optin)
    return "-";
  return bytes_text(d.shared_bytes_per_sm - d.shared_bytes_per_block_optin);
}

std::string text_or_dash(const std::string& text) { return text.empty() ? "-" : text; }

std::string measured(const std::optional<double>& value, const char* unit) {
  return value ? fmt::format("{:.3g} {}", *value, unit) : "not measured";
}

Cells gpu_rows(const Device& d) {
  return {
      {"compute capability",
       d.compute_capability > 0
           ? fmt::format("{}.{}", d.compute_capability / 10, d.compute_capability % 10)
           : "-"},
      {"multiprocessors", number_text(d.sm_count)},
      {"warp size", number_text(d.warp_size)},
      {"threads a block", number_text(d.max_threads_per_block)},
      {"threads a multiprocessor", number_text(d.max_threads_per_sm)},
      {"warps a multiprocessor",
       d.warp_size > 0 ? number_text(d.max_threads_per_sm / d.warp_size) : "-"},
      {"registers a block", number_text(d.registers_per_block)},
      {"registers a multiprocessor", number_text(d.registers_per_sm)},
      {"shared memory a block", bytes_text(d.shared_bytes_per_block)},
      {"shared memory a block, opt-in", bytes_text(d.shared_bytes_per_block_optin)},
      {"shared memory a multiprocessor", bytes_text(d.shared_bytes_per_sm)},
      {"shared memory reserved a block", reserved_text(d)},
      {"registers given to a warp", d.compute_capability >= 70 ? "multiples of 256" : "-"},
      {"warps of a block are given", d.compute_capability >= 70 ? "in fours" : "-"},
      {"L2", bytes_text(d.l2_bytes)},
      {"grid limits", fmt::format("{} x {} x {}", d.max_grid[0], d.max_grid[1], d.max_grid[2])},
      {"block limits", fmt::format("{} x {} x {}", d.max_block[0], d.max_block[1], d.max_block[2])},
      {"highest SM clock", d.sm_clock_khz > 0 ? fmt::format("{} MHz", d.sm_clock_khz / 1000) : "-"},
      {"memory bus", d.memory_bus_bits > 0 ? fmt::format("{} bits", d.memory_bus_bits) : "-"}};
}

void print_device(const Device& d, const bench::Ceilings& ceilings) {
  Cells cells = {{"kind", to_string(d.kind)}, {"architecture", text_or_dash(d.architecture)}};
  if (d.kind == DeviceKind::cpu) {
    cells.push_back({"threads", number_text(d.sm_count)});
    cells.push_back({"cache", bytes_text(d.l2_bytes)});
  } else {
    for (const auto& row : gpu_rows(d)) cells.push_back(row);
  }
  cells.push_back({"memory", bytes_text(d.memory_bytes)});
  const std::string nvidia = d.kind == DeviceKind::cuda ? bench::nvidia_driver_version() : "";
  if (!nvidia.empty()) cells.push_back({"driver", nvidia});
  cells.push_back({d.kind == DeviceKind::cuda ? "driver API" : "driver", text_or_dash(d.driver)});
  cells.push_back({"runtime", text_or_dash(d.runtime)});
  if (d.kind != DeviceKind::host_simt) {
    cells.push_back({"measured FP32 peak", measured(ceilings.fp32_tflops, "TFLOP/s")});
    cells.push_back({"measured read", measured(ceilings.read_gbs, "GB/s")});
    cells.push_back({"measured copy", measured(ceilings.copy_gbs, "GB/s, read and written")});
  }
  if (ceilings.empty_kernel) {
    cells.push_back({"empty kernel", fmt::format("{:.2f} us in a graph, {:.2f} us between events",
                                                 ceilings.empty_kernel->graph_us,
                                                 ceilings.empty_kernel->events_us)});
  }
  fmt::print("{}:{} {}\n", to_string(d.kind), d.ordinal, d.name);
  for (auto& row : cells) row[0] = "  " + row[0];
  fmt::print("{}\n", bench::align(cells, 2));
}

void run(const CommonOptions& options, bool measure) {
  { const bench::ResultFile can_be_written(options.json); }
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  Progress progress;
  for (const Backend& backend : backends()) {
    std::unique_ptr<Runtime> none;
    if (backend.device_count() == 0 && !options.quiet()) {
      fmt::print("{}: {}\n\n", to_string(backend.kind), backend.open(0, &none).message);
    }
    for (int ordinal = 0; ordinal < backend.device_count(); ++ordinal) {
      std::unique_ptr<Runtime> runtime;
      check::require(backend.open(ordinal, &runtime));
      const Device& device = runtime->device();
      bench::Ceilings ceilings;
      if (measure) {
        progress.show("measuring " + device.name);
        check::Workbench bench(*runtime);
        ceilings = bench::measure_ceilings(bench);
        progress.clear();
      }
      if (!options.quiet()) print_device(device, ceilings);
      mention_broken_tune_cache(device);
      all.push_back(bench::device_json(device, ceilings));
    }
  }
  if (!options.json.empty()) {
    bench::write_json(options.json, {{"schema", 1}, {"devices", all}});
  }
}

}  // namespace

void add_devices_command(CLI::App& app, Invocation&) {
  CLI::App* command =
      app.add_subcommand("devices", "Show the devices that are here, with measured limits");
  command->footer("Examples:\n  kernelwright devices\n  kernelwright devices --json -");
  auto options = std::make_shared<CommonOptions>();
  auto no_measure = std::make_shared<bool>(false);
  options->add_json(*command);
  command->add_flag("--no-measure", *no_measure, "Properties only");
  command->callback([options, no_measure] { run(*options, !*no_measure); });
}

}  // namespace kw
