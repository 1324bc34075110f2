// The check of attention rejects what it must.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "check/verify_attention.hpp"
#include "kernels.hpp"

namespace kw::check {
namespace {

// What a kernel does wrong.
enum class Fault {
  none,
  drops_a_key,
  sees_one_more,
  half_precision,
  no_maximum,
  stray_write,
  nans,
  lost_in_pieces,  // V's elements lie on a grid of twice the step that pieces have
  lost_more        // of eight times that
};

// So far apart lie the values that V's elements come to; 0: they stay.
double step_of_values(Fault fault, const Attention& p, const AttentionHead& head) {
  if (fault != Fault::lost_in_pieces && fault != Fault::lost_more) return 0;
  double largest = 0;
  for (std::int64_t s = 0; s < head.keys; ++s)
    for (std::int64_t d = 0; d < p.dim; ++d)
      largest = std::fmax(largest, std::fabs(static_cast<double>(head.v[s * p.v_strides.row + d])));
  return 2 * lost_in_pieces * largest * (fault == Fault::lost_more ? 8 : 1);
}

template <Fault fault>
Status faulty_attention(const Attention& p, const Device&, Workspace, Stream) {
  for (std::int64_t i = 0; i < p.batch * p.heads; ++i) {
    const AttentionHead head = head_of(p, i / p.heads, i % p.heads);
    const double step = step_of_values(fault, p, head);
    for (std::int64_t t = 0; t < head.queries; ++t) {
      std::int64_t keys = visible_keys(p.causal, t, head.queries, head.keys);
      if (fault == Fault::sees_one_more && keys < head.keys) ++keys;
      std::vector<double> x(static_cast<std::size_t>(keys));
      double most = -HUGE_VAL, sum = 0;
      for (std::int64_t s = 0; s < keys; ++s) {
        double dot = 0;
        for (std::int64_t d = 0; d < p.dim; ++d) {
          float q = head.q[t * p.q_strides.row + d];
          if (fault == Fault::half_precision) q = std::round(q * 1024) / 1024;
          dot += static_cast<double>(q) * static_cast<double>(head.k[s * p.k_strides.row + d]);
        }
        x[static_cast<std::size_t>(s)] = dot * static_cast<double>(p.scale);
        most = std::fmax(most, x[static_cast<std::size_t>(s)]);
      }
      if (fault == Fault::no_maximum) most = 0;
      for (double& weight : x) {
        weight = fault == Fault::no_maximum
                     ? static_cast<double>(std::exp(static_cast<float>(weight)))
                     : std::exp(weight - most);
        sum += weight;
      }
      if (fault == Fault::drops_a_key && keys > 5) x[5] = 0;
      for (std::int64_t d = 0; d < p.dim; ++d) {
        double o = 0;
        for (std::int64_t s = 0; s < keys; ++s) {
          const double v = static_cast<double>(head.v[s * p.v_strides.row + d]);
          o += x[static_cast<std::size_t>(s)] * (step == 0 ? v : std::round(v / step) * step);
        }
        head.o[t * p.o_strides.row + d] =
            fault == Fault::nans ? NAN : static_cast<float>(sum == 0 ? 0 : o / sum);
      }
      if (fault == Fault::stray_write) head.o[t * p.o_strides.row + p.dim] = 0;
    }
  }
  return Status::success();
}

template <Fault fault>
VerifyResult verify_fault(const AttentionCase& c, bool in_pieces = false) {
  const std::unique_ptr<Runtime> runtime = open_device("cpu");
  Kernel<Attention> kernel = {"subject",
                              nullptr,
                              "",
                              Role::production,
                              Math::fp32,
                              [](const Attention&, const Device&) { return true; },
                              no_workspace<Attention>,
                              faulty_attention<fault>};
  if (in_pieces)
    kernel.path_taken = [](const Attention&, const Device&, const Plan<Attention>&,
                           const PathWords&) { return "fp16x3"; };
  return verify_attention(*runtime, kernel, c);
}

AttentionCase causal_case() {
  AttentionCase c{1, 2, 1, 20, 40, 64, Causal::from_end, AttentionLayout::odd};
  c.seed = 3;
  return c;
}

TEST(AttentionCheck, TakesWhatIsRight) {
  const VerifyResult result = verify_fault<Fault::none>(causal_case());
  EXPECT_TRUE(result.ok()) << result.message;
  EXPECT_LT(result.error.max, 2);
}
TEST(AttentionCheck, Rejects) {
  EXPECT_EQ(verify_fault<Fault::drops_a_key>(causal_case()).outcome, Outcome::failed);
  EXPECT_EQ(verify_fault<Fault::sees_one_more>(causal_case()).outcome, Outcome::failed);
  EXPECT_EQ(verify_fault<Fault::half_precision>(causal_case()).outcome, Outcome::failed);
  EXPECT_EQ(verify_fault<Fault::stray_write>(causal_case()).outcome, Outcome::failed);
  EXPECT_EQ(verify_fault<Fault::nans>(causal_case()).outcome, Outcome::failed);
  AttentionCase large = causal_case();
  large.data = AttentionData::large;
  EXPECT_EQ(verify_fault<Fault::no_maximum>(large).outcome, Outcome::failed);
}
TEST(AttentionCheck, PiecesMayLoseWhatTheyCannotHold) {
  // Weights of a few keys, whose values lie far below the largest of some columns.
  AttentionCase tails = {1, 2, 2, 17, 100, 200, Causal::from_end};
  tails.data = AttentionData::tails;
  tails.seed = 40093914;
  tails.scale = -0.3f;
  constexpr bool in_pieces = true;
  const VerifyResult held = verify_fault<Fault::lost_in_pieces>(tails, in_pieces);
  EXPECT_TRUE(held.ok()) << held.message;
  EXPECT_EQ(verify_fault<Fault::lost_in_pieces>(tails).outcome, Outcome::failed);
  EXPECT_EQ(verify_fault<Fault::lost_more>(tails, in_pieces).outcome, Outcome::failed);
}

}  // namespace
}  // namespace kw::check
