// Plans are made on the host, so the kernels of any target answer for the device of the file.
#include "bench/choice_loss.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "backends.hpp"
#include "bench/statistics.hpp"
#include "bench/table.hpp"
#include "kernels.hpp"
#include "program.hpp"
#include "select.hpp"

namespace kw::bench {
namespace {

using nlohmann::ordered_json;

// A split call may take so many times as long as plain fp32.
constexpr double promised_factor = 1.03;

const KernelList<Sgemm>& planning_kernels() {
  static const KernelList<Sgemm> kernels = [] {
    for (const DeviceKind kind : {DeviceKind::host_simt, DeviceKind::cuda}) {
      if (const Backend* backend = find_backend(kind)) return backend->sgemm();
    }
    throw UsageError("choice: this build has no GPU kernels; configure with CUDA or host SIMT");
  }();
  return kernels;
}

template <class T>
T field(const ordered_json& row, const char* name, const std::string& file) {
  const auto found = row.find(name);
  if (found == row.end() || found->is_null()) {
    throw UsageError(fmt::format(
        "{}: a row or the device has no \"{}\"; give files of bench sgemm --within", file, name));
  }
  return found->get<T>();
}

Sgemm problem_of(const ordered_json& row, const std::string& file) {
  Sgemm p;
  const auto number = [&](const char* name) { return field<std::int64_t>(row, name, file); };
  p.m = number("m");
  p.n = number("n");
  p.k = number("k");
  p.batch = number("batch");
  p.lda = number("lda");
  p.ldb = number("ldb");
  p.ldc = number("ldc");
  p.op_a = field<std::string>(row, "op_a", file) == "T" ? Op::transpose : Op::none;
  p.op_b = field<std::string>(row, "op_b", file) == "T" ? Op::transpose : Op::none;
  p.alpha = field<float>(row, "alpha", file);
  p.beta = field<float>(row, "beta", file);
  // Entries follow each other, as bench places them.
  if (p.batch > 1) {
    p.stride_a = (p.op_a == Op::none ? p.m : p.k) * p.lda;
    p.stride_b = (p.op_b == Op::none ? p.k : p.n) * p.ldb;
    p.stride_c = p.m * p.ldc;
  }
  return p;
}

std::string product_name(const ordered_json& row, const Sgemm& p) {
  std::string name = fmt::format("{}x{}x{}", p.m, p.n, p.k);
  if (p.batch != 1) name += fmt::format(" x{}", p.batch);
  name += fmt::format(" {}{}", row["op_a"].get<std::string>(), row["op_b"].get<std::string>());
  const std::int64_t pads[] = {p.lda - (p.op_a == Op::none ? p.k : p.m),
                               p.ldb - (p.op_b == Op::none ? p.n : p.k), p.ldc - p.n};
  if (pads[0] + pads[1] + pads[2] > 0) name += fmt::format(" +{},{},{}", pads[0], pads[1], pads[2]);
  return name;
}

const Kernel<Sgemm>* find_kernel(const KernelList<Sgemm>& all, const std::string& name) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& kernel) { return kernel.name == name; });
  return found == all.end() ? nullptr : &*found;
}

struct Product {
  Sgemm problem;
  std::string name, third;
  std::vector<std::pair<const Kernel<Sgemm>*, PlannedRow>> rows;
};

// The products of the file, in order, with the rows of kernels that still are and take them.
std::vector<Product> products_of(const ordered_json& file, const std::string& name,
                                 const KernelList<Sgemm>& kernels) {
  const Device device = device_of(file, name);
  std::vector<Product> products;
  std::map<std::string, std::size_t> known;
  for (const ordered_json& row : file.at("rows")) {
    const auto time = row.find("time_us");
    if (time == row.end() || time->is_null()) continue;
    const Kernel<Sgemm>* kernel = find_kernel(kernels, field<std::string>(row, "kernel", name));
    if (kernel == nullptr) continue;
    const Sgemm problem = problem_of(row, name);
    const std::string label = product_name(row, problem);
    const auto [at, is_new] = known.emplace(label, products.size());
    if (is_new) products.push_back({problem, label, row.value("third", std::string()), {}});
    const auto plan = candidate_plan(*kernel, problem, device);
    if (!plan) continue;
    const auto whole = plan_for(*kernel, problem, device);
    const bool cut_otherwise =
        whole->workspace_bytes != field<std::size_t>(row, "workspace_bytes", name);
    products[at->second].rows.push_back({kernel,
                                         {kernel->name, time->at("median").get<double>(),
                                          plan->time_us, plan->cost, cut_otherwise}});
  }
  return products;
}

std::optional<Chosen> choose(const Product& product, Math math) {
  Chosen result{math, product.third, product.name, {}, {}, {}, {}};
  for (const auto& [kernel, row] : product.rows) {
    if (computes_in(*kernel, math)) result.rows.push_back(row);
  }
  if (result.rows.empty()) return std::nullopt;
  const auto least = [&](auto value) {
    return *std::min_element(
        result.rows.begin(), result.rows.end(),
        [&](const PlannedRow& a, const PlannedRow& b) { return value(a) < value(b); });
  };
  result.chosen = least([](const PlannedRow& row) { return row.cost; });
  // A kernel that must not be chosen for its error is none that the choice could gain by.
  result.best =
      least([](const PlannedRow& row) { return std::isfinite(row.cost) ? row.us : row.us * 1e9; });
  return result;
}

