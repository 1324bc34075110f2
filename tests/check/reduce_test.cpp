// The check of reductions itself: it accepts a right kernel on every case, finds each planted
// fault, and its oracle's GPU text agrees with the CPU's.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <set>

#include "check/reduce/case.hpp"
#include "kernels.hpp"
#include "simple_reduce.hpp"
#include "support/run_seed.hpp"

namespace kw::check {
namespace {

Kernel<Reduce> subject(KernelLaunch<Reduce>* launch, Role role = Role::production) {
  return {"subject",
          nullptr,
          "",
          role,
          Math::fp32,
          [](const Reduce&, const Device&) { return true; },
          no_workspace<Reduce>,
          launch};
}

class ReduceCheck : public testing::Test {
 protected:
  ReduceCheck() : runtime_(open_device("cpu")) {}

  VerifyResult verify(KernelLaunch<Reduce>* launch, const ReduceCase& c,
                      Role role = Role::production) {
    return verify_reduce(*runtime_, subject(launch, role), c);
  }

  static ReduceCase array(std::int64_t length, ReduceOp op = ReduceOp::sum,
                          DataType type = DataType::float32) {
    ReduceCase c;
    c.op = op;
    c.type = type;
    c.cols = length;
    return c;
  }

  // The faulty kernel fails where the right one passes.
  template <ReduceFault fault>
  VerifyResult expect_caught(const ReduceCase& c) {
    const VerifyResult right = verify(simple_reduce<>, c);
    EXPECT_TRUE(right.ok()) << describe(c) << ": " << right.message;
    VerifyResult wrong = verify(simple_reduce<fault>, c);
    EXPECT_EQ(wrong.outcome, Outcome::failed) << describe(c);
    EXPECT_NE(wrong.message, "") << describe(c);
    return wrong;
  }

  std::unique_ptr<Runtime> runtime_;
};

TEST_F(ReduceCheck, AcceptsACorrectKernelOnEveryCase) {
  Workbench bench(*runtime_);
  for (const ReduceCase& c : reduce_edge_cases(run_seed())) {
    const VerifyResult result = ReduceTrial(bench, c).verify(subject(simple_reduce<>));
    EXPECT_TRUE(result.ok()) << describe(c) << ": " << result.message;
  }
}

// Of a few elements none may be huge; their squares must not vanish in the unit of huge ones.
TEST_F(ReduceCheck, AcceptsHugeDataWithoutAHugeElement) {
  Workbench bench(*runtime_);
  for (std::uint64_t seed = 1; seed <= 64; ++seed) {
    for (const ReduceOp op : {ReduceOp::sum_of_squares, ReduceOp::l2_norm}) {
      ReduceCase c = array(1 + static_cast<std::int64_t>(seed % 3), op, DataType::float64);
      c.sprinkle = Sprinkle::huge;
      c.seed = seed;
      const VerifyResult result = ReduceTrial(bench, c).verify(subject(simple_reduce<>));
      EXPECT_TRUE(result.ok()) << describe(c) << ": " << result.message;
    }
  }
}

TEST_F(ReduceCheck, CatchesADroppedElement) {
  for (const DataType type : {DataType::float32, DataType::float64, DataType::bfloat16,
                              DataType::int8, DataType::int64}) {
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::l2_norm, ReduceOp::variance}) {
      expect_caught<ReduceFault::drops_last>(array(4097, op, type));
    }
  }
  // The share of one element in a sum of a million is still above the bound.
  ReduceCase c = array(1 << 20);
  c.input = Input::unit;
  expect_caught<ReduceFault::drops_last>(c);
}

TEST_F(ReduceCheck, CatchesAnElementTakenTwice) {
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean, ReduceOp::l1_norm}) {
    const VerifyResult result = expect_caught<ReduceFault::takes_first_twice>(array(1000, op));
    EXPECT_EQ(result.failures, 1);
    EXPECT_EQ(result.first_col, 0);
    EXPECT_NE(result.first_got, result.first_want);
    EXPECT_GT(result.error.max, result.error.bound);
  }
}

TEST_F(ReduceCheck, CatchesAWrongTie) {
  for (const DataType type : {DataType::float32, DataType::int8}) {
    for (const ReduceOp op : {ReduceOp::argmin, ReduceOp::argmax}) {
      ReduceCase c = array(1000, op, type);
      c.input = Input::integers;
      expect_caught<ReduceFault::last_tie_wins>(c);
      c.sprinkle = Sprinkle::extremes;
      expect_caught<ReduceFault::last_tie_wins>(c);
    }
  }
}

