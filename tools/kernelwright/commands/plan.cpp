// kernelwright plan: what a product over many GPUs would take, without any of them.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "bench/library_speeds.hpp"
#include "bench/results.hpp"
#include "commands/bench_distributed.hpp"
#include "commands/commands.hpp"
#include "distributed/simulate.hpp"
#include "shapes.hpp"

namespace kw {
namespace {

using distributed::Prediction;
using nlohmann::ordered_json;

struct PlanOptions {
  int gpus = 8, nodes = 1;
  std::string device = "H200", shape = "32768", math = "fp32_split", grid, json;
  double tflops = 0, peer_gbs = 0, network_gbs = 0;
  std::int64_t panel_k = 0;
  bool is_scaling = false;
};

double flop(const Shape& s) {
  return 2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
}

distributed::Speeds speeds_of(const PlanOptions& options, Math math, const Shape& shape) {
  distributed::Speeds speeds = bench::library_speeds(options.device);
  if (options.tflops > 0) {
    const double us =
        distributed::one_gpu_us(math, static_cast<double>(shape.m), static_cast<double>(shape.n),
                                static_cast<double>(shape.k), speeds);
    speeds.scale = options.tflops * 1e6 * us / flop(shape);
  }
  if (options.peer_gbs > 0) speeds.peer_gbs = options.peer_gbs;
  if (options.network_gbs > 0) speeds.network_gbs = options.network_gbs;
  return speeds;
}

ordered_json to_json(const Prediction& p, const Shape& shape, Math math, int gpus, int nodes) {
  return {{"m", shape.m},
          {"n", shape.n},
          {"k", shape.k},
          {"math", to_string(math)},
          {"gpus", gpus * nodes},
          {"nodes", nodes},
          {"grid", fmt::format("{}x{}", p.cluster.grid.p, p.cluster.grid.q)},
          {"node_grid", fmt::format("{}x{}", p.cluster.node_p, p.cluster.node_q)},
          {"panel_k", p.panel_k},
          {"predicted_us", p.time_us},
          {"predicted_one_gpu_us", p.one_us},
          {"predicted_speedup", p.speedup()},
          {"products_us", p.products_us},
          {"transfers_us", p.copies_us},
          {"peer_bytes", p.peer_bytes},
          {"network_bytes", p.network_bytes},
          {"memory_bytes", p.memory_bytes}};
}

std::string line(const Prediction& p, const Shape& shape) {
  return fmt::format(
      "{:>5}x{:<5} {:>10.3f} ms {:>9.4g} TFLOP/s {:>9.2f} x one  products {:>9.3f}  transfers "
      "{:>8.3f} ms  a rank receives {:>6.2f} GB, {:>6.2f} by network; holds {:>6.1f} GB",
      p.cluster.grid.p, p.cluster.grid.q, 1e-3 * p.time_us, 1e-6 * flop(shape) / p.time_us,
      p.speedup(), 1e-3 * p.products_us, 1e-3 * p.copies_us, 1e-9 * p.peer_bytes,
      1e-9 * p.network_bytes, 1e-9 * p.memory_bytes);
}

std::vector<Prediction> predictions(const PlanOptions& options, Math math, const Shape& shape) {
  const distributed::Speeds speeds = speeds_of(options, math, shape);
  if (options.grid.empty() && options.panel_k == 0) {
    return distributed::plan(options.gpus, options.nodes, math, shape.m, shape.n, shape.k, speeds);
  }
  if (options.nodes != 1) {
    throw UsageError("--nodes: a grid or panel of your own is planned for one node; leave it out");
  }
  std::vector<Prediction> all;
  if (!options.grid.empty()) {
    const Grid grid = parse_grid(options.grid);
    all.push_back(distributed::simulate({grid, grid.p, grid.q}, math, shape.m, shape.n, shape.k,
                                        options.panel_k, speeds));
    return all;
  }
  for (int p = 1; p <= options.gpus; ++p) {
    if (options.gpus % p != 0) continue;
    const Grid grid{p, options.gpus / p};
    all.push_back(distributed::simulate({grid, grid.p, grid.q}, math, shape.m, shape.n, shape.k,
                                        options.panel_k, speeds));
  }
  std::sort(all.begin(), all.end(),
            [](const Prediction& x, const Prediction& y) { return x.time_us < y.time_us; });
  return all;
}

ordered_json rates_json(const distributed::GpuRates& rates) {
  ordered_json rows = ordered_json::array();
  const auto add = [&](const char* what, double at, double value, const char* source) {
    rows.push_back({{"rate", what}, {"at", at}, {"value", value}, {"source", source}});
  };
  const auto add_all = [&](const char* what, std::span<const distributed::ProductRate> all) {
    for (const auto& r : all) add(what, r.edge, r.tflops, r.source);
  };
  add_all("fp32_split TFLOP/s", rates.split);
  add_all("fp32 TFLOP/s", rates.fp32);
  for (const distributed::PlannedShare& known : distributed::planned_fp32) {
    const std::string of = *known.kernel == 0 ? "others" : known.kernel;
    const std::string name = "fp32, planned by measured time of " + of;
    add(name.c_str(), 0, known.alone, known.source);
    add((name + ", of a step").c_str(), 0, known.step, known.source);
  }
  add_all("fp32_split TFLOP/s of a step", rates.split_step);
  add_all("fp32 TFLOP/s of a step", rates.fp32_step);
  if (rates.split_gbs.value > 0) {
    add("split pass GB/s", 0, rates.split_gbs.value, rates.split_gbs.source);
  }
  if (rates.store_gbs.value > 0) {
    add("ends of tiles GB/s", 0, rates.store_gbs.value, rates.store_gbs.source);
  }
  add("peer GB/s", 0, rates.peer_gbs.value, rates.peer_gbs.source);
  add("network GB/s", 0, distributed::network_gbs.value, distributed::network_gbs.source);
  add("host GB/s", 0, distributed::host_gbs.value, distributed::host_gbs.source);
  add("share of copies lost", 0, rates.copy_share.value, rates.copy_share.source);
  add("memory GB/s", 0, rates.memory_gbs.value, rates.memory_gbs.source);
  return rows;
}

// The same product on 1 to 1024 GPUs, eight a node; and one whose C grows with them.
ordered_json scaling(const PlanOptions& options, Math math, const Shape& shape) {
  ordered_json rows = ordered_json::array();
  for (int gpus = 1; gpus <= 1024; gpus *= 2) {
    for (const char* kind : {"strong", "weak"}) {
      Shape s = shape;
      if (kind == std::string("weak")) {
        int q = 1;
        while (4 * q * q <= gpus) q *= 2;
        s.m *= gpus / q;
        s.n *= q;
      }
      const int a_node = std::min(gpus, 8);
      const auto best = distributed::plan(a_node, gpus / a_node, math, s.m, s.n, s.k,
                                          speeds_of(options, math, s));
      ordered_json row = to_json(best.front(), s, math, a_node, gpus / a_node);
      row["scaling"] = kind;
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

void run(const PlanOptions& options, const std::string& command) {
  if (options.math != "fp32" && options.math != "fp32_split") {
    throw UsageError(fmt::format("--math: \"{}\" is neither fp32 nor fp32_split", options.math));
  }
  const Math math = options.math == "fp32" ? Math::fp32 : Math::fp32_split;
  ordered_json rows = ordered_json::array();
  const bool is_quiet = options.json == "-";
  for (const Shape& shape : parse_shapes(options.shape, 3, 1)) {
    if (options.is_scaling) {
      for (ordered_json& row : scaling(options, math, shape)) rows.push_back(std::move(row));
      continue;
    }
    const std::vector<Prediction> all = predictions(options, math, shape);
    if (all.empty()) continue;
    if (!is_quiet) {
      fmt::print("{}x{}x{} {} on {} GPUs ({} a node, {} nodes), the best grid first:\n", shape.m,
                 shape.n, shape.k, options.math, options.gpus * options.nodes, options.gpus,
                 options.nodes);
      for (const Prediction& p : all) fmt::print("{}\n", line(p, shape));
    }
    rows.push_back(to_json(all.front(), shape, math, options.gpus, options.nodes));
  }
  if (options.is_scaling && !is_quiet) {
    for (const ordered_json& row : rows) {
      fmt::print("{:>6} {:>5} GPUs {:>8} {:>12.3f} ms {:>10.2f} x one\n",
                 row["scaling"].get<std::string>(), row["gpus"].get<int>(),
                 row["grid"].get<std::string>(), 1e-3 * row["predicted_us"].get<double>(),
                 row["predicted_speedup"].get<double>());
    }
  }
  if (options.json.empty()) return;
  bench::write_json(options.json, {{"schema", 1},
                                   {"command", command},
                                   {"gpu", options.device},
                                   {"rates", rates_json(distributed::rates_of(options.device))},
                                   {"rows", std::move(rows)}});
}

}  // namespace

void add_plan_command(CLI::App& app, Invocation& invocation) {
  CLI::App* command =
      app.add_subcommand("plan", "Predict a product over many GPUs; no device is needed");
  command->footer(
      "Goes through the steps that the ranks would take, at rates measured on H200 or H100 (the "
      "file has\n"
      "each with its source). GPUs of a node share what comes over the network, through the "
      "node's memory.\n"
      "\n"
      "Examples:\n"
      "  kernelwright plan --gpus 2 --shape 32768,65536x65536x32768\n"
      "  kernelwright plan --gpu H100 --gpus 2 --shape 32768\n"
      "  kernelwright plan --gpus 8 --nodes 4 --shape 131072 --json plan.json\n"
      "  kernelwright plan --scaling --shape 65536 --json scaling.json");
  auto options = std::make_shared<PlanOptions>();
  command->add_option("--gpu", options->device, "Whose rates: H200 or H100")
      ->check(CLI::IsMember({"H200", "H100"}))
      ->capture_default_str();
  command->add_option("--gpus", options->gpus, "GPUs of a node")
      ->check(whole_number(1, 1024))
      ->capture_default_str();
  command->add_option("--nodes", options->nodes)
      ->check(whole_number(1, 1024))
      ->capture_default_str();
  command->add_option("--shape", options->shape, "MxNxK,... (N is a cube)")
      ->type_name("LIST")
      ->check(not_empty())
      ->capture_default_str();
  command->add_option("--math", options->math, "fp32 or fp32_split")->capture_default_str();
  command->add_option("--grid", options->grid, "This grid alone")->type_name("PxQ");
  command->add_option("--panel", options->panel_k, "The most of k that is copied at a time")
      ->check(whole_number(1, largest_extent));
  command->add_option("--tflops", options->tflops, "One GPU's measured rate for the whole product")
      ->check(number_from_zero(false));
  command->add_option("--peer-gbs", options->peer_gbs, "Between GPUs of a node, one direction")
      ->check(number_from_zero(false));
  command->add_option("--network-gbs", options->network_gbs, "Between nodes, for each GPU")
      ->check(number_from_zero(false));
  command->add_flag(
      "--scaling", options->is_scaling,
      "1 to 1024 GPUs, eight a node: the product as it is, and one whose m and n grow");
  command->add_option("--json", options->json, "Also write the plan here; - for standard output")
      ->type_name("FILE")
      ->check(not_empty());
  command->callback([options, &invocation] { run(*options, invocation.command); });
}

}  // namespace kw
