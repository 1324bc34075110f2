// bench sgemm --sustain: energy from counters and samples, the loop, its rows, what it refuses.
#include "bench/sustain.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "json_schema.hpp"

namespace kw::bench {
namespace {

BoardSample sample_at(double s, std::optional<double> energy_j,
                      std::optional<double> power_w = {}) {
  return {.at_s = s, .power_w = power_w, .energy_j = energy_j};
}

TEST(BoardSummaries, TakePowerFromTheGrowthOfACounterThatGrowsInSteps) {
  // 600 W; the counter is 1 s behind at first and grows every 0.1 s. Power samples are ignored.
  std::vector<BoardSample> samples;
  for (int i = 0; i <= 50; ++i) {
    const int steps = i * 2 / 10;
    const double stepped = 60.0 * steps;
    samples.push_back(sample_at(i * 0.02, 1e6 + stepped, 100));
  }
  const BoardSummary summary = summarise_board(samples);
  EXPECT_NEAR(summary.power_w.value(), 600, 1e-6);
  EXPECT_EQ(summary.energy_from, "counter");
}

// 32 bits of millijoules are full after 4.3 MJ; a driver that is loaded anew begins at 0.
TEST(BoardSummaries, LeaveOutTheStepWhereACounterBeginsAnew) {
  for (const double after : {0.0, 3.5, 4e6}) {
    std::vector<BoardSample> samples;
    samples.reserve(20);
    for (int i = 0; i < 10; ++i) samples.push_back(sample_at(i, 4.29e6 + 500.0 * i));
    for (int i = 0; i < 10; ++i) samples.push_back(sample_at(10 + i, after + 500.0 * i));
    const BoardSummary summary = summarise_board(samples);
    EXPECT_NEAR(summary.power_w.value(), 500, 1e-6) << after;
    EXPECT_EQ(summary.energy_from, "counter");
  }
}

TEST(BoardSummaries, TakePowerFromItsSamplesWhereNoCounterGrows) {
  for (const std::optional<double> stuck : {std::optional<double>(), std::optional<double>(7.0)}) {
    // 400 W for 3 s, then 700 W for 1 s: samples are not evenly spaced.
    const BoardSummary summary =
        summarise_board({sample_at(0, stuck, 400), sample_at(0.5, stuck, 400),
                         sample_at(3, stuck, 700), sample_at(4, stuck, 700)});
    EXPECT_NEAR(summary.power_w.value(), (3 * 400 + 700) / 4.0, 1e-9);
    EXPECT_EQ(summary.energy_from, "power");
  }
  EXPECT_EQ(summarise_board({sample_at(0, {}, 321)}).power_w, 321);
  // One step between two growths: it could be of another load before the run.
  EXPECT_EQ(summarise_board({sample_at(0, 1), sample_at(1, 2), sample_at(2, 3)}).energy_from, "");
}

TEST(BoardSummaries, AreEmptyWhereNothingIsStated) {
  for (const auto& samples : {std::vector<BoardSample>{}, std::vector<BoardSample>(5)}) {
    const BoardSummary summary = summarise_board(samples);
    EXPECT_FALSE(summary.power_w || summary.sm_clock_mhz || summary.hottest_c ||
                 summary.limited_by);
    EXPECT_EQ(summary.energy_from, "");
  }
}

TEST(BoardSummaries, SayWhatHeldTheClockDownAndHowWarmItBecame) {
  std::vector<BoardSample> samples(4);
  const std::optional<unsigned long long> limits[] = {0x4, 0x4 | 0x20, std::nullopt, 0x1};
  for (int i = 0; i < 4; ++i) {
    samples[i].clock_limits = limits[i];
    samples[i].sm_clock_mhz = 1500 + 100 * i;
    samples[i].temperature_c = 60 - i;
  }
  const BoardSummary summary = summarise_board(samples);
  EXPECT_EQ(summary.limited_by.value(),
            (std::map<std::string, double>{{"power_cap", 2.0 / 3}, {"software_thermal", 1.0 / 3}}));
  EXPECT_EQ(summary.sm_clock_mhz, 1650);
  EXPECT_EQ(summary.hottest_c, 60);
}

// A board at 500 W and 1.5 GHz, with or without a counter of energy.
class SteadyBoard : public Sensors {
 public:
  explicit SteadyBoard(bool counts) : counts_(counts) {}
  std::optional<double> sm_clock_mhz() override { return 1500; }
  std::optional<double> power_w() override { return counts_ ? 1.0 : 500.0; }
  std::optional<double> energy_j() override {
    const std::chrono::duration<double> since = std::chrono::steady_clock::now() - begin_;
    return counts_ ? std::optional<double>(500 * since.count()) : std::nullopt;
  }
  std::optional<double> temperature_c() override { return 55; }
  std::optional<unsigned long long> clock_limits() override { return 0x4; }
  std::optional<double> power_limit_w() override { return 700; }

