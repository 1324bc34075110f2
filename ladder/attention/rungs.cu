// The attention ladder's table: one row a rung, in the order of the walk. A new rung is one file,
// its name in rungs.hpp and one row here.
#include "rungs.hpp"

#include "attention/kernels.hpp"

namespace KW_TARGET {
namespace {

constexpr std::int64_t largest_rung_dim = 128, most_rung_heads = 65535;

// The rungs teach attention with nothing added to the scores, over entries of one length.
bool plain_attention(const Attention& p, const Device&) {
  return p.mask == nullptr && p.query_offsets == nullptr && p.key_offsets == nullptr &&
         p.dim <= largest_rung_dim && p.batch * p.heads <= most_rung_heads;
}

}  // namespace

// clang-format off
KernelList<Attention> attention_rungs() {
  using WorkspaceBytes = std::size_t(const Attention&, const Device&);
  const auto rung = [](const char* name, const char* parent, KernelLaunch<Attention>* launch, const char* idea,
                       WorkspaceBytes* workspace_bytes) {
    return Kernel<Attention>{.name = name, .parent = parent, .idea = idea, .role = Role::rung, .math = Math::fp32,
                             .supports = plain_attention, .workspace_bytes = workspace_bytes, .launch = launch};
  };
  KernelList<Attention> rungs = {
      rung("r01_unfused", nullptr, r01_unfused, "scores to memory, softmax of each row, product with V", bytes_of_scores),
      rung("r02_online", "r01_unfused", r02_online, "a warp a query, online softmax: scores never in memory", no_workspace<Attention>),
      rung("r03_shared_tiles", "r02_online", r03_shared_tiles, "32 queries a block, tiles of 32 keys in shared memory", no_workspace<Attention>),
  };
  if constexpr (gpu::has_nvidia_kernels) {  // more than 64 KiB of shared memory
    rungs.push_back(rung("r04_register_tiles", "r03_shared_tiles", r04_register_tiles, "64 x 64 scores as 4 x 4 a thread, O as 4 x 8", no_workspace<Attention>));
    rungs.push_back(rung("r05_async_copies", "r04_register_tiles", r05_async_copies, "the next tile of K comes under PV, V under QK", no_workspace<Attention>));
  }
  return rungs;
}
// clang-format on

}  // namespace KW_TARGET
