// See block_recorder.hpp.
#include "trace/block_recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "host_simt/execution.hpp"
#include "host_simt/host_simt.hpp"
#include "host_simt/symbols.hpp"

namespace kw::trace {
namespace {

std::uintptr_t to_number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

// Of what is kept of block 0 for pictures.
constexpr std::size_t most_shared_requests = 256, most_steps = 1024, most_stores = 256,
                      most_products = 24;

// Of one wgmma a warp reads its own 16 rows of A and all of B: blocks of 8 rows x 8 elements of two
// bytes, each 128 contiguous bytes.
constexpr int core_rows = 8, core_bytes = 128, cores_along_k = 2;

}  // namespace

Footprint::Footprint(const std::vector<host_simt::DeviceRange>& allocations)
    : allocations_(allocations) {
  for (const host_simt::DeviceRange& range : allocations)
    touched_.emplace_back(range.bytes / sector_bytes + 2);  // it may begin and end within one
}

std::uint64_t Footprint::bytes(bool written) const {
  std::uint64_t sectors = 0;
  for (const auto& allocation : touched_)
    for (const auto& touched : allocation) sectors += (touched & (written ? 2 : 1)) != 0 ? 1 : 0;
  return sectors * sector_bytes;
}

void BlockRecorder::begin(const host_simt::BlockFacts& block, Footprint& footprint) {
  footprint_ = &footprint;
  block_ = block.number;
  shared_ = block.shared;
  last_shared_ = last_allocation_ = 0;
  first_word_.clear();
  is_used_.assign(shared_.size(), false);
  std::size_t words = 0;
  for (const host_simt::SharedRange& range : shared_) {
    first_word_.push_back(words);
    words += (range.bytes + word_bytes - 1) / word_bytes + 1;  // it may begin within a word
  }
  warps_.resize(static_cast<std::size_t>((block.threads + warp_lanes - 1) / warp_lanes));
  for (std::size_t i = 0; i < warps_.size(); ++i) {
    const int lanes = std::min(warp_lanes, block.threads - static_cast<int>(i) * warp_lanes);
    warps_[i].alive = ~std::uint32_t{0} >> (warp_lanes - lanes);
  }
  for (SiteRecord& site : sites_) site.counts = {};
  examples_.clear();
  own_ = {};
  own_.warps = warps_.size();
  storing_warp_ = multiplying_thread_ = -1;
  named_arrivals_ = 0;
  races_.begin_block(block.threads, words);
}

void BlockRecorder::end(LaunchCounts& launch) {
  for (Warp& warp : warps_) flush(warp);
  for (const SiteRecord& site : sites_)
    if (site.counts.requests > 0) launch.sites[site.site] += site.counts;
  launch.examples.insert(examples_.begin(), examples_.end());
  if (block_ == 0) {
    launch.stores = own_.stores;
    launch.shared_requests = own_.shared_requests;
    launch.steps = own_.steps;
    launch.products_computed = own_.products_computed;
  }
  for (const auto& [pair, found] : races_.found()) {
    RaceExample& example =
        launch.races[{sites_[pair.first].site.call, sites_[pair.second].site.call,
                      pair.first_writes, pair.second_writes}];
    if (example.words == 0) {
      example = {0, block_, found.first_thread, found.second_thread, place_of(found.word)};
    }
    example.words += found.words;
  }
  std::uint64_t shared_bytes = 0;
  for (std::size_t i = 0; i < shared_.size(); ++i)
    shared_bytes += is_used_[i] ? shared_[i].bytes : 0;
  launch.shared_bytes = std::max(launch.shared_bytes, shared_bytes);
  ++launch.traced_blocks;
  launch.block_barriers += own_.block_barriers;
  launch.warps += own_.warps;
  launch.warp_barriers += own_.block_barriers * own_.warps + named_arrivals_ / warp_lanes;
  launch.warp_meetings += own_.warp_meetings;
  launch.handovers += own_.handovers;
  launch.bulk_copies += own_.bulk_copies;
  launch.bulk_bytes += own_.bulk_bytes;
  launch.products += own_.products;
  launch.product_bytes += own_.product_bytes;
}

std::string BlockRecorder::array_name(std::size_t range) const {
  const host_simt::SharedSymbol* array = shared_[range].array;
  return array != nullptr ? host_simt::short_name(array->symbol)
                          : std::string("dynamic shared memory");
}

std::string BlockRecorder::place_of(std::size_t word) const {
  const auto after = std::upper_bound(first_word_.begin(), first_word_.end(), word);
  const auto range = static_cast<std::size_t>(after - first_word_.begin() - 1);
  return fmt::format("{} + {} bytes", array_name(range), (word - first_word_[range]) * word_bytes);
}

// Of block 0: the first access of each instruction in which all lanes of a warp take part, and all
// stores to global memory of the first warp that does any.
void BlockRecorder::keep_example(const SiteRecord& record, const WarpAccess& access) {
  if (block_ != 0 || access.lanes != ~std::uint32_t{0}) return;
  if (record.site.kind == Kind::global_store && storing_warp_ < 0) storing_warp_ = warp_;
  const bool is_store = record.site.kind == Kind::global_store && warp_ == storing_warp_ &&
                        own_.stores.size() < most_stores;
  if (!is_store && examples_.count(record.site) > 0) return;
  ExampleAccess example;
  example.bytes = record.bytes;
  example.address = access.address[0];
  std::uintptr_t begin = 0;
  if (is_shared(record.site.kind)) {
    if (shared_offset(access.address[0]) < 0) return;
    begin = to_number(shared_[last_shared_].begin);
    example.memory = array_name(last_shared_);
  } else {
    if (!find_allocation(access.address[0])) return;
    begin = to_number(footprint_->allocations()[last_allocation_].begin);
  }
  for (std::size_t lane = 0; lane < example.offset.size(); ++lane)
    example.offset[lane] = static_cast<std::int64_t>(access.address[lane] - begin);
  examples_.emplace(record.site, example);
  if (is_store) own_.stores.push_back(example);
}

std::ptrdiff_t BlockRecorder::shared_offset(std::uintptr_t address) {
  for (std::size_t i = 0; i < shared_.size(); ++i) {
    const std::size_t at = i == 0 ? last_shared_ : i == last_shared_ ? 0 : i;
    const std::uintptr_t begin = to_number(shared_[at].begin);
    if (address - begin >= shared_[at].bytes) continue;
    last_shared_ = at;
    is_used_[at] = true;
    return static_cast<std::ptrdiff_t>(first_word_[at] + address / word_bytes - begin / word_bytes);
  }
  return -1;
}

// Makes it the last one.
bool BlockRecorder::find_allocation(std::uintptr_t address) {
  const auto& all = footprint_->allocations();
  if (all.empty()) return false;
  const auto holds = [&](std::size_t i) {
    return address - to_number(all[i].begin) < all[i].bytes;
  };
  if (holds(last_allocation_)) return true;
  const auto after = std::upper_bound(all.begin(), all.end(), address,
                                      [](std::uintptr_t a, const host_simt::DeviceRange& range) {
                                        return a < to_number(range.begin);
                                      });
  if (after == all.begin() || !holds(static_cast<std::size_t>(after - all.begin() - 1)))
    return false;
  last_allocation_ = static_cast<std::size_t>(after - all.begin() - 1);
  return true;
}

std::uint32_t BlockRecorder::site_index(std::uintptr_t call, Kind kind, int bytes) {
  const std::size_t hash = (call >> 2) * kinds + static_cast<std::size_t>(kind);
  KnownSite& known = known_[hash % known_.size()];
  if (known.call == call && known.kind == kind) return known.index;
  const auto index = static_cast<std::uint32_t>(sites_.size());
  const auto [found, is_new] = all_sites_.try_emplace({call, kind}, index);
  if (is_new) sites_.push_back({{call, kind}, bytes, {}});
  known = {call, kind, found->second};
  return found->second;
}

std::uint32_t BlockRecorder::add(int thread, std::uintptr_t address, int bytes, Kind kind,
                                 const void* call) {
  const std::uint32_t site = site_index(to_number(call), kind, bytes);
  Warp& warp = warp_of(thread);
  if (warp.streams.size() <= site) {
    warp.streams.resize(sites_.size());
    warp.is_busy.resize(sites_.size());
  }
  if (!warp.is_busy[site]) {
    warp.is_busy[site] = true;
    warp.busy.push_back(site);
  }
  warp_ = thread / warp_lanes;
  warp.streams[site].add(thread % warp_lanes, address, warp.alive,
                         [&](const WarpAccess& access) { account(site, access); });
  return site;
}

void BlockRecorder::account(std::uint32_t index, const WarpAccess& access) {
  SiteRecord& record = sites_[index];
  keep_example(record, access);
  AccessCounts& counts = record.counts;
  const auto lanes = static_cast<std::uint64_t>(std::popcount(access.lanes));
  ++counts.requests;
  counts.lanes += lanes;
  counts.lane_bytes += lanes * static_cast<std::uint64_t>(record.bytes);
  if (is_shared(record.site.kind)) {
    const WavefrontCount count = count_wavefronts(access, record.bytes);
    counts.units += static_cast<std::uint64_t>(count.wavefronts);
    counts.least_units += static_cast<std::uint64_t>(count.least);
    if (block_ == 0 && own_.shared_requests.size() < most_shared_requests)
      own_.shared_requests.push_back(
          {own_.block_barriers, warp_, access.lanes, record.site.kind, count.wavefronts});
    return;
  }
  const bool writes =
      record.site.kind == Kind::global_store || record.site.kind == Kind::global_atomic;
  const SectorCount count = count_sectors(access, record.bytes, [&](std::uintptr_t sector) {
    if (find_allocation(sector) || find_allocation(sector + sector_bytes - 1))
      footprint_->mark(last_allocation_, sector, writes);
  });
  counts.units += static_cast<std::uint64_t>(count.sectors);
  counts.least_units += static_cast<std::uint64_t>(count.least);
}

void BlockRecorder::flush(Warp& warp) {
  warp_ = static_cast<int>(&warp - warps_.data());
  for (const std::uint32_t site : warp.busy) {
    warp.streams[site].flush([&](const WarpAccess& access) { account(site, access); });
    warp.is_busy[site] = false;
  }
  warp.busy.clear();
}

template <class Visit>
void BlockRecorder::for_each_word(const void* address, std::size_t bytes, Visit visit) {
  const std::uintptr_t begin = to_number(address);
  const std::ptrdiff_t first = shared_offset(begin);
  if (first < 0) return;
  const std::uintptr_t words = (begin + bytes - 1) / word_bytes - begin / word_bytes + 1;
  for (std::uintptr_t i = 0; i < words; ++i) visit(static_cast<std::size_t>(first) + i);
}

void BlockRecorder::access(int thread, const void* address, int bytes, bool is_write,
                           bool is_atomic, const void* call) {
  const std::uintptr_t begin = to_number(address);
  const std::ptrdiff_t first = shared_offset(begin);
  if (first < 0) {
    if (!find_allocation(begin)) return;
    note(thread, is_write ? 'S' : 'L');
    add(thread, begin, bytes,
        !is_write   ? Kind::global_load
        : is_atomic ? Kind::global_atomic
                    : Kind::global_store,
        call);
    return;
  }
  // What host SIMT reads first for an atomicMax, say, is no load of the kernel's.
  if (is_atomic && !is_write) return;
  note(thread, is_write ? 'w' : 'r', address, static_cast<std::size_t>(bytes));
  const std::uint32_t site = add(thread, begin, bytes,
                                 !is_write   ? Kind::shared_load
                                 : is_atomic ? Kind::shared_atomic
                                             : Kind::shared_store,
                                 call);
  const auto word = static_cast<std::size_t>(first);
  const auto end = word + static_cast<std::size_t>((bytes + word_bytes - 1) / word_bytes);
  for (std::size_t i = word; i < end; ++i) {
    if (is_write)
      races_.write(thread, i, site, is_atomic);
    else
      races_.read(thread, i, site, is_atomic);
  }
}

void BlockRecorder::note(int thread, char what, const void* at, std::size_t bytes) {
  if (block_ != 0 || thread % warp_lanes != 0) return;
  std::vector<ThreadStep>& steps = own_.steps[thread];
  std::string memory;
  std::uint64_t first = 0;
  if (at != nullptr && shared_offset(to_number(at)) >= 0) {
    memory = array_name(last_shared_);
    first = to_number(at) - to_number(shared_[last_shared_].begin);
  }
  const std::uint64_t last = first + (bytes > 0 ? bytes - 1 : 0);
  for (auto step = steps.rbegin(); step != steps.rend() && step->what == what; ++step) {
    if (step->memory != memory) continue;
    ++step->count;
    step->first = std::min(step->first, first);
    step->last = std::max(step->last, last);
    return;
  }
  if (steps.size() < most_steps) steps.push_back({what, 1, memory, first, last});
}

void BlockRecorder::block_met() {
  for (std::size_t i = 0; i < warps_.size(); ++i) {
    if (warps_[i].alive != 0) note(static_cast<int>(i) * warp_lanes, '|');
    flush(warps_[i]);
  }
  ++own_.block_barriers;
  races_.block_met();
}

void BlockRecorder::lanes_met(int first_thread, std::uint64_t mask, bool whole) {
  ++own_.warp_meetings;
  if (whole) flush(warp_of(first_thread));
  races_.lanes_met(first_thread, mask);
}

void BlockRecorder::release(int thread, const void* object) {
  ++own_.handovers;
  if (shared_offset(to_number(object)) < 0) ++named_arrivals_;  // no mbarrier
  note(thread, 'a');
  races_.release(thread, object);
}

void BlockRecorder::acquire(int thread, const void* object) {
  note(thread, 'q');
  races_.acquire(thread, object);
}

void BlockRecorder::left_kernel(int thread) {
  Warp& warp = warp_of(thread);
  warp.alive &= ~(1u << thread % warp_lanes);
  if (warp.alive == 0) flush(warp);
}

void BlockRecorder::async_copy_issued(int thread, const void* to, const void* from, int bytes,
                                      int source_bytes, const void* call) {
  note(thread, 'c', to, static_cast<std::size_t>(bytes));
  add(thread, source_bytes > 0 ? to_number(from) : 0, bytes, Kind::async_copy_from, call);
  add(thread, to_number(to), bytes, Kind::async_copy_to, call);
  async_copy_landed(thread, to, bytes, call);  // from now on it may
}

void BlockRecorder::async_copy_landed(int thread, const void* to, int bytes, const void* call) {
  const std::uint32_t site = site_index(to_number(call), Kind::async_copy_to, bytes);
  for_each_word(to, static_cast<std::size_t>(bytes),
                [&](std::size_t word) { races_.write(thread, word, site); });
}

void BlockRecorder::bulk_copy_issued(int thread, const void* to, const void* from, unsigned bytes,
                                     const void* call) {
  note(thread, 'B', to, bytes);
  ++own_.bulk_copies;
  own_.bulk_bytes += bytes;
  const std::uintptr_t begin = to_number(from);
  for (std::uintptr_t at = begin; at < begin + bytes; at += sector_bytes)
    if (find_allocation(at))
      footprint_->mark(last_allocation_, at / sector_bytes * sector_bytes, false);
  bulk_copy_landed(thread, to, bytes, call);  // from now on it may
}

void BlockRecorder::bulk_copy_landed(int thread, const void* to, unsigned bytes, const void* call) {
  const std::uint32_t site = site_index(to_number(call), Kind::shared_store, word_bytes);
  for_each_word(to, bytes, [&](std::size_t word) { races_.write(thread, word, site); });
}

void BlockRecorder::keep_product(int thread, const host_simt::WgmmaOperand& a, int first_row,
                                 const host_simt::WgmmaOperand& b, int n) {
  if (block_ != 0) return;
  note(thread / warp_lanes * warp_lanes, 'm', a.start, 1);
  if (multiplying_thread_ < 0) multiplying_thread_ = thread;
  if (thread != multiplying_thread_ || own_.products_computed.size() >= most_products) return;
  const auto place = [&](const host_simt::WgmmaOperand& operand) {
    static_cast<void>(shared_offset(to_number(operand.start)));
    return OperandPlace{to_number(operand.start) - to_number(shared_[last_shared_].begin),
                        operand.k_stride, operand.row_stride};
  };
  own_.products_computed.push_back({place(a), place(b), first_row, n});
}

void BlockRecorder::product_computed(int thread, const host_simt::WgmmaOperand& a, int first_row,
                                     const host_simt::WgmmaOperand& b, int n, const void* call) {
  ++own_.products;
  keep_product(thread, a, first_row, b, n);
  const std::uint32_t site = site_index(to_number(call), Kind::shared_load, word_bytes);
  const auto read_rows = [&](const host_simt::WgmmaOperand& operand, int from, int rows) {
    for (int row = from; row < from + rows; row += core_rows) {
      for (unsigned k = 0; k < cores_along_k; ++k) {
        const char* core = static_cast<const char*>(operand.start) + k * operand.k_stride +
                           static_cast<unsigned>(row / core_rows) * operand.row_stride;
        for_each_word(core, core_bytes, [&](std::size_t word) { races_.read(thread, word, site); });
        own_.product_bytes += core_bytes;
      }
    }
  };
  read_rows(a, first_row, 2 * core_rows);
  read_rows(b, 0, n);
}

}  // namespace kw::trace
