// The model of wgmma's asynchrony: a warp computes its part of a product from shared memory between
// the issue of its last lane and the meeting of its lanes at wgmma_wait, in the order of issue. In
// forward and reverse order that is at the wait; in random order also at the issue, or whenever one
// of its threads lets others run.
//
// An accumulator under way is NaN for its threads, and kept here until the wait gives it back.
#include "host_simt/wgmma.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "host_simt/block.hpp"
#include "host_simt/wgmma_arithmetic.hpp"

namespace kw::host_simt {
namespace {

constexpr int lanes_per_warp = 32;
constexpr unsigned stride_limit = 1u << 18;      // 14 bits, in units of 16 bytes
constexpr std::uint32_t under_way = 0x7FC06B77;  // a NaN

std::size_t warp_in_group(const Thread& thread) {
  return static_cast<std::size_t>(thread.index / lanes_per_warp % warpgroup_warps);
}
std::uint32_t lane_bit(const Thread& thread) { return 1u << thread.index % lanes_per_warp; }

bool same_operand(const WgmmaOperand& a, const WgmmaOperand& b) {
  return a.start == b.start && a.k_stride == b.k_stride && a.row_stride == b.row_stride;
}

// Visits each register of a thread's fragment with its place in a warp's 16 x n values.
template <class Visit>
void for_each_register(const Thread& thread, int n, Visit visit) {
  const int lane = thread.index % lanes_per_warp;
  for (int i = 0; i < n / 2; ++i) {
    const int row = lane / 4 + i / 2 % 2 * 8;
    const int column = i / 4 * 8 + lane % 4 * 2 + i % 2;
    visit(i, row * n + column);
  }
}

}  // namespace

void wgmma(bool bf16, int n, float* acc, const WgmmaOperand& a, const WgmmaOperand& b, bool add,
           Site site) {
  Thread& thread = this_thread();
  thread.runner.issue_product(
      thread, {bf16, n, a, b, add, site, thread.wgmma.groups, __builtin_return_address(0), {}},
      acc);
}

void wgmma_fence() { ++this_thread().wgmma.fences; }

void wgmma_commit() { ++this_thread().wgmma.groups; }

void wgmma_wait(int pending_groups, Site site) {
  Thread& thread = this_thread();
  thread.runner.wait_for_products(thread, static_cast<std::uint64_t>(std::max(pending_groups, 0)),
                                  site);
}

void BlockRunner::check_operand(const Thread& thread, const WgmmaProduct& product,
                                const WgmmaOperand& operand, const char* name, int rows) {
  const auto refuse = [&](const std::string& text) {
    fault(thread, &product.site, fmt::format("wgmma whose {} {}", name, text));
  };
  if (const auto off = reinterpret_cast<std::uintptr_t>(operand.start) % 16) {
    refuse(fmt::format("starts {} bytes past a multiple of 16: align the shared array", off));
  }
  for (const unsigned stride : {operand.k_stride, operand.row_stride}) {
    if (stride % 16 == 0 && stride < stride_limit) continue;
    refuse(fmt::format("has a stride of {} bytes: make it a multiple of 16 below {}", stride,
                       stride_limit));
  }
  const std::size_t bytes = std::size_t{operand.k_stride} + 128 +
                            static_cast<std::size_t>(rows / 8 - 1) * operand.row_stride;
  if (!shared_.may_hold(operand.start, bytes, *grid_->arrays)) {
    refuse(
        fmt::format("takes {} bytes from {} on, which are not all in one array of the block's "
                    "shared memory: correct its start or its strides ({} along k, {} along rows)",
                    bytes, shared_.describe(operand.start, *grid_->arrays), operand.k_stride,
                    operand.row_stride));
  }
}

// The entry of the product that the thread issues, new where it is the first of its warpgroup to.
WgmmaProduct& BlockRunner::enter_product(const Thread& thread, const WgmmaProduct& product) {
  const auto group = static_cast<std::size_t>(thread.index / warpgroup_threads);
  if ((group + 1) * warpgroup_threads > static_cast<std::size_t>(size_)) {
    fault(thread, &product.site,
          fmt::format("wgmma in a block of {} threads: it takes whole warpgroups of {}", size_,
                      warpgroup_threads));
  }
  if (warpgroups_.size() <= group) warpgroups_.resize(group + 1);
  Warpgroup& warpgroup = warpgroups_[group];
  const std::uint64_t place = thread.wgmma.issued - warpgroup.first;
  if (place == warpgroup.products.size()) {
    check_operand(thread, product, product.a, "A", 64);
    check_operand(thread, product, product.b, "B", product.n);
    warpgroup.products.push_back(product);
  }
  WgmmaProduct& entry = warpgroup.products[place];
  const auto require_same = [&](const char* what, bool same) {
    if (same) return;
    fault(thread, &product.site,
          fmt::format("wgmma with another {} than other threads of its warpgroup ({}): let all {} "
                      "threads issue the same products in the same groups",
                      what, to_text(entry.site), warpgroup_threads));
  };
  require_same("type", entry.bf16 == product.bf16);
  require_same("shape", entry.n == product.n);
  require_same("A", same_operand(entry.a, product.a));
  require_same("B", same_operand(entry.b, product.b));
  require_same("choice between adding and beginning anew", entry.add == product.add);
  require_same("number of wgmma_commit before it", entry.group == product.group);
  return entry;
}

// Takes the thread's registers, or finds that products under way have them.
void BlockRunner::take_accumulator(Thread& thread, WgmmaProduct& product, float* acc) {
  const auto refuse = [&](const std::string& text) {
    fault(thread, &product.site, "wgmma whose accumulator " + text);
  };
  WgmmaThread& own = thread.wgmma;
  auto& shared = product.warps[warp_in_group(thread)].accumulator;
  const auto held = std::find_if(own.held.begin(), own.held.end(),
                                 [&](const auto& other) { return other.registers == acc; });
  if (held != own.held.end()) {
    if (!shared) shared = held->accumulator;
    if (shared != held->accumulator) refuse("is not the one that other lanes of the warp name");
    if (shared->n != product.n) {
      refuse(fmt::format("is under way in a product with N = {}: wait for that first", shared->n));
    }
    held->products = own.issued + 1;
    return;
  }
  const auto returned = std::find_if(own.returned.begin(), own.returned.end(),
                                     [&](const auto& other) { return other.registers == acc; });
  const unsigned fences_before = returned == own.returned.end() ? 0 : returned->fences;
  if (own.fences == fences_before) {
    refuse("the thread could touch since the last wgmma_fence: call wgmma_fence before");
  }
  if (!shared) {
    shared = std::make_shared<WgmmaAccumulator>();
    shared->n = product.n;
    shared->values.resize(std::size_t{wgmma_warp_rows} * static_cast<unsigned>(product.n));
  }
  if ((shared->lanes & lane_bit(thread)) != 0) {
    refuse("is not the one that other lanes of the warp name");
  }
  shared->lanes |= lane_bit(thread);
  for_each_register(thread, product.n, [&](int i, int place) {
    shared->values[static_cast<std::size_t>(place)] = acc[i];
    acc[i] = std::bit_cast<float>(under_way);
  });
  own.held.push_back({acc, own.issued + 1, shared});
}

void BlockRunner::issue_product(Thread& thread, const WgmmaProduct& product, float* acc) {
  WgmmaProduct& entry = enter_product(thread, product);
  take_accumulator(thread, entry, acc);
  entry.warps[warp_in_group(thread)].lanes |= lane_bit(thread);
  ++thread.wgmma.issued;
  compute_some(thread);
}

// Computes the thread's warp's part of products until `end` of them are done or not all lanes have
// issued the next.
void BlockRunner::compute_products(const Thread& thread, std::uint64_t end) {
  Warpgroup& warpgroup = warpgroups_[static_cast<std::size_t>(thread.index / warpgroup_threads)];
  const std::size_t warp = warp_in_group(thread);
  for (auto& computed = warpgroup.computed[warp]; computed < end; ++computed) {
    const WgmmaProduct& product = warpgroup.products[computed - warpgroup.first];
    if (~product.warps[warp].lanes != 0) return;
    add_wgmma_rows(product.bf16, product.n, product.a, static_cast<int>(warp) * wgmma_warp_rows,
                   product.b, product.add, product.warps[warp].accumulator->values.data());
    if (observer_) {
      observer_->product_computed(thread.index, product.a, static_cast<int>(warp) * wgmma_warp_rows,
                                  product.b, product.n, product.call);
    }
  }
}

// In random order perhaps computes the older ones of the thread's products: about once while each
// lane of its warp lets others run.
void BlockRunner::compute_some(const Thread& thread) {
  const WgmmaThread& own = thread.wgmma;
  if (!is_random() || fault_ || own.waited_for == own.issued) return;
  if (random_below(lanes_per_warp) != 0) return;
  const auto pending = static_cast<std::uint32_t>(own.issued - own.waited_for);
  compute_products(thread, own.waited_for + 1 + random_below(pending));
}

void BlockRunner::wait_for_products(Thread& thread, std::uint64_t pending_groups, Site site) {
  // Whole warps meet here, as on the GPU; of 64 lanes, the two of them.
  exchange(thread, ~std::uint64_t{0}, {.function = "wgmma_wait", .site = site, .vote = true});
  WgmmaThread& own = thread.wgmma;
  if (own.waited_for == own.issued || own.groups <= pending_groups) return;
  Warpgroup& warpgroup = warpgroups_[static_cast<std::size_t>(thread.index / warpgroup_threads)];
  const std::size_t warp = warp_in_group(thread);
  std::uint64_t end = own.waited_for;
  for (; end < own.issued; ++end) {
    const WgmmaProduct& product = warpgroup.products[end - warpgroup.first];
    if (product.group >= own.groups - pending_groups) break;
    const std::uint32_t lanes = product.warps[warp].lanes;
    if (~lanes == 0) continue;
    fault(thread, &site,
          fmt::format("wgmma_wait for a product ({}) that lane {} of its warp has not issued: let "
                      "all lanes issue the same products",
                      to_text(product.site), std::countr_one(lanes)));
  }
  compute_products(thread, end);
  give_back_accumulators(thread, end, site);
  for (; own.waited_for < end; ++own.waited_for) {
    ++warpgroup.products[own.waited_for - warpgroup.first].waited_for;
  }
  while (!warpgroup.products.empty() &&
         warpgroup.products.front().waited_for == warpgroup_threads) {
    warpgroup.products.pop_front();
    ++warpgroup.first;
  }
}

// Those that only products before `end` add to.
void BlockRunner::give_back_accumulators(Thread& thread, std::uint64_t end, const Site& site) {
  WgmmaThread& own = thread.wgmma;
  std::erase_if(own.held, [&](const WgmmaThread::Held& held) {
    if (held.products > end) return false;
    for_each_register(thread, held.accumulator->n, [&](int i, int place) {
      if (std::bit_cast<std::uint32_t>(held.registers[i]) != under_way) {
        fault(thread, &site,
              fmt::format("wgmma_wait finds that the thread has written accumulator element {} "
                          "while a product was under way: wait before",
                          i));
      }
      held.registers[i] = held.accumulator->values[static_cast<std::size_t>(place)];
    });
    std::erase_if(own.returned,
                  [&](const auto& other) { return other.registers == held.registers; });
    own.returned.push_back({held.registers, own.fences});
    return true;
  });
}

// What a thread may not leave the kernel with.
void BlockRunner::check_products_left(const Thread& thread) {
  const WgmmaThread& own = thread.wgmma;
  if (own.waited_for == own.issued) return;
  const Warpgroup& warpgroup =
      warpgroups_[static_cast<std::size_t>(thread.index / warpgroup_threads)];
  const WgmmaProduct& oldest = warpgroup.products[own.waited_for - warpgroup.first];
  record_fault(thread, &oldest.site,
               fmt::format("it left the kernel with {} products of wgmma that it has not waited "
                           "for: call wgmma_commit and wgmma_wait<0> before",
                           own.issued - own.waited_for));
}

// What a block may not leave: products that some of a warpgroup's threads never issued.
void BlockRunner::check_products_at_end() {
  for (std::size_t i = 0; i < warpgroups_.size(); ++i) {
    if (warpgroups_[i].products.empty()) continue;
    const WgmmaProduct& product = warpgroups_[i].products.front();
    record_fault(thread_at(static_cast<int>(i) * warpgroup_threads), &product.site,
                 fmt::format("the block ends, but only {} of the {} threads of warpgroup {} have "
                             "issued a wgmma: let all of them come to it",
                             product.waited_for, warpgroup_threads, i));
  }
}

}  // namespace kw::host_simt