TEST_F(ReduceCheck, CatchesAnIgnoredNaN) {
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::min, ReduceOp::argmax, ReduceOp::max_norm}) {
    for (const DataType type : {DataType::float32, DataType::float16, DataType::float64}) {
      ReduceCase c = array(257, op, type);
      c.sprinkle = Sprinkle::nan;
      expect_caught<ReduceFault::ignores_nan>(c);
    }
  }
}

TEST_F(ReduceCheck, CatchesANaNThatIsNotTheCanonicalOne) {
  ReduceCase c = array(257);
  c.sprinkle = Sprinkle::nan;
  const auto odd_nan = [](const Reduce& p, const Device&, Workspace, Stream) {
    *static_cast<float*>(p.out) = -std::numeric_limits<float>::quiet_NaN();
    return Status::success();
  };
  EXPECT_EQ(verify(odd_nan, c).outcome, Outcome::failed);
  EXPECT_TRUE(verify(odd_nan, c, Role::rung).ok()) << "a rung may give any NaN";
}

TEST_F(ReduceCheck, CatchesZerosTakenForEqual) {
  for (const ReduceOp op : {ReduceOp::min, ReduceOp::max}) {
    int caught = 0;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      ReduceCase c = array(33, op);
      c.sprinkle = Sprinkle::signed_zeros;
      c.seed = seed;
      EXPECT_TRUE(verify(simple_reduce<>, c).ok());
      caught += verify(simple_reduce<ReduceFault::takes_zeros_for_equal>, c).ok() ? 0 : 1;
    }
    EXPECT_GT(caught, 0) << "half of the arrays begin with the wrong zero";
  }
}

TEST_F(ReduceCheck, CatchesANegativeZeroAsASum) {
  ReduceCase c = array(33);
  c.sprinkle = Sprinkle::signed_zeros;
  const VerifyResult result = verify(
      [](const Reduce& p, const Device&, Workspace, Stream) {
        *static_cast<float*>(p.out) = -0.0f;
        return Status::success();
      },
      c);
  EXPECT_EQ(result.outcome, Outcome::failed);
}

TEST_F(ReduceCheck, CatchesAResultThatIsNotWritten) {
  for (const DataType type : {DataType::float32, DataType::int8, DataType::float16}) {
    for (const ReduceOp op :
         {ReduceOp::sum, ReduceOp::argmin, ReduceOp::min_max, ReduceOp::variance}) {
      ReduceCase c = array(50, op, type);
      c.shape = ReduceShape::rows;
      c.rows = 7;
      const VerifyResult result = expect_caught<ReduceFault::leaves_last_result>(c);
      EXPECT_EQ(result.first_col, op == ReduceOp::min_max ? 12 : 6);
      c.cols = 0;  // NaN, -1 and infinities are not what happens to lie there
      expect_caught<ReduceFault::leaves_last_result>(c);
    }
  }
}

TEST_F(ReduceCheck, CatchesAWritePastTheResults) {
  for (const DataType type : {DataType::float32, DataType::int8}) {
    const VerifyResult result =
        expect_caught<ReduceFault::writes_past_results>(array(100, ReduceOp::min, type));
    EXPECT_NE(result.message.find("results were written outside: 1 elements"), std::string::npos)
        << result.message;
  }
}

TEST_F(ReduceCheck, CatchesAWriteIntoTheDataAndRestoresThem) {
  ReduceCase c = array(30, ReduceOp::max, DataType::float16);
  c.shape = ReduceShape::rows;
  c.rows = 3;
  c.ld_pad = 2;
  const VerifyResult result = expect_caught<ReduceFault::writes_into_data>(c);
  EXPECT_NE(result.message.find("elements were written: 1 elements, first at row 1, column 0"),
            std::string::npos)
      << result.message;
  Workbench bench(*runtime_);
  ReduceTrial trial(bench, c);
  EXPECT_FALSE(trial.verify(subject(simple_reduce<ReduceFault::writes_into_data>)).ok());
  EXPECT_TRUE(trial.verify(subject(simple_reduce<>)).ok());
}