std::string percent(double ratio) { return fmt::format("{:.2f} %", 100 * (ratio - 1)); }

}  // namespace

Device device_of(const ordered_json& file, const std::string& name) {
  if (!file.is_object() || !file.contains("device") || !file.contains("rows")) {
    throw UsageError(name + ": is no result file; give files of bench sgemm --within");
  }
  const ordered_json& json = file["device"];
  const auto number = [&](const char* field_name) { return field<int>(json, field_name, name); };
  Device device;
  device.kind = DeviceKind::cuda;
  device.name = field<std::string>(json, "name", name);
  device.compute_capability = number("compute_capability");
  device.sm_count = number("sm_count");
  device.warp_size = number("warp_size");
  device.shared_bytes_per_block_optin =
      static_cast<std::size_t>(number("shared_bytes_per_block_optin"));
  device.l2_bytes = static_cast<std::size_t>(number("l2_bytes"));
  device.sm_clock_khz = 1000 * number("max_sm_clock_mhz");
  if (json.contains("memory_bus_bits")) {
    device.memory_clock_khz = 1000 * number("max_memory_clock_mhz");
    device.memory_bus_bits = number("memory_bus_bits");
  } else {
    // Files of 0.1.0 state neither. The bandwidth that was measured stands in for the stated one.
    device.memory_clock_khz = 500000;
    device.memory_bus_bits = 8 * number("measured_read_gbs");
  }
  return device;
}

std::vector<Chosen> chosen_in(const ordered_json& file, const std::string& name,
                              const std::string& globs) {
  std::vector<Chosen> all;
  const KernelList<Sgemm> kernels = select_kernels(planning_kernels(), globs);
  for (const Product& product : products_of(file, name, kernels)) {
    const std::optional<Chosen> plain = choose(product, Math::fp32);
    std::optional<Chosen> split = choose(product, Math::fp32_split);
    if (plain) all.push_back(*plain);
    if (plain && split) {
      split->fp32_us = plain->chosen.us;
      all.push_back(*split);
    }
  }
  return all;
}

std::string choice_table(const std::vector<Chosen>& chosen) {
  std::vector<std::vector<std::string>> cells = {
      {"arithmetic", "third", "products", "mean", "95th pct", "most", "at"}};
  std::string promises;
  int cut_otherwise = 0;
  for (const Math math : {Math::fp32, Math::fp32_split}) {
    for (const std::string third : {"short", "middle", "long", "all"}) {
      std::vector<double> losses;
      double logs = 0;
      const Chosen* worst = nullptr;
      for (const Chosen& one : chosen) {
        if (one.math != math || (third != "all" && one.third != third)) continue;
        losses.push_back(one.loss());
        logs += std::log(one.loss());
        if (worst == nullptr || one.loss() > worst->loss()) worst = &one;
      }
      if (losses.empty()) continue;
      const auto count = static_cast<double>(losses.size());
      cells.push_back(
          {to_string(math), third, fmt::format("{}", losses.size()),
           percent(std::exp(logs / count)), percent(quantile(losses, 0.95)), percent(worst->loss()),
           fmt::format("{}: {} {:.2f} us, {} {:.2f} us", worst->product, worst->chosen.kernel,
                       worst->chosen.us, worst->best.kernel, worst->best.us)});
    }
  }
  int splits = 0, broken = 0;
  const Chosen* slowest = nullptr;
  const auto slower = [](const Chosen& one) { return one.chosen.us / *one.fp32_us; };
  for (const Chosen& one : chosen) {
    cut_otherwise += one.chosen.cut_otherwise ? 1 : 0;
    if (!one.fp32_us) continue;
    ++splits;
    if (slower(one) > promised_factor) ++broken;
    if (slowest == nullptr || slower(one) > slower(*slowest)) slowest = &one;
  }
  std::string text = align(cells, 2) +
                     "\nLoss: the time of the kernel that the choice takes over that of the best "
                     "one, less 1; means are geometric.\n";
  if (slowest != nullptr) {
    text += fmt::format(
        "fp32_split slower than fp32 by more than 3 %: {} of {}; at most {} ({}: {} {:.2f} us, "
        "fp32 "
        "{:.2f} us).\n",
        broken, splits, percent(slower(*slowest)), slowest->product, slowest->chosen.kernel,
        slowest->chosen.us, *slowest->fp32_us);
  }
  if (cut_otherwise > 0) {
    text += fmt::format(
        "{} choices cut the product otherwise than when it was measured: measure again.\n",
        cut_otherwise);
  }
  return text;
}

ordered_json choice_json(const std::vector<Chosen>& chosen) {
  ordered_json all = ordered_json::array();
  const auto finite = [](double x) { return std::isfinite(x) ? ordered_json(x) : nullptr; };
  for (const Chosen& one : chosen) {
    ordered_json rows = ordered_json::array();
    for (const PlannedRow& row : one.rows) {
      rows.push_back({{"kernel", row.kernel},
                      {"us", row.us},
                      {"predicted_us", finite(row.predicted_us)},
                      {"cost", finite(row.cost)},
                      {"cut_otherwise", row.cut_otherwise}});
    }
    all.push_back({{"math", to_string(one.math)},
                   {"product", one.product},
                   {"third", one.third},
                   {"chosen", one.chosen.kernel},
                   {"best", one.best.kernel},
                   {"loss", one.loss()},
                   {"rows", std::move(rows)}});
  }
  return all;
}

}  // namespace kw::bench
