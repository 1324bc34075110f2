// kernelwright bench: verified times of every kernel beside the vendor's, in one run.
#include <memory>

#include "commands/bench_distributed.hpp"
#include "commands/bench_run.hpp"
#include "commands/bench_sustain.hpp"
#include "commands/commands.hpp"

namespace kw {
namespace {

void add_within(CLI::App& to, BenchOptions& options) {
  to.add_option("--within", options.within,
                "Of the kernels that predict their times only those whose prediction is at most "
                "so many times the least; rows then state predicted_us and workspace_bytes")
      ->check(number_from_zero(false));
}

// The last of an operation's options, and what its command does.
void add_timing_and_run(CLI::App& to, const std::shared_ptr<BenchOptions>& options,
                        Invocation& invocation,
                        int (*bench)(const BenchOptions& options, const std::string& command)) {
  add_timing_options(to, *options);
  add_timing(to, *options);
  to.callback([options, &invocation, bench] {
    invocation.exit_code = bench(*options, invocation.command);
  });
}

// What times kernels in turn has no place beside --sustain.
void check_sustain(const BenchOptions& options) {
  const auto refuse = [](const char* option, bool is_given) {
    if (!is_given) return;
    throw UsageError(
        fmt::format("--sustain: runs one kernel after the other, each for so many seconds, on "
                    "operands that the caches may hold; leave {} out",
                    option));
  };
  refuse("--timing", options.timing != "auto");
  refuse("--l2 cold", options.l2 == "cold");
  refuse("--budget-ms", options.budget_ms > 0);
  refuse("--max-call-ms", options.max_call_ms >= 0);
  refuse("--within", options.within > 0);
  refuse("--quick", options.quick);
  if (options.product.is_of_products()) {
    throw UsageError(fmt::format(
        "--sustain: --sweep {} has too many products, each of which would run for {:g} s; take a "
        "few with --shape",
        options.product.sweep, options.sustain_s));
  }
}

void add_bench_sgemm(CLI::App& bench, Invocation& invocation) {
  CLI::App* command = bench.add_subcommand("sgemm", "C = alpha op(A) op(B) + beta C");
  command->footer(
      "Sweeps: classic (squares 128 to 16384), skinny, odd, small, mixed (a few of each), batched\n"
      "(4096 products of 32 to 64 of 512), random (--count products that --seed draws, seeds under "
      "1000 for tuning),\n"
      "programs (products of well-known programs). The last two measure the library's choice\n"
      "beside the vendor's library and end with means, percentiles and losses; with\n"
      "--kernel 'kernelwright*' both arithmetics.\n"
      "\n"
      "Examples:\n"
      "  kernelwright bench sgemm --sweep classic --json sgemm.json\n"
      "  kernelwright bench sgemm --sweep random --seed 7 --count 60\n"
      "  kernelwright bench sgemm --sweep programs --kernel 'kernelwright*' --json programs.json\n"
      "  kernelwright bench sgemm --sweep random --kernel '*' --no-peer --within 4 --json "
      "all.json\n"
      "  kernelwright bench sgemm --kernel 'r04*,r07*' --shape 4096,1000x3000x500\n"
      "  kernelwright bench sgemm --device cpu --quick\n"
      "  kernelwright bench sgemm --shape 256 --l2 cold\n"
      "  kernelwright bench sgemm --timing enqueue --json host-time.json\n"
      "  kernelwright bench sgemm --sustain 5 --json sgemm-sustained.json\n"
      "  kernelwright bench sgemm --shape 64,100x50x30 --batch 1000 --ops nn,tn\n"
      "  kernelwright bench sgemm --shape 4096 --pad 0,1,0\n"
      "  kernelwright bench sgemm --gpus 2 --shape 32768");
  auto options = std::make_shared<BenchOptions>();
  const auto gpus = std::make_shared<int>(0);
  options->product.add_bench_options(*command);
  add_within(*command, *options);
  add_timing_options(*command, *options);
  add_timing_with_enqueue(*command, *options);
  command
      ->add_option("--sustain", options->sustain_s,
                   "Run each kernel back to back for so many seconds, alone, and report the rate "
                   "that lasts, power, clock and energy a call; beside the vendor's FP32, FP16 and "
                   "BF16 products (default sizes: 2048, 4096, 8192, 16384; at least 5 for energy)")
      ->type_name("SECONDS")
      ->check(number_from_zero(false));
  add_gpus(*command, *gpus,
           {"--sweep", "--batch", "--pad", "--ops", "--kernel", "--within", "--timing", "--l2",
            "--quick", "--sustain"});
  command->callback([options, gpus, &invocation] {
    if (*gpus > 0) {
      DistributedChoice choice(*options);
      choice.gpus = *gpus;
      choice.shape = options->product.shape;
      invocation.exit_code = bench_distributed(choice, invocation.command);
      return;
    }
    if (options->sustain_s > 0) {
      check_sustain(*options);
      invocation.exit_code =
          run_sustained({options->sustain_s, options->no_peer, options->no_ceilings}, *options,
                        options->product, invocation.command);
      return;
    }
    if (options->timing == "enqueue") options->product.default_sweep = "mixed";
    invocation.exit_code = bench_sgemm(*options, invocation.command);
  });
}

void add_level3(CLI::App& bench, Invocation& invocation) {
  CLI::App* command = bench.add_subcommand(
      "level3", "Updates of a triangle, products with a symmetric or triangular matrix, solutions");
  command->footer(
      "Measures the library's choice in both arithmetics beside the vendor's library.\n"
      "\n"
      "Examples:\n"
      "  kernelwright bench level3 --json level3.json\n"
      "  kernelwright bench level3 --op ssyrk,strsm --shape 8192,8192x8192x1024 --uplo "
      "lower,upper\n"
      "  kernelwright bench level3 --sweep random --seed 7 --count 60");
  auto options = std::make_shared<BenchOptions>();
  options->level3.add_options(*command);
  add_timing_and_run(*command, options, invocation, bench_level3);
}

void add_bench_cgemm(CLI::App& bench, Invocation& invocation) {
  CLI::App* command =
      bench.add_subcommand("cgemm", "C = alpha op(A) op(B) + beta C of complex matrices");
  command->footer(
      "Sizes count complex elements, and a product has 8mnk operations. Sweeps as of sgemm.\n"
      "\n"
      "Examples:\n"
      "  kernelwright bench cgemm --shape 1024,4096 --kernel 'kernelwright*' --json cgemm.json\n"
      "  kernelwright bench cgemm --sweep random --seed 7 --count 60\n"
      "  kernelwright bench cgemm --shape 16 --batch 1000 --ops nn,tn --conjugate");
  auto options = std::make_shared<BenchOptions>();
  options->product.add_bench_options(*command);
  options->product.add_complex_options(*command);
  add_within(*command, *options);
  add_timing_and_run(*command, options, invocation, bench_cgemm);
}

void add_ctrsm(CLI::App& bench, Invocation& invocation) {
  CLI::App* command = bench.add_subcommand("ctrsm", "Complex triangular systems");
  command->footer(
      "Sizes count complex elements. Measures the library's choice in both arithmetics beside the\n"
      "vendor's library.\n"
      "\n"
      "Examples:\n"
      "  kernelwright bench ctrsm --json ctrsm.json\n"
      "  kernelwright bench ctrsm --shape 8192,8192x1024 --side left,right --trans n,c\n"
      "  kernelwright bench ctrsm --sweep random --seed 7 --count 60");
  auto options = std::make_shared<BenchOptions>();
  options->ctrsm.add_options(*command);
  add_timing_and_run(*command, options, invocation, bench_ctrsm);
}

void add_scale_add(CLI::App& bench, Invocation& invocation) {
  CLI::App* command = bench.add_subcommand("scale_add", "B = scale A + shift, elementwise");
  command->footer(
      "Examples:\n"
      "  kernelwright bench scale_add\n"
      "  kernelwright bench scale_add --shape 8192,1000x3000 --l2 cold --json scale-add.json");
  auto options = std::make_shared<BenchOptions>();
  command->add_option("--shape", options->shape, "ROWSxCOLS,... (N is a square)")
      ->type_name("LIST")
      ->check(not_empty());
  command->add_option("--scale", options->scale)->capture_default_str();
  command->add_option("--shift", options->shift)->capture_default_str();
  add_timing_and_run(*command, options, invocation, bench_scale_add);
}

void add_reduce(CLI::App& bench, Invocation& invocation) {
  CLI::App* command = bench.add_subcommand("reduce", "Many numbers to one, or to one a row");
  command->footer(
      "Sweeps: classic (2^10, 2^11, ... 2^30), odd (odd lengths, aligned and misaligned), shapes\n"
      "(rows, columns, segments), random (--count reductions that --seed draws, seeds under 1000 "
      "for\n"
      "tuning: any operation, type, shape, aspect and alignment; ends with means, percentiles, "
      "losses\n"
      "and shares of the read bandwidth). Without --shape and --sweep: classic, as far as the "
      "device\n"
      "is quick.\n"
      "\n"
      "Examples:\n"
      "  kernelwright bench reduce --sweep classic --l2 cold --json reduce.json\n"
      "  kernelwright bench reduce --sweep random --seed 7 --count 60 --l2 cold\n"
      "  kernelwright bench reduce --op sum,argmin --dtype float32,float16 --shape 2^28,1000003\n"
      "  kernelwright bench reduce --shape 4096x1000 --axis columns\n"
      "  kernelwright bench reduce --shape 100000 --segments log_uniform\n"
      "  kernelwright bench reduce --op variance --correction 1 --device cpu --quick");
  auto options = std::make_shared<BenchOptions>();
  ReduceChoice& choice = options->reduce;
  command->add_option("--op", choice.ops, "all, or some of " + reduce_op_names())
      ->type_name("LIST")
      ->capture_default_str();
  command->add_option("--dtype", choice.types, "all, or some of " + data_type_names())
      ->type_name("LIST")
      ->capture_default_str();
  CLI::Option* shape = command->add_option("--shape", choice.shape,
                                           "N or ROWSxCOLS,...; with --segments how many of them");
  shape->type_name("LIST")->check(not_empty());
  CLI::Option* sweep =
      command->add_option("--sweep", choice.sweep, "classic, odd, shapes or random")
          ->check(not_empty())
          ->excludes(shape);
  command
      ->add_option("--count", choice.count,
                   "Of --sweep random: reductions, a third each under 4 us, 4 to 50 and over 50 by "
                   "an H200's bandwidth (default: 200); --seed draws them")
      ->check(whole_number(1, 100000))
      ->needs(sweep);
  command
      ->add_option("--max-elements", choice.max_elements,
                   "Of --sweep random: leave out reductions of more elements (default: 2^24 on a "
                   "CPU, 2^14 through host SIMT, on a GPU none)")
      ->check(whole_number(1, INT64_MAX))
      ->needs(sweep);
  command->add_option("--axis", choice.axis, "whole (default of N), rows (of ROWSxCOLS) or columns")
      ->check(CLI::IsMember({"whole", "rows", "columns"}));
  command->add_option(
      "--segments", choice.segments,
      "Lengths of segments: one_to_32, log_uniform (1 to 100000), equal (64), uneven");
  command->add_option("--misalign", choice.misalign, "Elements past a 256-byte boundary")
      ->check(whole_number(0, 255))
      ->capture_default_str();
  command
      ->add_option("--correction", choice.correction,
                   "variance divides by the number of elements less this")
      ->check(whole_number(0, INT64_MAX))
      ->capture_default_str();
  add_timing_and_run(*command, options, invocation, bench_reduce);
}

void add_rowwise(CLI::App& bench, Invocation& invocation) {
  CLI::App* command = bench.add_subcommand(
      "rowwise", "Softmax, layer norm, RMS norm and maps: each row of a matrix to another");
  command->footer(
      "GB/s count one read and one write, of the residual and the sum too; of peak is the share "
      "of\n"
      "the measured copy bandwidth. --sweep random measures the library's choice.\n"
      "\n"
      "Examples:\n"
      "  kernelwright bench rowwise --op softmax --shape 65536x768,1x100000000 --l2 cold\n"
      "  kernelwright bench rowwise --op layer_norm --dtype all --residual\n"
      "  kernelwright bench rowwise --sweep random --seed 7 --count 60 --least-mib 64 --l2 cold");
  auto options = std::make_shared<BenchOptions>();
  options->rowwise.add_options(*command);
  add_timing_and_run(*command, options, invocation, bench_rowwise);
}

void add_attention(CLI::App& bench, Invocation& invocation) {
  CLI::App* command = bench.add_subcommand(
      "attention", "softmax(scale * Q K^T) V for each head of each entry of a batch");
  command->footer(
      "GFLOP/s count 4 * D for each pair of query and key that the causal rule leaves. --sweep "
      "random\n"
      "measures the library's choice. tools/attention_peer.py has PyTorch beside it.\n"
      "\n"
      "Examples:\n"
      "  kernelwright bench attention --shape 2x16x4096x128,1x32/8x1x8192x128\n"
      "  kernelwright bench attention --shape 8x12x1024x64 --causal none,from_end\n"
      "  kernelwright bench attention --sweep random --seed 7 --count 60");
  auto options = std::make_shared<BenchOptions>();
  options->attention.add_options(*command);
  add_timing_and_run(*command, options, invocation, bench_attention);
}

}  // namespace

void add_bench_command(CLI::App& app, Invocation& invocation) {
  CLI::App* command = app.add_subcommand("bench", "Time every kernel that gives the right answer");
  command->require_subcommand(1);
  command->footer(
      "Examples:\n"
      "  kernelwright bench sgemm --sweep classic --json sgemm.json\n"
      "  kernelwright bench reduce --shape 2^20 --op sum,max\n"
      "  kernelwright bench scale_add --shape 8192");
  add_bench_sgemm(*command, invocation);
  add_level3(*command, invocation);
  add_bench_cgemm(*command, invocation);
  add_ctrsm(*command, invocation);
  add_reduce(*command, invocation);
  add_rowwise(*command, invocation);
  add_attention(*command, invocation);
  add_scale_add(*command, invocation);
  add_bench_distributed(*command, invocation);
  add_bench_out_of_core(*command, invocation);
}

}  // namespace kw