TEST_F(ReduceCheck, CatchesReadingPaddingAndGuards) {
  for (const DataType type : {DataType::float32, DataType::bfloat16, DataType::int32}) {
    ReduceCase c = array(30, ReduceOp::sum, type);
    c.shape = ReduceShape::rows;
    c.rows = 3;
    c.ld_pad = 2;
    const VerifyResult result = verify(
        [](const Reduce& problem, const Device& device, Workspace workspace, Stream stream) {
          Reduce p = problem;
          ++p.cols;
          return simple_reduce<>(p, device, workspace, stream);
        },
        c);
    EXPECT_EQ(result.failures, 3);
  }
}

TEST_F(ReduceCheck, CatchesATicketThatIsLeftAndRestoresIt) {
  Workbench bench(*runtime_);
  ReduceTrial trial(bench, array(10));
  const auto leaves_ticket = [](const Reduce& p, const Device& device, Workspace workspace,
                                Stream stream) {
    workspace.tickets[3] += 17;
    return simple_reduce<>(p, device, workspace, stream);
  };
  for (int twice = 0; twice < 2; ++twice) {
    const VerifyResult result = trial.verify(subject(leaves_ticket));
    EXPECT_EQ(result.outcome, Outcome::failed);
    EXPECT_EQ(result.message, "left ticket 3 at 17");
  }
  EXPECT_TRUE(trial.verify(subject(simple_reduce<>)).ok());
  const auto fails = [](const Reduce&, const Device&, Workspace workspace, Stream) {
    workspace.tickets[0] = 1;
    return Status::failure(StatusCode::device_error, "no such luck");
  };
  EXPECT_EQ(trial.verify(subject(fails)).outcome, Outcome::error);
  EXPECT_TRUE(trial.verify(subject(simple_reduce<>)).ok()) << "tickets are zero again";
}

TEST_F(ReduceCheck, CatchesFloatAdditionsWhereDoubleIsPromised) {
  for (const Input input : {Input::unit, Input::uniform, Input::normal}) {
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::mean, ReduceOp::sum_of_squares}) {
      ReduceCase c = array(1 << 20, op);
      c.input = input;
      expect_caught<ReduceFault::adds_floats>(c);
      if (op != ReduceOp::sum) continue;
      const VerifyResult rung = verify(simple_reduce<ReduceFault::adds_floats>, c, Role::rung);
      EXPECT_TRUE(rung.ok()) << to_string(input) << " " << rung.message;
    }
  }
  for (const DataType type : {DataType::float16, DataType::bfloat16, DataType::float64}) {
    ReduceCase c = array(1 << 20, ReduceOp::sum, type);
    c.input = Input::unit;
    expect_caught<ReduceFault::adds_floats>(c);
  }
}

TEST_F(ReduceCheck, CatchesTextbookVariance) {
  for (const DataType type : {DataType::float32, DataType::float64}) {
    ReduceCase c = array(5000, ReduceOp::variance, type);
    c.sprinkle = Sprinkle::far_mean;
    c.correction = 1;
    expect_caught<ReduceFault::textbook_variance>(c);
  }
}

TEST_F(ReduceCheck, CatchesAForgottenCorrection) {
  ReduceCase c = array(1000, ReduceOp::variance);
  c.correction = 1;
  const VerifyResult result = verify(
      [](const Reduce& problem, const Device& device, Workspace workspace, Stream stream) {
        Reduce p = problem;
        p.correction = 0;
        return simple_reduce<>(p, device, workspace, stream);
      },
      c);
  EXPECT_EQ(result.outcome, Outcome::failed);
}

TEST_F(ReduceCheck, CatchesOffsetsTakenAsTheyAre) {
  ReduceCase c;
  c.shape = ReduceShape::segments;
  c.lengths = SegmentLengths::out_of_range;
  c.segments = 20;
  expect_caught<ReduceFault::reads_beyond_range>(c);
}

TEST_F(ReduceCheck, CatchesAWriteIntoTheOffsets) {
  ReduceCase c;
  c.shape = ReduceShape::segments;
  c.segments = 5;
  const VerifyResult result = verify(
      [](const Reduce& p, const Device& device, Workspace workspace, Stream stream) {
        Status status = simple_reduce<>(p, device, workspace, stream);
        const_cast<std::int64_t*>(p.offsets)[2] += 1;
        return status;
      },
      c);
  EXPECT_EQ(result.message, "offsets were written");
}

