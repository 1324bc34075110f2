// Choosing what is sustained, and the run.
#include "commands/bench_sustain.hpp"

#include <algorithm>

#include "anchors.hpp"
#include "bench/room.hpp"
#include "bench/sensors.hpp"
#include "bench/sustain.hpp"
#include "commands/session.hpp"
#include "kernels.hpp"

namespace kw {
namespace {

// A shorter run says less of energy: a board's clock settles in a second, its counters grow in
// steps.
constexpr double shortest_for_energy_s = 5;

// The kernels asked for, else the library's choice in both arithmetics; the vendor's besides.
KernelList<Sgemm> chosen_kernels(const SustainRequest& request, const CommonOptions& options,
                                 const Device& device) {
  const KernelList<Sgemm> all = all_kernels<Sgemm>(device.kind);
  const std::string usual =
      device.kind == DeviceKind::cpu ? kernel_of_choice(device) : "kernelwright*";
  KernelList<Sgemm> chosen = select_kernels(all, options.kernel.empty() ? usual : options.kernel);
  if (request.no_peer) return chosen;
  for (const Kernel<Sgemm>& peer : all) {
    const auto is_it = [&](const Kernel<Sgemm>& kernel) {
      return std::string_view(kernel.name) == peer.name;
    };
    if (peer.role == Role::peer && std::none_of(chosen.begin(), chosen.end(), is_it))
      chosen.push_back(peer);
  }
  return chosen;
}

bench::SustainOptions sustain_options(double seconds) {
  bench::SustainOptions options;
  options.seconds = seconds;
  options.lead_s = std::min(options.lead_s, seconds / 5);
  options.rest_s = std::min(options.rest_s, seconds / 25);
  return options;
}

void print_heading(const Device& device, const bench::SustainOptions& options) {
  fmt::print(
      "{} ({}): each kernel back to back for {:g} s, after {:g} s that do not count; \"rested\" is "
      "the rate of a short spell after a rest.\n\n",
      device.name, to_string(device.kind), options.seconds, options.lead_s);
  flush_output();
}

}  // namespace

int run_sustained(const SustainRequest& request, const CommonOptions& options,
                  ProductChoice product, const std::string& command) {
  product.default_sweep = "sustained";
  const check::Input input = options.parsed_input();
  const std::unique_ptr<Runtime> runtime = open_device(options.device);
  const Device& device = runtime->device();
  const KernelList<Sgemm> kernels = chosen_kernels(request, options, device);
  const auto anchors =
      request.no_peer ? std::vector<peers::Anchor>{} : peers::sgemm_anchors(device.kind);
  const std::vector<check::SgemmCase> cases =
      chosen_products(product, device, input, options.seed).cases;
  if (!product.shape.empty()) bench::require_room<check::SgemmTrial>("--shape", cases, device);
  Session session(options.json);
  mention_broken_tune_cache(device);

  check::Workbench workbench(*runtime);
  const bench::SustainOptions timing = sustain_options(request.seconds);
  bool all_verified = true;
  const auto work = [&] {
    Progress& progress = session.progress();
    bench::Ceilings ceilings;
    if (!request.no_ceilings) {
      progress.show("measuring the device's limits");
      ceilings = bench::measure_ceilings(workbench);
      progress.clear();
    }
    session.begin(command, device, ceilings);
    if (!options.quiet()) print_heading(device, timing);
    bench::Sustain sustain(
        workbench, timing, ceilings, bench::open_sensors(device),
        [&](const std::string& line) { progress.say(line); },
        [&](const std::string& text) { progress.show(text); });
    if (const std::string missing = sustain.not_measured(); !missing.empty()) {
      progress.say(missing);
    } else if (request.seconds < shortest_for_energy_s) {
      progress.say(fmt::format("--sustain {:g}: power and energy want {:g} s or more",
                               request.seconds, shortest_for_energy_s));
    }
    const double seconds_a_kernel = timing.seconds + timing.lead_s + 3 * timing.rest_s;
    progress.plan(std::vector<Estimate::Part>(
        cases.size(),
        {static_cast<double>(kernels.size() + anchors.size()) * seconds_a_kernel, 1}));
    for (const check::SgemmCase& c : cases) {
      const std::vector<bench::Row> rows = sustain.run(kernels, anchors, c);
      session.add(rows);
      progress.next();
      all_verified = all_verified && std::all_of(rows.begin(), rows.end(),
                                                 [](const auto& row) { return row.verified; });
      if (options.quiet() || rows.empty()) continue;
      fmt::print("{}\n", bench::sustained_table(rows));
      flush_output();
    }
  };
  return session.run(work, [&] { return all_verified ? exit_fine : exit_not_verified; });
}

}  // namespace kw
