// The command line where it is asked for help, or used wrongly: messages and exit codes.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "kernels.hpp"
#include "program_run.hpp"

namespace kw {
namespace {

bool has_gpu() {
  for (const Backend& backend : backends()) {
    const bool is_gpu = backend.kind == DeviceKind::cuda || backend.kind == DeviceKind::hip;
    if (is_gpu && backend.device_count() > 0) return true;
  }
  return false;
}

TEST(Cli, HelpEverywhereWithExamples) {
  for (const char* command : {"",
                              "devices",
                              "list",
                              "verify",
                              "accuracy",
                              "accuracy sgemm",
                              "accuracy strsm",
                              "accuracy ctrsm",
                              "bench",
                              "bench sgemm",
                              "bench level3",
                              "bench cgemm",
                              "bench ctrsm",
                              "bench reduce",
                              "bench rowwise",
                              "bench attention",
                              "bench scale_add",
                              "tune",
                              "tune sgemm",
                              "choice",
                              "compare",
                              "run",
                              "trace",
                              "report",
                              "help"}) {
    const ProgramRun run = run_kernelwright(std::string(command) + " --help");
    EXPECT_EQ(run.exit_code, 0) << command << run.err;
    EXPECT_TRUE(contains(run.out, "Example")) << command;
    EXPECT_TRUE(contains(run.out, std::string("kernelwright ") + command)) << command;
  }
}

TEST(Cli, Version) {
  const ProgramRun run = run_kernelwright("--version");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_TRUE(contains(run.out, "kernelwright ")) << run.out;
}

struct Misuse {
  const char* arguments;
  const char* message;
};

TEST(Cli, WrongUsageIsToldAndExitsTwo) {
  const Misuse misuses[] = {
      {"frobnicate", "frobnicate"},
      {"bench",
       "bench: name one of sgemm, level3, cgemm, ctrsm, reduce, rowwise, attention, scale_add"},
      {"bench gemv", "gemv"},
      {"bench rowwise --op sum", "--op: \"sum\" is not one of softmax, log_softmax"},
      {"bench rowwise --dtype int8", "--dtype: \"int8\" is not one of float32, float16, bfloat16"},
      {"bench rowwise --sweep random --in-place", "--sweep random draws operation"},
      {"bench rowwise --count 3", "--sweep"},
      {"bench attention --shape 2x3", "--shape: \"2x3\" is not of the form BATCHxHEADS"},
      {"bench attention --shape 1x3/2x8x8", "has 3 heads, no multiple of the 2"},
      {"bench attention --causal up", "--causal: \"up\" is not one of none, from_start"},
      {"bench attention --input unit", "--input: attention takes uniform or normal"},
      {"run", "program is required"},
      {"run --math tf32 -- ls", "--math: tf32 not in {fp32_split,fp32,off}"},
      {"run --verify 0 -- ls", "--verify: 0 is outside of 1"},
      {"run --report '' -- ls", "--report: is empty"},
      {"run --nothing -- ls", "\"--nothing\" is neither a command nor an option here"},
      {"list gemv", "gemv"},
      {"verify sgemm --device cpu --shape 12x13", "\"12x13\" has 2 dimensions, want 1 or 3"},
      {"verify sgemm --device cpu --shape 12xx13", "\"\" in \"12xx13\" is not a whole number"},
      {"verify sgemm --device cpu --shape 4a", "\"4a\" in \"4a\" is not a whole number"},
      {"verify sgemm --device cpu --shape -4", "-4 in \"-4\" is outside of 0"},
      {"verify reduce --device cpu --op total", "--op: \"total\" is not one of sum, mean, min"},
      {"verify reduce --device cpu --shape 4x5x6", "want 1 or 2: N or ROWSxCOLS"},
      {"bench reduce --device cpu --op sum,sums", "--op: \"sums\" is not one of sum, mean"},
      {"bench reduce --device cpu --dtype float", "--dtype: \"float\" is not one of float32"},
      {"bench reduce --device cpu --shape 2^99", "2^99 in \"2^99\" is outside of 1"},
      {"bench reduce --device cpu --shape 2^", "\"2^\" in \"2^\" is not a whole number"},
      {"bench reduce --device cpu --sweep skinny", "\"skinny\" is not one of classic, odd, shapes"},
      {"bench reduce --device cpu --sweep odd --shape 8", "--shape"},
      {"bench reduce --device cpu --shape 8 --axis rows",
       "--axis: rows takes --shape ROWSxCOLS, not \"8\""},
      {"bench reduce --device cpu --shape 8x9 --axis whole",
       "--axis: whole takes --shape N, not \"8x9\""},
      {"bench reduce --device cpu --axis rows", "--axis: needs --shape"},
      {"bench reduce --device cpu --segments equal", "--segments: needs --shape"},
      {"bench reduce --device cpu --segments short --shape 8",
       "--segments: \"short\" is not one of one_to_32, log_uniform"},
      {"bench reduce --device cpu --segments equal --shape 8x9",
       "with --segments it is a number of segments, not \"8x9\""},
      {"bench reduce --device cpu --segments equal --axis rows --shape 8",
       "--axis: segments are of a whole array"},
      {"bench reduce --device cpu --misalign 256", "--misalign"},
      {"bench reduce --device cpu --correction 1",
       "--correction: 1 was given, but only variance has one and --op is sum"},
      {"verify scale_add --device cpu --shape 4x5x6", "\"4x5x6\" has 3 dimensions, want 1 or 2"},
      {"bench sgemm --device cpu --shape 0", "0 in \"0\" is outside of 1"},
      {"bench sgemm --device cpu --shape 99999999999999999999", "is not a whole number"},
      {"bench sgemm --device cpu --sweep thin",
       "\"thin\" is not one of classic, skinny, odd, small"},
      {"bench sgemm --device cpu --sweep small --shape 8", "--shape"},
      {"bench sgemm --device cpu --sweep random --count 0", "0 is outside of 1 to 100000"},
      {"bench sgemm --device cpu --sweep odd --count 5",
       "--count: only --sweep random draws so many products as one wants"},
      {"bench sgemm --device cpu --sweep odd --max-work 5", "--max-work: is of --sweep random"},
      {"bench sgemm --device cpu --max-work 5 --shape 8", "--sweep"},
      {"bench sgemm --device cpu --sweep random --ops nt", "leave --ops out"},
      {"bench sgemm --device cpu --sweep random --op-b T", "leave --op-b out"},
      {"bench sgemm --device cpu --sweep programs --batch 3", "leave --batch out"},
      {"bench sgemm --device cpu --sweep programs --pad 0,0,1",
       "--pad: the products of --sweep programs have their own"},
      {"verify sgemm --device cpu --sweep classic", "classic"},
      {"verify reduce --device cpu --sweep random",
       "--sweep, --batch, --ops, --alpha, --beta and --leave-free are of sgemm, not of reduce"},
      {"bench sgemm --device cpu --timing enqueue",
       "computes a call before it returns, so none is enqueued; use --device gpu"},
      {"bench reduce --device cpu --timing enqueue", "enqueue not in {auto,alone}"},
      {"bench sgemm --device cpu --shape 8 --batch 0", "--batch"},
      {"bench sgemm --device cpu --shape 8 --pad 1", "--pad"},
      {"bench sgemm --device cpu --shape 8 --pad 0,-1,0", "--pad"},
      {"bench sgemm --device cpu --shape 8 --pad 0,1,0,1", "--pad: At Most 3 required"},
      {"bench sgemm --device cpu --shape 8 --ops nn,n",
       "--ops: \"n\" is not one of nn, nt, tn, tt"},
      {"bench sgemm --device cpu --shape 8 --ops nc", "--ops: \"nc\" is not one of"},
      {"bench sgemm --device cpu --shape 8 --ops nt --op-a T", "--op"},
      {"verify sgemm --device cpu --batch 3", "--shape"},
      {"verify reduce --device cpu --shape 8 --batch 3",
       "--sweep, --batch, --ops, --alpha, --beta and --leave-free are of sgemm, not of reduce"},
      {"bench sgemm --device cpu --l2 warm", "warm"},
      {"bench sgemm --device cpu --budget-ms -5", "--budget-ms"},
      {"bench sgemm --device cpu --budget-ms soon", "--budget-ms"},
      {"tune", "tune: name one of sgemm"},
      {"tune sgemm --device cpu", "name the shapes with --shape or --sweep"},
      {"tune sgemm --device cpu --shape 8 --sweep small", "--shape"},
      {"tune sgemm --device cpu --shape 8 --ops n", "--ops: \"n\" is not one of nn, nt, tn, tt"},
      {"tune sgemm --device cpu --shape 8 --batch 0", "--batch"},
      {"tune sgemm --device cpu --shape 8 --out /no/such/folder/tune.txt",
       "cannot write the tune cache /no/such/folder/tune.txt"},
      {"tune sgemm --device cpu --shape 8 --out /dev/null", "/dev/null is no tune cache"},
      {"bench sgemm --device tpu",
       "\"tpu\" is not one of auto, cpu, gpu, cuda, hip, gpu:NUMBER, host-simt"},
      {"bench sgemm --device gpu:x", "\"gpu:x\" is not of the form gpu:NUMBER"},
      {"bench sgemm --device cpu --input gaussian", "\"gaussian\" is not one of uniform, unit"},
      {"verify sgemm --device cpu --seed minus", "--seed"},
      {"accuracy sgemm --device cpu --size 0", "--size"},
      {"accuracy sgemm --device cpu --seeds 2", "--classes"},
      {"accuracy strsm --device cpu --max-size 8", "--max-size"},
      {"accuracy sgemm --device cpu --classes 'unit,u?'",
       "--classes: no class of data matches \"u?\"; there are:"},
      {"accuracy sgemm --device cpu --classes unit --math tf32", "--math"},
      {"accuracy sgemm --device cpu --classes unit --math fp32_split",
       "--math: none of the kernels computes in fp32_split"},
      {"accuracy sgemm --device cpu --classes unit --max-k 1 --dump /dev/null/x",
       "--dump: cannot make /dev/null/x"},
      {"report no-such-file.json -o somewhere", "no-such-file.json"},
      {"report", "files"},
      {"trace r07 --sms 0", "--sms"},
      {"trace r07 --blocks none", "--blocks"},
      {"bench sgemm --device cpu --shape 8 --json /no/such/folder/x.json",
       "--json: cannot write /no/such/folder/x.json"},
  };
  for (const Misuse& misuse : misuses) {
    const ProgramRun run = run_kernelwright(misuse.arguments);
    EXPECT_EQ(run.exit_code, 2) << misuse.arguments << "\n" << run.out << run.err;
    EXPECT_TRUE(contains(run.err, misuse.message)) << misuse.arguments << "\n" << run.err;
    EXPECT_TRUE(run.err.starts_with("kernelwright: ")) << misuse.arguments << "\n" << run.err;
    EXPECT_EQ(run.out, "") << misuse.arguments;
  }
}

TEST(Cli, AnUnknownKernelListsWhatExists) {
  const ProgramRun run = run_kernelwright("verify sgemm --device cpu --kernel 'r00*,q*'");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "matches \"q*\"")) << run.err;
  for (const auto& kernel : all_kernels<Sgemm>(DeviceKind::cpu)) {
    EXPECT_TRUE(contains(run.err, kernel.name)) << kernel.name;
  }
}

