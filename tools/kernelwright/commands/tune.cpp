// kernelwright tune: which of the library's kernels is fastest on which shape, for the tune cache.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "bench/bench.hpp"
#include "bench/parts.hpp"
#include "bench/problems.hpp"
#include "bench/room.hpp"
#include "bench/table.hpp"
#include "commands/commands.hpp"
#include "commands/session.hpp"
#include "kernels.hpp"
#include "kernelwright/status.hpp"
#include "select.hpp"
#include "shapes.hpp"
#include "tune_cache.hpp"

namespace kw {
namespace {

struct TuneOptions : CommonOptions {
  std::string sweep, ops = "nn", out, l2 = "hot";
  std::int64_t batch = 0;  // 0: the sweep's, or 1
  bool quick = false;
};

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

// "NVIDIA H200" is nvidia-h200 in a file's name.
std::string file_word(const std::string& name) {
  std::string word;
  for (const char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!word.empty() && word.back() != '-') {
      word += '-';
    }
  }
  return word;
}

// What --out, the library's variable or the user's cache folder say; the last is made if need be.
std::string cache_path(const TuneOptions& options, const Device& device) {
  if (!options.out.empty()) return options.out;
  std::string named = environment("KERNELWRIGHT_TUNE_CACHE");
  if (!named.empty()) return named;
  std::string folder = environment("XDG_CACHE_HOME");
  if (folder.empty()) {
    const std::string home = environment("HOME");
    if (home.empty()) {
      throw UsageError(
          "neither KERNELWRIGHT_TUNE_CACHE nor XDG_CACHE_HOME nor HOME says where the tune cache "
          "belongs: name a file with --out");
    }
    folder = home + "/.cache";
  }
  folder += "/kernelwright";
  std::error_code ignored;  // writing says what is wrong
  std::filesystem::create_directories(folder, ignored);
  return folder + "/tune-" + file_word(device.name) + ".txt";
}

void write_cache(const TuneCache& cache, const std::string& path, const Device& device) {
  const Status status = cache.write(path, device);
  if (!status.ok()) throw UsageError(status.message);
}

// What is there already of this device. A tune cache that cannot be used is replaced, another file
// is not.
TuneCache present_choices(const std::string& path, const Device& device) {
  TuneCache cache;
  if (!std::filesystem::exists(path)) return cache;
  const Status status = TuneCache::read(path, device, &cache);
  if (status.ok()) return cache;
  if (!TuneCache::is_one(path)) {
    throw UsageError(fmt::format("{} is no tune cache: name another file with --out", path));
  }
  fmt::print(stderr, "kernelwright: {}: it is replaced\n", status.message);
  return cache;
}

std::vector<check::SgemmCase> chosen_cases(const TuneOptions& options) {
  if (options.shape.empty() && options.sweep.empty()) {
    throw UsageError("tune sgemm: name the shapes with --shape or --sweep");
  }
  const std::vector<Shape> shapes =
      options.shape.empty() ? sweep(options.sweep) : parse_shapes(options.shape, 3, 1);
  const std::vector<OpPair> pairs = parse_ops(options.ops);
  std::vector<check::SgemmCase> cases;
  for (const Shape& shape : shapes) {
    for (const OpPair& ops : pairs) {
      check::SgemmCase& c = cases.emplace_back();
      c.m = shape.m;
      c.n = shape.n;
      c.k = shape.k;
      c.op_a = ops.a;
      c.op_b = ops.b;
      c.batch = options.batch > 0 ? options.batch : shape.batch;
      c.input = options.parsed_input();
      c.seed = options.seed;
    }
  }
  return cases;
}

bench::Options timing_options(const TuneOptions& options, const Device& device) {
  bench::Options timing;
  if (options.l2 == "cold" && device.l2_bytes == 0) {
    throw UsageError(fmt::format("--l2 cold: {} does not state the size of its cache; use --l2 hot",
                                 device.name));
  }
  timing.l2 = options.l2 == "cold" ? bench::L2::cold : bench::L2::hot;
  timing.budget_ms = options.quick ? 30 : 200;
  timing.max_call_ms = device.is_gpu() ? 0 : 2000;
  return timing;
}

// The case as it is timed: dense, aligned.
Sgemm problem_of(const check::SgemmCase& c) {
  Sgemm p;
  p.m = c.m;
  p.n = c.n;
  p.k = c.k;
  p.op_a = c.op_a;
  p.op_b = c.op_b;
  p.lda = c.op_a == Op::none ? c.k : c.m;
  p.ldb = c.op_b == Op::none ? c.n : c.k;
  p.ldc = c.n;
  p.batch = c.batch;
  p.stride_a = c.m * c.k;
  p.stride_b = c.k * c.n;
  p.stride_c = c.m * c.n;
  return p;
}

const bench::Row* fastest(const std::vector<bench::Row>& rows) {
  const bench::Row* best = nullptr;
  for (const bench::Row& row : rows) {
    if (row.time_us && (best == nullptr || row.time_us->median < best->time_us->median)) {
      best = &row;
    }
  }
  return best;
}

std::string tuned_table(const std::vector<bench::Row>& rows, const bench::Row& best,
                        const std::string& rule) {
  std::optional<double> rule_us;
  for (const bench::Row& row : rows) {
    if (row.kernel == rule && row.time_us) rule_us = row.time_us->median;
  }
  std::vector<std::vector<std::string>> cells = {{"kernel", "", "us", "GFLOP/s", "of the rule's"}};
  for (const bench::Row& row : rows) {
    const std::string mark = row.kernel == best.kernel ? "fastest" : "";
    const std::string by_rule = row.kernel == rule ? "by rule" : "";
    const std::string note = mark.empty() || by_rule.empty() ? mark + by_rule : mark + ", by rule";
    if (!row.time_us) {
      cells.push_back({row.kernel, row.message, "-", "-", "-"});
      continue;
    }
    const double us = row.time_us->median;
    cells.push_back({row.kernel, note, fmt::format("{:.2f}", us),
                     row.gflops ? fmt::format("{:.4g}", *row.gflops) : "-",
                     rule_us ? fmt::format("{:.2f} x", us / *rule_us) : "-"});
  }
  return bench::align(cells, 2);
}

int run(const TuneOptions& options) {
  const std::vector<check::SgemmCase> cases = chosen_cases(options);
  const std::unique_ptr<Runtime> runtime = open_device(options.device);
  const Device& device = runtime->device();
  KernelList<Sgemm> kernels = find_backend(device.kind)->sgemm();
  // A cache's choices are for plain fp32 (tune_cache.hpp).
  std::erase_if(kernels, [](const auto& kernel) { return kernel.math != Math::fp32; });
  const bench::Options timing = timing_options(options, device);
  if (!options.shape.empty()) {
    bench::require_room<check::SgemmTrial>(options.batch > 0 ? "--shape and --batch" : "--shape",
                                           cases, device);
  }
  const std::string path = cache_path(options, device);
  TuneCache cache = present_choices(path, device);
  write_cache(cache, path, device);  // where that fails, it fails before the work

  check::Workbench workbench(*runtime);
  bool all_verified = true;
  Session session("");
  const auto work = [&] {
    Progress& progress = session.progress();
    bench::Bench bench(
        workbench, timing, {}, [&](const std::string& line) { progress.say(line); },
        [&](const std::string& text) { progress.show(text); });
    progress.plan(
        bench::parts_of(cases, static_cast<double>(kernels.size()) * timing.budget_ms * 1e-3));
    for (const check::SgemmCase& c : cases) {
      const std::vector<bench::Row> rows = bench.run(kernels, c);
      session.add(rows);
      progress.next();
      all_verified &=
          std::all_of(rows.begin(), rows.end(), [](const bench::Row& row) { return row.verified; });
      const bench::Row* best = fastest(rows);
      if (best == nullptr) continue;
      const Sgemm problem = problem_of(c);
      const auto rule = select_kernel(problem, device, kernels);
      fmt::print("{} {}{}\n{}\n", bench::size_text(c), *best->op_a, *best->op_b,
                 tuned_table(rows, *best, rule ? rule->kernel->name : ""));
      flush_output();
      cache.set(tune_key(problem), {best->kernel, best->time_us->median});
      write_cache(cache, path, device);
    }
  };
  const int code = session.run(work, [&] { return all_verified ? exit_fine : exit_not_verified; });
  fmt::print("Shapes in {}: {}\nKERNELWRIGHT_TUNE_CACHE={} lets programs use it.\n", path,
             cache.choices().size(), path);
  return code;
}

void add_tune_sgemm(CLI::App& tune, Invocation& invocation) {
  CLI::App* command = tune.add_subcommand("sgemm", "C = alpha op(A) op(B) + beta C");
  command->footer(
      "Every kernel of the library that takes a shape is verified and timed there; the fastest\n"
      "goes into the tune cache, beside what it holds of this device already. Without --out that\n"
      "is the file that KERNELWRIGHT_TUNE_CACHE names, else kernelwright/tune-DEVICE.txt in the\n"
      "user's cache folder. A program uses it through KERNELWRIGHT_TUNE_CACHE or\n"
      "load_tune_cache, for exactly these shapes.\n"
      "\n"
      "Examples:\n"
      "  kernelwright tune sgemm --sweep classic\n"
      "  kernelwright tune sgemm --shape 4096,1000x3000x500 --ops nn,nt --out tuned.txt\n"
      "  kernelwright tune sgemm --shape 64 --batch 1000 --l2 cold --quick");
  auto options = std::make_shared<TuneOptions>();
  CLI::Option* shape = command->add_option("--shape", options->shape, "MxNxK,... (N is a cube)");
  shape->type_name("LIST")->check(not_empty());
  command->add_option("--sweep", options->sweep, sweep_names())
      ->check(not_empty())
      ->excludes(shape);
  command
      ->add_option("--ops", options->ops,
                   "Of A and B, n: as stored, t: transposed; several of nn, nt, tn, tt")
      ->type_name("LIST")
      ->check(not_empty())
      ->capture_default_str();
  command
      ->add_option("--batch", options->batch, "Products in one call (default: 1, or the sweep's)")
      ->check(whole_number(1, largest_extent));
  command->add_option("--out", options->out, "The tune cache")
      ->type_name("FILE")
      ->check(not_empty());
  options->add_device(*command);
  command->add_option("--l2", options->l2, "Caches before a call: hot or cold")
      ->check(CLI::IsMember({"hot", "cold"}))
      ->capture_default_str();
  command->add_flag("--quick", options->quick, "Fewer repeats");
  options->add_input(*command);
  command->callback([options, &invocation] { invocation.exit_code = run(*options); });
}

}  // namespace

void add_tune_command(CLI::App& app, Invocation& invocation) {
  CLI::App* command =
      app.add_subcommand("tune", "Measure which kernel is fastest, for the tune cache");
  command->require_subcommand(1);
  command->footer(
      "Examples:\n"
      "  kernelwright tune sgemm --sweep classic\n"
      "  kernelwright tune sgemm --shape 4096 --ops nn,nt --out tuned.txt");
  add_tune_sgemm(*command, invocation);
}

}  // namespace kw