TEST_F(ReduceCheck, LeavesAPeerItsOwnRules) {
  ReduceCase c = array(100, ReduceOp::max);
  EXPECT_TRUE(verify(simple_reduce<>, c, Role::peer).ok());
  c.sprinkle = Sprinkle::nan;
  EXPECT_EQ(verify(simple_reduce<>, c, Role::peer).outcome, Outcome::unsupported);
  EXPECT_TRUE(may_refuse(Role::peer, c));
  EXPECT_TRUE(may_refuse(Role::rung, c)) << "a rung adds";
  EXPECT_FALSE(may_refuse(Role::rung, array(5)));
  EXPECT_FALSE(may_refuse(Role::reference, c));
}

TEST_F(ReduceCheck, ReportsFirstAndLastResult) {
  ReduceCase c = array(3, ReduceOp::min_max, DataType::int32);
  c.input = Input::constant;
  const VerifyResult result = verify(simple_reduce<>, c);
  EXPECT_EQ(result.c_first, 7);
  EXPECT_EQ(result.c_last, 7);
  EXPECT_EQ(result.error.bound, 0);
}

TEST_F(ReduceCheck, MisalignmentIsWhatWasAskedFor) {
  ReduceCase c = array(100, ReduceOp::sum, DataType::float16);
  c.misalign = 5;
  const VerifyResult result = verify(
      [](const Reduce& p, const Device& device, Workspace workspace, Stream stream) {
        const auto data = reinterpret_cast<std::uintptr_t>(p.data);
        const auto out = reinterpret_cast<std::uintptr_t>(p.out);
        if (data % 256 != 10 || out % 256 != 4) {
          return Status::failure(StatusCode::internal_error, "alignment");
        }
        return simple_reduce<>(p, device, workspace, stream);
      },
      c);
  EXPECT_TRUE(result.ok()) << result.message;
}

TEST(SegmentOffsets, CoverTheArrayInOrder) {
  for (const SegmentLengths lengths : {SegmentLengths::equal, SegmentLengths::one_to_32,
                                       SegmentLengths::log_uniform, SegmentLengths::uneven}) {
    const std::vector<std::int64_t> offsets = segment_offsets(lengths, 1000, 3, 5000);
    ASSERT_EQ(offsets.size(), 1001u);
    EXPECT_EQ(offsets.front(), 0);
    std::int64_t shortest = INT64_MAX, longest = 0;
    for (std::size_t s = 1; s < offsets.size(); ++s) {
      shortest = std::min(shortest, offsets[s] - offsets[s - 1]);
      longest = std::max(longest, offsets[s] - offsets[s - 1]);
    }
    EXPECT_EQ(shortest, lengths == SegmentLengths::equal    ? 5
                        : lengths == SegmentLengths::uneven ? 0
                                                            : 1);
    switch (lengths) {
      case SegmentLengths::equal: EXPECT_EQ(longest, 5); break;
      case SegmentLengths::one_to_32: EXPECT_EQ(longest, 32); break;
      case SegmentLengths::log_uniform:
        EXPECT_GT(longest, 90000);
        EXPECT_LE(longest, 100000);
        break;
      default: EXPECT_GT(longest, offsets.back() / 2);
    }
    SegmentLengths parsed{};
    EXPECT_TRUE(parse_segment_lengths(to_string(lengths), &parsed));
    EXPECT_EQ(parsed, lengths);
  }
  SegmentLengths parsed{};
  EXPECT_FALSE(parse_segment_lengths("ragged", &parsed));
}

TEST(ReduceCases, MeetEachOther) {
  const std::vector<ReduceCase> cases = reduce_edge_cases();
  std::set<std::tuple<ReduceOp, DataType, ReduceShape>> met;
  std::set<std::pair<DataType, std::int64_t>> lengths;
  std::set<std::pair<ReduceOp, Sprinkle>> special;
  std::set<std::int64_t> misalignments;
  for (const ReduceCase& c : cases) {
    met.insert({c.op, c.type, c.shape});
    special.insert({c.op, c.sprinkle});
    misalignments.insert(c.misalign);
    if (c.shape == ReduceShape::whole) lengths.insert({c.type, c.cols});
  }
  EXPECT_EQ(met.size(), 12u * 7u * 4u);
  EXPECT_EQ(special.size(), 12u * 8u);
  EXPECT_GE(misalignments.size(), 10u);
  for (const std::int64_t length :
       {0,   1,   2,    3,    31,   32,   33,   127,  128,  129,  255,
        256, 257, 1023, 1024, 1025, 4095, 4096, 4097, 8191, 8192, 8193}) {
    EXPECT_TRUE(lengths.contains({DataType::float32, length})) << length;
  }
}

}  // namespace
}  // namespace kw::check