TEST(Cli, AMissingDeviceExitsThree) {
  const char* absent = has_gpu() ? "gpu:99" : "gpu";
  for (const char* command : {"verify sgemm", "bench sgemm --shape 64", "accuracy sgemm"}) {
    const ProgramRun run = run_kernelwright(std::string(command) + " --device " + absent);
    EXPECT_EQ(run.exit_code, 3) << command << run.err;
    EXPECT_TRUE(contains(run.err, "--device")) << run.err;
  }
}

// Whether this build has kernels for such devices or not: it says what is amiss.
TEST(Cli, AMissingKindOfGpuExitsThreeAndIsNamed) {
  const ProgramRun devices = run_kernelwright("devices --no-measure");
  EXPECT_EQ(devices.exit_code, 0) << devices.err;
  for (const auto& [kind, word, name] :
       {std::tuple{DeviceKind::cuda, "cuda", "CUDA"}, std::tuple{DeviceKind::hip, "hip", "HIP"}}) {
    const Backend* backend = find_backend(kind);
    if (backend != nullptr && backend->device_count() > 0) continue;
    const std::string no_device = std::string("no ") + name + " device found";
    const ProgramRun run = run_kernelwright(std::string("verify sgemm --device ") + word);
    EXPECT_EQ(run.exit_code, 3) << word << run.err;
    EXPECT_TRUE(contains(run.err, std::string("--device ") + word)) << run.err;
    EXPECT_TRUE(
        contains(run.err, backend != nullptr ? no_device : std::string("no ") + name + " kernels"))
        << run.err;
    EXPECT_EQ(contains(devices.out, no_device), backend != nullptr) << devices.out;
  }
}

}  // namespace
}  // namespace kw
