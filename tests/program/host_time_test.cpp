// The host's time of a call: that what is timed is a call of the library which computes the right
// product, and the rows and tables of such a run.
#include <gtest/gtest.h>

#include "bench/library_calls.hpp"
#include "bench/table.hpp"
#include "check/cases.hpp"
#include "json_schema.hpp"
#include "kernels.hpp"

namespace kw::bench {
namespace {

#ifdef KW_HAVE_HOST_SIMT
const char* const device_of_calls = "host-simt";
#else
const char* const device_of_calls = "cpu";
#endif

TEST(LibraryCalls, ComputeWhatTheProblemSays) {
  const std::unique_ptr<Runtime> runtime = open_device(device_of_calls);
  check::Workbench bench(*runtime);
  LibraryCalls own(bench);
  const Kernel<Sgemm> kernel = own.row(Math::fp32);
  std::vector<check::SgemmCase> cases = check::sgemm_cases_of_shape(33, 17, 9, {}, 1);
  for (const auto& more :
       {check::sgemm_transpose_cases(), check::sgemm_batch_cases(), check::sgemm_epilogue_cases()})
    cases.insert(cases.end(), more.begin(), more.end());
  for (const check::SgemmCase& c : cases) {
    if (c.m * c.n * c.k * c.batch > 100000) continue;
    const check::VerifyResult result = check::SgemmTrial(bench, c).verify(kernel);
    EXPECT_TRUE(result.ok()) << describe(c) << ": " << result.message;
  }
}

TEST(LibraryCalls, PassOnWhatTheLibraryRefuses) {
  const std::unique_ptr<Runtime> runtime = open_device("cpu");
  const check::Workbench bench(*runtime);
  Sgemm wrong;
  wrong.m = wrong.n = wrong.k = 4;
  wrong.lda = wrong.ldb = 4;
  wrong.ldc = 3;
  EXPECT_EQ(LibraryCalls(bench).sgemm(wrong, Math::fp32).argument, "ldc");
}

Row host_row(const char* kernel, double median) {
  Row row;
  row.op = "sgemm";
  row.kernel = kernel;
  row.m = row.n = 8;
  row.k = 8;
  row.timing = "enqueue";
  row.time_us = summarise_times({median, median, median});
  row.verified = true;
  return row;
}

TEST(HostTimes, AreTablesOfTimesWhereTheShortestIsBest) {
  std::vector<Row> rows = {host_row("ours", 3.5), host_row("theirs", 7.5)};
  const std::string table = problem_table(rows);
  EXPECT_NE(table.find("*  ours "), std::string::npos) << table;
  EXPECT_EQ(table.find("0.00"), std::string::npos) << table << "there is no rate";
  for (const Row& row : {host_row("ours", 9), host_row("theirs", 4)}) {
    rows.push_back(row);
    rows.back().n = 16;
  }
  EXPECT_EQ(summary_table(rows),
            "us of the host (* best)      8  8x16x8\n"
            "ours                     *3.50    9.00\n"
            "theirs                    7.50   *4.00\n");
}

#ifdef KW_HAVE_HOST_SIMT
TEST(HostTimes, AreRowsWithoutARate) {
  const ordered_json file =
      run_json("bench sgemm --device host-simt --timing enqueue --shape 16 --quick");
  ASSERT_EQ(file["rows"].size(), 2u);
  for (const ordered_json& row : file["rows"]) {
    expect_problem(row);
    expect_time(row);
    EXPECT_EQ(row["timing"], "enqueue");
    EXPECT_TRUE(row["verified"]);
    for (const char* name : {"gflops", "gbs", "of_peak"}) EXPECT_TRUE(row[name].is_null()) << name;
  }
  EXPECT_EQ(file["rows"][0]["kernel"], "kernelwright");
  EXPECT_EQ(file["rows"][1]["kernel"], "kernelwright_split");
}

TEST(HostTimes, AreOfTheLibraryAlone) {
  for (const auto& [options, message] : std::vector<std::pair<std::string, std::string>>{
           {"--kernel async_tile", "async_tile is no whole call of the library"},
           {"--l2 cold", "caches do not change what the host takes"}}) {
    const ProgramRun run =
        run_kernelwright("bench sgemm --device host-simt --shape 8 --timing enqueue " + options);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_NE(run.err.find(message), std::string::npos) << run.err;
  }
}
#endif

}  // namespace
}  // namespace kw::bench
