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
  nans
};

template <Fault fault>
Status faulty_attention(const Attention& p, const Device&, Workspace, Stream) {
  for (std::int64_t i = 0; i < p.batch * p.heads; ++i) {
    const AttentionHead head = head_of(p, i / p.heads, i % p.heads);
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
        for (std::int64_t s = 0; s < keys; ++s)
          o +=
              x[static_cast<std::size_t>(s)] * static_cast<double>(head.v[s * p.v_strides.row + d]);
        head.o[t * p.o_strides.row + d] =
            fault == Fault::nans ? NAN : static_cast<float>(sum == 0 ? 0 : o / sum);
      }
      if (fault == Fault::stray_write) head.o[t * p.o_strides.row + p.dim] = 0;
    }
  }
  return Status::success();
}

template <Fault fault>
VerifyResult verify_fault(const AttentionCase& c) {
  const std::unique_ptr<Runtime> runtime = open_device("cpu");
  return verify_attention(*runtime,
                          {"subject", nullptr, "", Role::production, Math::fp32,
                           [](const Attention&, const Device&) { return true; },
                           no_workspace<Attention>, faulty_attention<fault>},
                          c);
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

}  // namespace
}  // namespace kw::check
