// Verification of attention, as verify.hpp has it of products.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attention/problem.hpp"
#include "check/attention_elements.hpp"
#include "check/verify.hpp"

namespace kw::check {

enum class AttentionLayout {
  dense,   // head by head
  tokens,  // token by token, Q, K and V wider apart than their heads
  odd,     // rows off every 16-byte boundary
};

const char* to_string(AttentionData data);
const char* to_string(AttentionMask mask);
const char* to_string(AttentionLayout layout);

struct AttentionCase {
  std::int64_t batch = 1, heads = 1, kv_heads = 1, queries = 0, keys = 0, dim = 0;
  Causal causal = Causal::none;
  AttentionLayout layout = AttentionLayout::dense;
  AttentionMask mask = AttentionMask::none;
  AttentionData data = AttentionData::uniform;
  bool offsets = false;  // entries of different lengths, packed
  float scale = 0;       // 0: 1 / sqrt(dim)
  std::uint64_t seed = 1;
};

// "[2, 4/2, 33x65, 64] causal from end, ..."
std::string describe(const AttentionCase& c);

// The operands of one case on one device and their float64 result, made once for all kernels.
// Tensors of zeros and more lie between canaries; what no call may write stays a canary.
class AttentionTrial {
 public:
  AttentionTrial(Workbench& bench, const AttentionCase& c);

  const Attention& problem() const { return problem_; }
  VerifyResult verify(const Kernel<Attention>& kernel);
  static double bytes(const AttentionCase& c, const Device& device);

 private:
  struct Tensor;
  // The result that is in O now; `of_pieces`: of a kernel that multiplied fp16 pieces.
  VerifyResult judge(bool of_pieces);
  void make_offsets();
  void fill(const Tensor& tensor, HeadsOperand operand, bool canary);
  double largest(const Tensor& tensor);
  void make_oracle_result(double largest_score, double largest_value);
  std::string find_stray_write();

  Workbench& bench_;
  AttentionCase case_;
  Attention problem_;
  GuardedMatrix q_, k_, v_, o_, mask_;
  DeviceBuffer query_offsets_, key_offsets_;
  DeviceBuffer want_, unit_, tolerance_, of_pieces_;
};

VerifyResult verify_attention(Runtime& runtime, const Kernel<Attention>& kernel,
                              const AttentionCase& c);

// Small shapes at the edges of tiles, with everything else mixed.
std::vector<AttentionCase> attention_edge_cases(std::uint64_t seed = 1);

inline bool may_refuse(Role role, const AttentionCase&) { return role == Role::production; }

}  // namespace kw::check