 private:
  bool counts_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

class Sustained : public testing::Test {
 protected:
  Sustained() : bench_(*runtime_) {}

  Sustain sustain(std::unique_ptr<Sensors> sensors, double seconds = 0.15) {
    return {bench_,
            {seconds, 0.01, 0.001},
            {},
            std::move(sensors),
            [this](const std::string& line) { said_.push_back(line); },
            [this](const std::string& text) { progress_.push_back(text); }};
  }
  KernelList<Sgemm> kernel(const std::string& glob) const {
    return select_kernels(all_kernels<Sgemm>(DeviceKind::cpu), glob);
  }

  std::unique_ptr<Runtime> runtime_ = open_device("cpu");
  check::Workbench bench_;
  std::vector<std::string> said_, progress_;
};

TEST_F(Sustained, CallsFollowEachOtherForAsLongAsAsked) {
  std::int64_t calls = 0;
  const auto call = [&](Stream) {
    ++calls;
    return Status::success();
  };
  const auto begin = std::chrono::steady_clock::now();
  const SustainedTimes times = sustain(nullptr).back_to_back(call, "a name");
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(took.count(), 0.15);
  EXPECT_GT(times.calls, 0);
  EXPECT_LT(times.calls, calls) << "those before the measured ones do not count";
  EXPECT_GT(times.rested_us, 0);
  double sum = 0;
  for (const double us : times.windows_us) sum += us;
  EXPECT_NEAR(sum * static_cast<double>(times.calls) / static_cast<double>(times.windows_us.size()),
              times.total_us, 1e-6 * times.total_us);
  EXPECT_TRUE(contains(progress_.front(), "a name: resting"));
  EXPECT_FALSE(times.board.power_w);
}

TEST_F(Sustained, AFailedCallEndsTheRun) {
  const auto fails = [](Stream) { return Status::failure(StatusCode::device_error, "lost"); };
  EXPECT_THROW(sustain(nullptr).back_to_back(fails, ""), Error);
}

TEST_F(Sustained, RowsHaveEnergyFromCounterOrPower) {
  const check::SgemmCase c = {.m = 64, .n = 64, .k = 64};
  for (const bool counts : {true, false}) {
    const std::vector<Row> rows =
        sustain(std::make_unique<SteadyBoard>(counts)).run(kernel("cpu_loop"), {}, c);
    ASSERT_EQ(rows.size(), 1u);
    const Row& row = rows[0];
    ASSERT_TRUE(row.verified && row.sustained && row.power_w) << row.message;
    EXPECT_EQ(row.timing, "sustained");
    EXPECT_EQ(row.sustained->energy_from, counts ? "counter" : "power");
    EXPECT_NEAR(*row.power_w, 500, 25);
    EXPECT_EQ(row.sm_clock_mhz, 1500);
    const double call_s = row.sustained->seconds / static_cast<double>(row.sustained->calls);
    EXPECT_NEAR(*row.sustained->joules_per_call / (*row.power_w * call_s), 1, 1e-9);
    const double gflop = 2e-9 * 64 * 64 * 64;
    EXPECT_NEAR(*row.sustained->gflop_per_joule * *row.sustained->joules_per_call / gflop, 1, 1e-9);
    EXPECT_EQ(row.sustained->power_limit_w, 700);
    EXPECT_EQ(row.sustained->hottest_c, 55);
    EXPECT_EQ(row.sustained->limited_by.value().at("power_cap"), 1);
    const std::string table = sustained_table(rows);
    EXPECT_TRUE(contains(table, "power_cap 100 %")) << table;
  }
}

TEST_F(Sustained, AKernelThatIsWrongHasNoRate) {
  Kernel<Sgemm> wrong = kernel("cpu_loop")[0];
  wrong.name = "wrong";
  wrong.make_plan = nullptr;
  wrong.complete_plan = nullptr;
  wrong.launch_plan = nullptr;
  wrong.supports = [](const Sgemm&, const Device&) { return true; };
  wrong.workspace_bytes = no_workspace<Sgemm>;
  wrong.launch = [](const Sgemm& p, const Device&, Workspace, Stream) {
    p.c[0] = 1e9f;
    return Status::success();
  };
  const std::vector<Row> rows =
      sustain(std::make_unique<SteadyBoard>(true)).run({wrong}, {}, {.m = 8, .n = 8, .k = 8});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_FALSE(rows[0].verified || rows[0].sustained || rows[0].time_us || rows[0].power_w);
  EXPECT_TRUE(contains(sustained_table(rows), "NO"));
}

TEST_F(Sustained, AnchorsTakeTheirOperandsOnceAndAreTimedAlone) {
  static int wholes, products;
  wholes = products = 0;
  static KernelList<Sgemm> loop;
  loop = kernel("cpu_loop");
  peers::Anchor anchor = {{.name = "anchor",
                           .parent = nullptr,
                           .idea = "",
                           .role = Role::peer,
                           .math = Math::fp32,
                           .supports = [](const Sgemm&, const Device&) { return true; },
                           .workspace_bytes = no_workspace<Sgemm>,
                           .launch =
                               [](const Sgemm& p, const Device& device, Workspace w, Stream s) {
                                 ++wholes;
                                 return launch_planned(loop[0], p, device,
                                                       *plan_for(loop[0], p, device), w, s);
                               }},
                          "fp16",
                          [](const Sgemm&, const Device&, Workspace, Stream) {
                            ++products;
                            return Status::success();
                          }};
  const std::vector<Row> rows = sustain(nullptr).run({}, {anchor}, {.m = 32, .n = 32, .k = 32});
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_TRUE(rows[0].verified) << rows[0].message;
  EXPECT_EQ(rows[0].math, "fp16");
  EXPECT_EQ(wholes, 2) << "once for the check, once for what is timed";
  EXPECT_GT(products, rows[0].sustained.value().calls);
}

TEST(SharesOfFp16, AreOfAThirdOfItsRate) {
  std::vector<Row> rows(3);
  rows[0].math = "fp32_split", rows[0].gflops = 190e3, rows[0].sustained.emplace();
  rows[1].math = "fp32", rows[1].gflops = 50e3, rows[1].sustained.emplace();
  rows[2].math = "fp16", rows[2].gflops = 600e3, rows[2].sustained.emplace();
  fill_shares_of_fp16(rows);
  EXPECT_NEAR(rows[0].sustained->of_fp16_third.value(), 0.95, 1e-12);
  EXPECT_FALSE(rows[1].sustained->of_fp16_third || rows[2].sustained->of_fp16_third);
}

TEST(SustainOption, WritesRowsAndSaysWhatIsNotMeasured) {
  const ProgramRun run = run_kernelwright(
      "bench sgemm --device cpu --sustain 0.05 --shape 48 --no-peer --no-ceilings --json -");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.err, "power, clock and energy are not measured")) << run.err;
  const ordered_json file = ordered_json::parse(run.out);
  ASSERT_EQ(file["rows"].size(), 1u);
  const ordered_json& row = file["rows"][0];
  std::vector<std::string> fields = row_fields;
  const std::vector<std::string> own = {
      "sustained_s", "calls",     "rested_gflops", "joules_per_call", "gflop_per_joule",
      "energy_from", "hottest_c", "power_limit_w", "limited_by",      "of_fp16_third"};
  fields.insert(fields.end(), own.begin(), own.end());
  EXPECT_EQ(names(row), fields);
  EXPECT_EQ(row["timing"], "sustained");
  EXPECT_TRUE(row["verified"]);
  for (const char* name : {"sustained_s", "calls", "rested_gflops", "gflops"})
    EXPECT_TRUE(is_positive(row[name])) << name;
  for (const char* name : {"joules_per_call", "gflop_per_joule", "energy_from", "power_w"})
    EXPECT_TRUE(row[name].is_null()) << name;
}

TEST(SustainOption, RefusesWhatTimesKernelsInTurn) {
  for (const char* option : {"--timing alone", "--l2 cold", "--budget-ms 5", "--max-call-ms 5",
                             "--within 2", "--quick", "--sweep random"}) {
    const ProgramRun run =
        run_kernelwright(std::string("bench sgemm --device cpu --sustain 1 ") + option);
    EXPECT_EQ(run.exit_code, 2) << option;
    EXPECT_TRUE(contains(run.err, "--sustain: ")) << run.err;
  }
}

}  // namespace
}  // namespace kw::bench
