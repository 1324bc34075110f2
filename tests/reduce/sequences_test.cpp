// Rows and segments through host SIMT. On one multiprocessor warps have several runs one after the
// other in each of their stages (src/reduce/rows/staged_rows.hpp), and a block more chunks than it
// finds at a time (src/reduce/chunks/chunk_blocks.hpp); a device with little shared memory has one
// stage for them (src/reduce/chunks/chunk_ring.hpp).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string_view>
#include <type_traits>
#include <vector>

#include "check/reduce/case.hpp"
#include "check/workbench.hpp"
#include "support/kept_options.hpp"
#include "support/registry_subjects.hpp"
#include "support/run_seed.hpp"

#ifdef KW_HAVE_HOST_SIMT
#include "host_simt/host_simt.hpp"
#include "reduce/kernels.hpp"
#include "reduce/rows/staged_plan.hpp"
#include "reduce/segments/few_plan.hpp"
#include "reduce/segments/piece_plan.hpp"
#include "reduce/segments/tile_plan.hpp"
#include "sequences_cases.hpp"

namespace kw {
namespace {

TEST(ReduceSequences, BlocksOfManyChunks) {
  const OneWorker one(48 << 10);
  std::vector<check::ReduceCase> cases;
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::variance, ReduceOp::argmin}) {
    // One chunk each and a little more than one: over 64 a block, twice what is found at a time.
    check::ReduceCase rows = sequences_case(ReduceShape::rows, op, DataType::float32);
    rows.rows = 200, rows.cols = 1040, rows.misalign = 3;
    cases.push_back(rows);
    rows = sequences_case(ReduceShape::rows, op, DataType::float64);
    rows.rows = 100, rows.cols = 2050, rows.ld_pad = 1;
    cases.push_back(rows);
  }
  // Several chunks, which are one where that cannot show.
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::min_max, ReduceOp::argmax}) {
    check::ReduceCase rows = sequences_case(ReduceShape::rows, op, DataType::int32);
    rows.rows = 30, rows.cols = 9003, rows.misalign = 1;
    cases.push_back(rows);
  }
  // A few long rows: each in the runs of several blocks, which begin in the middle of one.
  for (const std::int64_t count : {1, 2, 5}) {
    check::ReduceCase rows =
        sequences_case(ReduceShape::rows, ReduceOp::variance, DataType::float32);
    rows.rows = count, rows.cols = 70001, rows.ld_pad = 2, rows.misalign = 1;
    cases.push_back(rows);
  }
  // The first place of equal elements, where a chunk begins within a pack.
  for (const DataType type : {DataType::float16, DataType::int8, DataType::float32}) {
    for (const std::int64_t misalign : {1, 5, 7}) {
      check::ReduceCase rows = sequences_case(ReduceShape::rows, ReduceOp::argmax, type);
      rows.input = check::Input::constant;
      rows.rows = 2, rows.cols = 40001, rows.misalign = misalign;
      cases.push_back(rows);
    }
  }
  check::ReduceCase segments =
      sequences_case(ReduceShape::segments, ReduceOp::sum_of_squares, DataType::int64);
  segments.lengths = check::SegmentLengths::uneven;
  segments.segments = 2000;
  cases.push_back(segments);
  segments.op = ReduceOp::l2_norm;
  segments.type = DataType::float64;
  segments.misalign = 1;
  cases.push_back(segments);
  verify_sequences(cases);
}

struct EqualSegments {
  std::int64_t segments, bytes;
};

// Cases that take operations, types and alignments by turns, from where the run's seed says.
class SegmentCases {
 public:
  void add(int count, const EqualSegments& shape) {
    for (int i = 0; i < count; ++i) {
      check::ReduceCase& c = next(check::SegmentLengths::equal, shape.segments);
      c.cols = c.segments * (shape.bytes / static_cast<std::int64_t>(size_of(c.type)));
    }
  }
  void add(int count, check::SegmentLengths lengths, std::int64_t segments) {
    for (int i = 0; i < count; ++i) next(lengths, segments);
  }
  const std::vector<check::ReduceCase>& all() const { return all_; }

 private:
  check::ReduceCase& next(check::SegmentLengths lengths, std::int64_t segments) {
    ++turn_;
    check::ReduceCase c = sequences_case(ReduceShape::segments, static_cast<ReduceOp>(turn_ % 12),
                                         static_cast<DataType>(turn_ % 7));
    c.lengths = lengths;
    c.segments = segments;
    c.misalign = static_cast<std::int64_t>(turn_ % 5);
    return all_.emplace_back(c);
  }

  std::size_t turn_ = run_seed() % 84;
  std::vector<check::ReduceCase> all_;
};

// Few segments, whose chunks each block counts for itself (src/reduce/chunks/counted_chunks.hpp):
// one and several chunks each, in the runs of one block and of several; lengths that differ, none
// at all, and offsets that descend or leave the array.
TEST(ReduceSequences, FewSegmentsAreCounted) {
  const OneWorker one(48 << 10);
  constexpr EqualSegments shapes[] = {{1, 20000}, {2, 300016}, {5, 40008}, {40, 5008}, {300, 2104}};
  SegmentCases cases;
  for (const EqualSegments& shape : shapes) cases.add(4, shape);
  for (const check::SegmentLengths lengths :
       {check::SegmentLengths::uneven, check::SegmentLengths::log_uniform,
        check::SegmentLengths::out_of_range}) {
    for (const std::int64_t segments : {1, 2, 9}) {
      cases.add(3, lengths, segments);
    }
  }
  verify_sequences(cases.all());
}

constexpr std::size_t less_than_shares_want = 80 << 10;  // of shared memory

// Segments of some KB and more where there is no room for shares, which go on the lists
// (src/reduce/chunks/work_lists.hpp): of equal lengths, of one chunk and of many; of lengths that
// differ; and offsets that descend or leave the array.
TEST(ReduceSequences, LongSegmentsOnLists) {
  const OneWorker one(less_than_shares_want);
  constexpr EqualSegments shapes[] = {{2, 5000},   {3, 21000},  {3, 60},    {85, 13000},
                                      {30, 40008}, {8, 150000}, {70, 17600}};
  SegmentCases cases;
  for (const EqualSegments& shape : shapes) cases.add(6, shape);
  for (const check::SegmentLengths lengths :
       {check::SegmentLengths::log_uniform, check::SegmentLengths::out_of_range}) {
    for (const std::int64_t segments : {3, 60}) {
      cases.add(4, lengths, segments);
    }
  }
  verify_sequences(cases.all());
}

// Segments by blocks that share the array (src/reduce/segments/segment_shares.hpp): of one chunk
// and of many, several in a block's share and several shares' one; of lengths that differ.
TEST(ReduceSequences, SegmentsByShares) {
  const OneWorker one;
  host_simt::options().multiprocessors = 2;
  constexpr EqualSegments shapes[] = {{150, 13000}, {45, 40008}, {12, 150000}, {2, 900000}};
  SegmentCases cases;
  for (const EqualSegments& shape : shapes) cases.add(5, shape);
  cases.add(7, check::SegmentLengths::log_uniform, 90);
  verify_sequences(cases.all());
}

// Segments on devices that differ, whose results are to be the same bytes.
template <class T>
class SameBytesOf {
 public:
  explicit SameBytesOf(std::size_t elements) : data_(elements) {
    add_developer_backends();
    runtime_ = open_device("host-simt");
    std::mt19937 engine(static_cast<unsigned>(run_seed()));
    for (T& x : data_) x = static_cast<T>(engine()) * static_cast<T>(0x1p-32) - T{0.5};
  }
  // `shared_bytes`: that a block can ask for; 0: as many as the model has.
  std::vector<std::int64_t> results(ReduceOp op, const std::vector<std::int64_t>& offsets,
                                    int multiprocessors, std::size_t shared_bytes) {
    const auto segments = static_cast<std::int64_t>(offsets.size()) - 1;
    std::vector<std::int64_t> out(static_cast<std::size_t>(segments), 0);
    Reduce p;
    p.type = std::is_same_v<T, double> ? DataType::float64 : DataType::float32;
    p.op = op, p.shape = ReduceShape::segments, p.data = data_.data(), p.out = out.data();
    p.cols = p.ld = static_cast<std::int64_t>(data_.size());
    p.offsets = offsets.data(), p.segments = segments;
    Device device = runtime_->device();
    device.sm_count = multiprocessors;
    if (shared_bytes > 0) device.shared_bytes_per_block_optin = shared_bytes;
    for (const Kernel<Reduce>& kernel : on_host::reduce_production()) {
      if (std::string_view(kernel.name) != "reduce_segments") continue;
      std::vector<std::byte> workspace(kernel.workspace_bytes(p, device) + 256);
      void* aligned = workspace.data();
      std::size_t room = workspace.size();
      EXPECT_NE(std::align(256, room - 255, aligned, room), nullptr);
      EXPECT_TRUE(kernel.launch(p, device, {aligned, room, tickets_.data()}, {}).ok());
    }
    EXPECT_EQ(std::count(tickets_.begin(), tickets_.end(), 0u), std::ptrdiff_t{ticket_count});
    return out;
  }
  void expect(const std::vector<std::int64_t>& offsets, const std::array<int, 2>& devices,
              std::size_t shared_bytes = 0) {
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::argmax, ReduceOp::variance}) {
      EXPECT_EQ(results(op, offsets, devices[0], shared_bytes),
                results(op, offsets, devices[1], shared_bytes))
          << to_string(op);
    }
  }

 private:
  std::unique_ptr<Runtime> runtime_;
  std::vector<T> data_;
  std::vector<unsigned> tickets_ = std::vector<unsigned>(ticket_count, 0);
};
using SameBytes = SameBytesOf<float>;

// The limits of segments, of which number i has length(i) elements.
template <class Length>
std::vector<std::int64_t> limits_of(std::size_t segments, const Length& length) {
  std::vector<std::int64_t> offsets(segments + 1, 0);
  for (std::size_t i = 0; i < segments; ++i) offsets[i + 1] = offsets[i] + length(i);
  return offsets;
}

// Of a device with one multiprocessor this is a large array, whose segments are shared, but for
// the one on the lists; with many it is a small one. The bytes of the results are the same.
TEST(ReduceSequences, WhoReducesSegmentsCannotShow) {
  constexpr std::int64_t segments = 40, length = 5003, longest = 2'100'000, long_one = 7;
  const auto offsets =
      limits_of(segments, [](std::size_t i) { return i == long_one ? longest : length; });
  SameBytes(static_cast<std::size_t>(offsets.back())).expect(offsets, {132, 1});
}

// Of a device with four multiprocessors the long ones of these go on the lists.
TEST(ReduceSequences, LongOnesAmongShortOnesOnLists) {
  constexpr std::int64_t segments = 1030, longest = 50'001;
  constexpr std::array<std::int64_t, 8> lengths = {0, 1, 40, 512, 513, 1536, 1537, 2000};
  const auto offsets = limits_of(
      segments, [&](std::size_t i) { return i % 16 == 4 ? longest : lengths[i * 5 % 8]; });
  SameBytes(static_cast<std::size_t>(offsets.back()))
      .expect(offsets, {132, 4}, less_than_shares_want);
}

// Shares of three blocks, which cut segments anywhere; none, short and long ones beside each other.
TEST(ReduceSequences, WhereSharesEndCannotShow) {
  constexpr std::size_t segments = 260;
  constexpr std::array<std::int64_t, 8> lengths = {0, 1, 4096, 0, 70'001, 4097, 300, 16'384};
  const auto offsets =
      limits_of(segments, [&](std::size_t i) { return i < 60 ? 0 : lengths[i * 5 % 8]; });
  SameBytes(static_cast<std::size_t>(offsets.back())).expect(offsets, {132, 3});
}

// Segments in pieces: all kinds and types, of equal lengths, drawn ones, one that is longer than
// all others together, and limits before the array and behind it.
TEST(ReduceSequences, SegmentsInPieces) {
  const OneWorker one;
  SegmentCases cases;
  for (const std::int64_t bytes : {32, 72, 160, 320}) cases.add(5, {4100, bytes});
  for (const check::SegmentLengths lengths :
       {check::SegmentLengths::one_to_32, check::SegmentLengths::uneven,
        check::SegmentLengths::out_of_range}) {
    cases.add(7, lengths, 4100);
  }
  verify_sequences(cases.all());
}

// Short segments in pieces (src/reduce/segments/segment_pieces.hpp), which a device with many
// multiprocessors leaves to others: a lane each, in one tree and in two; some among them whose
// pieces all lanes share, of one level and of two; one that goes on the lists.
TEST(ReduceSequences, WhoReducesPiecesCannotShow) {
  constexpr std::size_t segments = 4101;
  std::mt19937 engine(static_cast<unsigned>(run_seed()));
  for (const std::int64_t most : {3, 9, 33, 65, 120}) {
    for (const std::int64_t longer : {100, 1000, 5000}) {
      const auto offsets = limits_of(segments, [&](std::size_t i) {
        const bool is_longer = i > segments / 2 && engine() % 300 == 0;
        return is_longer ? longer : static_cast<std::int64_t>(engine() % most);
      });
      SameBytes(static_cast<std::size_t>(offsets.back())).expect(offsets, {132, 1});
    }
  }
}

// Limits that descend, that are before the array and behind it, of short segments.
TEST(ReduceSequences, PiecesOfOffsetsThatDescend) {
  constexpr std::size_t segments = 4100;
  const auto ascending = limits_of(segments, [](std::size_t) { return 20; });
  auto wild = limits_of(segments, [](std::size_t i) {
    return i % 7 == 3 ? -30 : i % 11 == 5 ? 100 : 20;
  });
  wild[0] = -50, wild[1] = -3, wild[900] = 1'000'000, wild[segments] = 90'000;
  SameBytes same(static_cast<std::size_t>(ascending.back()));
  same.expect(wild, {132, 1});
  same.expect(ascending, {132, 1});
}

// Offsets that descend leave no ticket behind that a later call would meet.
TEST(ReduceSequences, SharesOfOffsetsThatDescend) {
  constexpr std::size_t segments = 200;
  const auto ascending = limits_of(segments, [](std::size_t) { return 6000; });
  const auto descending =
      limits_of(segments, [](std::size_t i) { return i % 5 == 3 ? -9000 : 9000; });
  SameBytes same(static_cast<std::size_t>(ascending.back()));
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max}) same.results(op, descending, 3, 0);
  same.expect(ascending, {132, 3});
}

// A small array (src/reduce/segments/few_segments.hpp): short segments by warps, chunks of longer
// ones by a block each. On one multiprocessor it is not small.
TEST(ReduceSequences, SmallArraysInOneLaunch) {
  constexpr std::array<std::int64_t, 8> lengths = {0, 1, 9, 130, 513, 2000, 4097, 20'011};
  for (const std::size_t segments : {2, 70, 300}) {
    auto offsets =
        limits_of(segments, [&](std::size_t i) { return lengths[(i * 5 + run_seed()) % 8]; });
    offsets.back() += 20'011;
    SameBytes(static_cast<std::size_t>(offsets.back())).expect(offsets, {132, 1});
  }
}

// Offsets that descend name more chunks than there are blocks, and leave no letter behind.
TEST(ReduceSequences, SmallArrayOfOffsetsThatDescend) {
  constexpr std::size_t segments = 60;
  const auto ascending = limits_of(segments, [](std::size_t) { return 6000; });
  const auto descending =
      limits_of(segments, [](std::size_t i) { return i % 2 == 0 ? 200'000 : -200'000; });
  SameBytes same(static_cast<std::size_t>(ascending.back()));
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::variance})
    same.results(op, descending, 132, 0);
  same.expect(ascending, {132, 3});
}

// Blocks of longer segments come in several waves, those of chunks in more: here of float32, on 20
// multiprocessors 165 of which 60 are resident.
TEST(ReduceSequences, SmallArraysInSeveralWaves) {
  Device device;
  device.sm_count = 132;
  const auto blocks_of = [&](std::int64_t segments, std::int64_t mean, int chunks_an_sm) {
    Reduce p;
    p.shape = ReduceShape::segments, p.segments = segments, p.cols = segments * mean;
    return plan_few(p, {4096, 4, 512, 1536, 3, chunks_an_sm}, device).blocks;
  };
  EXPECT_GT(blocks_of(293, 1238, 9), 3 * 132);
  EXPECT_EQ(blocks_of(2800, 64, 9), 0);
  EXPECT_GT(blocks_of(184, 17'260, 9), 6 * 132);
  EXPECT_EQ(blocks_of(184, 17'260, 0), 0);
  EXPECT_EQ(blocks_of(400, 17'260, 9), 0);
  EXPECT_GT(blocks_of(300, 14'000, 9), 9 * 132);  // of some chunks each
  device.sm_count = 2000;
  EXPECT_GT(blocks_of(800, 5000, 9), 0);
  EXPECT_EQ(blocks_of(1000, 5000, 9), 0);  // more than there is room for letters
  const auto offsets =
      limits_of(40, [](std::size_t i) { return 12'288 + static_cast<int>(i % 3); });
  SameBytes(static_cast<std::size_t>(offsets.back())).expect(offsets, {20, 1});
}

// A segment of more than max_chunks chunks has larger ones (order.hpp), in a small array, too.
TEST(ReduceSequences, SmallArrayOfOneThatHasLargerChunks) {
  constexpr std::int64_t longest = (max_chunks + 12) * smallest_chunk<double>;
  SameBytesOf<double>(20 + longest).expect({0, 20, 20 + longest}, {132, 1});
}

// More segments than are counted, of a few KB each: a warp's stage has one, and those that are
// longer than it go on the lists.
TEST(ReduceSequences, SegmentsInStages) {
  const OneWorker one;
  std::vector<check::ReduceCase> cases;
  for (const auto& [op, type] :
       {std::pair{ReduceOp::sum, DataType::float32}, std::pair{ReduceOp::argmin, DataType::float64},
        std::pair{ReduceOp::variance, DataType::bfloat16}}) {
    check::ReduceCase c = sequences_case(ReduceShape::segments, op, type);
    c.segments = 1030, c.misalign = 1;
    c.cols = c.segments * (5000 / static_cast<std::int64_t>(size_of(type)));
    cases.push_back(c);
  }
  check::ReduceCase c = sequences_case(ReduceShape::segments, ReduceOp::max, DataType::int8);
  c.lengths = check::SegmentLengths::log_uniform;
  c.segments = 1030;
  cases.push_back(c);
  verify_sequences(cases);
}

// Rows of every kind that stages know: tiles of several and of one, strips of one round and of
// more; on and off a boundary, with padding that is read and with padding that is not; and those of
// both sides, which they leave to others, with segments.
TEST(ReduceSequences, WarpsWithStages) {
  const OneWorker one;
  std::vector<check::ReduceCase> cases;
  struct Rows {
    std::int64_t rows, cols, pad, misalign;
  };
  constexpr Rows shapes[] = {{700, 17, 1, 3},   {400, 9, 60, 1},  {80, 300, 0, 1},
                             {90, 1300, 2, 5},  {60, 1024, 0, 0}, {50, 1025, 3, 7},
                             {30, 900, 700, 2}, {40, 1500, 1, 3}, {12, 2500, 0, 1},
                             {12, 4097, 0, 1},  {7, 9000, 1, 0},  {12, 2150, 1, 3}};
  constexpr ReduceOp ops[] = {ReduceOp::sum, ReduceOp::variance, ReduceOp::argmax,
                              ReduceOp::min_max};
  constexpr DataType types[] = {DataType::float32, DataType::float64, DataType::bfloat16,
                                DataType::int32, DataType::int64};
  std::size_t turn = run_seed() % 5;
  for (const Rows& shape : shapes) {
    for (const ReduceOp op : ops) {
      check::ReduceCase rows = sequences_case(ReduceShape::rows, op, types[turn++ % 5]);
      rows.rows = shape.rows, rows.cols = shape.cols, rows.ld_pad = shape.pad;
      rows.misalign = shape.misalign;
      cases.push_back(rows);
    }
  }
  for (const check::SegmentLengths lengths :
       {check::SegmentLengths::one_to_32, check::SegmentLengths::uneven,
        check::SegmentLengths::log_uniform}) {
    for (const ReduceOp op : ops) {
      check::ReduceCase segments = sequences_case(ReduceShape::segments, op, types[turn++ % 5]);
      segments.lengths = lengths;
      segments.segments = lengths == check::SegmentLengths::log_uniform ? 20 : 1500;
      segments.misalign = static_cast<std::int64_t>(turn % 4);
      cases.push_back(segments);
    }
  }
  verify_sequences(cases);
}

// Warps that have stages are as many as take all sequences in as few rounds.
TEST(ReduceSequences, WarpsWithStagesShareRounds) {
  Device device;
  device.sm_count = 132;
  device.shared_bytes_per_block_optin = 227 << 10;
  Reduce p;
  p.type = DataType::float64, p.shape = ReduceShape::rows, p.rows = 13224, p.cols = p.ld = 882;
  const StagedElement element = {8, 2432, 20, 2048, 10 << 10, false, false, 8};
  EXPECT_EQ(plan_staged(p, element, device).warps, 17);  // six rounds of 101, where 20 take six
  p.rows = 132 * 20;
  EXPECT_EQ(plan_staged(p, element, device).warps, 20);
}

// Rows of a middling array: warps have two stages, and as many batches each; of a large one the
// batches are as large as one stage can be.
TEST(ReduceSequences, TilesOfRowsShareBatches) {
  Device device;
  device.sm_count = 132;
  device.shared_bytes_per_block_optin = 227 << 10, device.shared_bytes_per_sm = 228 << 10;
  const TileElement element = {8, 512, 128, 5, 3584};
  const std::int64_t warps = std::int64_t{132} * 5 * tile_warps;
  const auto plan_of = [&](std::int64_t rows) {
    Reduce p;
    p.type = DataType::float64, p.shape = ReduceShape::rows, p.rows = rows, p.cols = p.ld = 59;
    return plan_tiles(p, element, device);
  };
  for (const std::int64_t rows : {27'000, 40'000, 160'000}) {
    const TilePlan plan = plan_of(rows);
    ASSERT_GT(plan.each, 4);
    EXPECT_LE(plan.each, 8);
    EXPECT_EQ(plan.share.lanes, 32 / plan.each);
    EXPECT_GE(plan.stages, 2);
    const std::int64_t rounds = (rows + warps * 8 - 1) / (warps * 8);
    EXPECT_GE(warps * plan.each * rounds, rows);
  }
  EXPECT_EQ(plan_of(1'000'000).each, 16);
}

// Segments are in pieces by their mean length and the bytes of an element, where there are some for
// each warp; units are larger where they are many.
TEST(ReduceSequences, PiecesByMeanLengthAndNumber) {
  Device device;
  device.sm_count = 132, device.compute_capability = 90, device.warp_size = 32;
  device.shared_bytes_per_block_optin = 227 << 10, device.shared_bytes_per_sm = 228 << 10;
  const auto plan_of = [&](int bytes, std::int64_t segments, std::int64_t mean) {
    Reduce p;
    p.shape = ReduceShape::segments, p.segments = segments, p.cols = segments * mean;
    return plan_pieces(p, {bytes, 2304, 1024, 6}, device);
  };
  EXPECT_EQ(plan_of(4, 1'000'000, 16).each, 64);
  EXPECT_EQ(plan_of(4, 10'000'000, 16).each, 128);
  EXPECT_EQ(plan_of(4, 80'000, 16).each, 64);
  EXPECT_EQ(plan_of(2, 60'000, 16).each, 32);
  EXPECT_EQ(plan_of(4, 57'000, 16).each, 0);
  EXPECT_EQ(plan_of(8, 500'000, 50).each, 0);
  EXPECT_EQ(plan_of(4, 1'000'000, 60).each, 0);
  EXPECT_EQ(plan_of(8, 1'000'000, 16).each, 0);
  EXPECT_EQ(plan_of(8, 1'000'000, 50).each, 64);
  EXPECT_EQ(plan_of(8, 1'000'000, 60).each, 0);
  EXPECT_EQ(plan_of(1, 1'000'000, 16).each, 0);
  const PiecePlan plan = plan_of(4, 1'000'000, 50);
  EXPECT_LE(plan.ring_bytes + 2304, plan.warp_bytes);
  EXPECT_LE(6 * (piece_warps * plan.warp_bytes + 1024), 228 << 10);
  EXPECT_GE(plan.room, 32 * 50);
  device.compute_capability = 80;
  EXPECT_EQ(plan_of(4, 1'000'000, 16).each, 0);
}

// Six rows of 300 have five lanes each, with runs of 64 elements; 226 fill two lanes of sixteen
// rows; of 140 rows have a lane each, as many as a stage holds.
TEST(ReduceSequences, TilesOfRowsHaveAnyNumberOfLanes) {
  Device device;
  device.sm_count = 132;
  device.shared_bytes_per_block_optin = 227 << 10, device.shared_bytes_per_sm = 228 << 10;
  const TileElement element = {2, 2048, 256, 5, 2048};
  const auto plan_of = [&](std::int64_t cols) {
    Reduce p;
    p.type = DataType::bfloat16, p.shape = ReduceShape::rows, p.rows = 200'000;
    p.cols = p.ld = cols;
    return plan_tiles(p, element, device);
  };
  EXPECT_EQ(plan_of(300).each, 6);
  EXPECT_EQ(plan_of(300).share.lanes, 5);
  EXPECT_EQ(plan_of(226).each, 16);
  EXPECT_EQ(plan_of(140).each, 32);
  EXPECT_EQ(plan_of(140).share.lanes, 1);
  for (int lanes = 1; lanes <= 32; ++lanes) {
    const LaneShare share = lanes_of_each(lanes);
    for (int x = 0; x < 32; ++x) EXPECT_EQ(share.quotient(x), x / lanes);
    const bool is_exact = lanes <= 16 || lanes == 32;
    for (int x = 0; is_exact && x <= 4096; ++x) ASSERT_EQ(share.quotient(x), x / lanes) << lanes;
  }
}

// Rows in tiles, a number of lanes each that is no power of two.
TEST(ReduceSequences, RowsByAnyNumberOfLanes) {
  const OneWorker one;
  std::vector<check::ReduceCase> cases;
  constexpr ReduceOp ops[] = {ReduceOp::sum, ReduceOp::l1_norm, ReduceOp::l2_norm,
                              ReduceOp::variance};
  constexpr std::int64_t lengths[] = {258, 298, 320, 369, 577};
  std::size_t turn = run_seed() % 4;
  for (const std::int64_t cols : lengths) {
    for (const DataType type : {DataType::float16, DataType::bfloat16}) {
      check::ReduceCase rows = sequences_case(ReduceShape::rows, ops[turn++ % 4], type);
      rows.rows = 307, rows.cols = cols, rows.ld_pad = static_cast<std::int64_t>(turn % 3);
      rows.misalign = static_cast<std::int64_t>(turn % 7);
      cases.push_back(rows);
    }
  }
  for (const DataType type : {DataType::float32, DataType::float64}) {  // of large arrays
    for (const std::int64_t cols : {41, 140, 280}) {
      check::ReduceCase rows = sequences_case(ReduceShape::rows, ops[turn++ % 4], type);
      rows.cols = cols, rows.rows = 700'000 / (cols * static_cast<std::int64_t>(size_of(type)));
      rows.ld_pad = static_cast<std::int64_t>(turn % 3), rows.misalign = 1;
      cases.push_back(rows);
    }
  }
  verify_sequences(cases);
}

// Rows of no more elements than the order has lanes, in stages: of one to eight strips.
TEST(ReduceSequences, RowsOfOneRoundInStages) {
  const OneWorker one;
  std::vector<check::ReduceCase> cases;
  constexpr ReduceOp ops[] = {ReduceOp::sum, ReduceOp::l2_norm, ReduceOp::variance,
                              ReduceOp::l1_norm};
  constexpr DataType types[] = {DataType::float32, DataType::float64, DataType::bfloat16,
                                DataType::float16};
  std::size_t turn = run_seed() % 4;
  for (const DataType type : types) {
    const auto lanes = 4096 / static_cast<std::int64_t>(size_of(type));
    for (const std::int64_t cols : {lanes / 4 + 1, 3 * lanes / 8, lanes / 2 + 1, 5 * lanes / 8 + 7,
                                    3 * lanes / 4 + 1, lanes - 3, lanes, lanes + 1}) {
      check::ReduceCase rows = sequences_case(ReduceShape::rows, ops[turn++ % 4], type);
      rows.rows = 41, rows.cols = cols, rows.ld_pad = static_cast<std::int64_t>(turn % 3);
      rows.misalign = static_cast<std::int64_t>(turn % 5);
      cases.push_back(rows);
    }
  }
  verify_sequences(cases);
}

// Few rows that take a warp several steps have a block each.
TEST(ReduceSequences, FewRows) {
  std::vector<check::ReduceCase> cases;
  std::size_t turn = run_seed() % 12;
  for (const DataType type : {DataType::float32, DataType::float64, DataType::bfloat16,
                              DataType::int8, DataType::int32, DataType::int64}) {
    const auto chunk = 16384 / static_cast<std::int64_t>(size_of(type));
    for (const std::int64_t cols : {chunk / 8 + 1, chunk / 4 + 3, chunk - 1, chunk, chunk + 1}) {
      const auto op = static_cast<ReduceOp>(turn++ % 12);
      check::ReduceCase rows = sequences_case(ReduceShape::rows, op, type);
      rows.rows = 3, rows.cols = cols, rows.ld_pad = static_cast<std::int64_t>(turn % 3);
      rows.misalign = static_cast<std::int64_t>(turn % 16);
      cases.push_back(rows);
    }
  }
  verify_sequences(cases);
}

// Where rows go by their length and the size of the array.
TEST(ReduceSequences, WaysOfRows) {
  Device device;
  device.sm_count = 132;
  device.shared_bytes_per_block_optin = 227 << 10;
  const StagedElement minima = {4, 128, 32, 3584, 12 << 10, true, false, 4};
  const StagedElement sums = {8, 2432, 20, 2048, 10 << 10, false, false, 8};
  const auto rows = [](std::int64_t count, std::int64_t cols) {
    Reduce p;
    p.op = ReduceOp::min, p.shape = ReduceShape::rows;
    p.rows = count, p.cols = p.ld = cols;
    return p;
  };
  EXPECT_EQ(stages_of_rows(rows(26'539, 512), minima, device), 1);
  EXPECT_EQ(stages_of_rows(rows(54'605, 255), minima, device), 2);
  EXPECT_EQ(stages_of_rows(rows(1'379'833, 350), minima, device), 0);  // tiles
  EXPECT_EQ(stages_of_rows(rows(77'955, 85), minima, device), 0);
  EXPECT_EQ(stages_of_rows(rows(5'526, 199), sums, device), 2);
  EXPECT_EQ(stages_of_rows(rows(299'376, 233), sums, device), 0);
  EXPECT_EQ(stages_of_rows(rows(145'747, 303), sums, device), 2);
  EXPECT_EQ(stages_of_rows(rows(145'747, 450), sums, device), 1);
  const StagedElement variances = {4, 4736, 20, 4096, 22 << 10, false, false, 16};
  EXPECT_EQ(stages_of_rows(rows(132'599, 665), variances, device), 2);
  EXPECT_EQ(stages_of_rows(rows(132'599, 512), variances, device), 0);  // tiles
  EXPECT_EQ(stages_of_rows(rows(132'599, 769), variances, device), 0);
  Reduce with_gaps = rows(195'251, 385);
  EXPECT_EQ(stages_of_rows(with_gaps, minima, device), 0);
  with_gaps.ld = 563;
  EXPECT_EQ(stages_of_rows(with_gaps, minima, device), 2);
  const StagedElement narrow = {2, 2432, 24, 2048, 22 << 10, false, false, 8};
  EXPECT_EQ(stages_of_rows(rows(509'264, 590), narrow, device), 0);  // tiles
  EXPECT_EQ(stages_of_rows(rows(509'264, 577), narrow, device), 2);
  EXPECT_EQ(stages_of_rows(rows(8'057, 544), narrow, device), 2);
  EXPECT_EQ(stages_of_rows(rows(239'718, 705), narrow, device), 2);
  EXPECT_EQ(stages_of_rows(rows(8'343, 1839), narrow, device), 1);
  EXPECT_EQ(stages_of_rows(rows(42'959, 1835), narrow, device), 2);
  // Small arrays.
  EXPECT_EQ(stages_of_rows(rows(9'148, 428), narrow, device), 2);
  EXPECT_EQ(stages_of_rows(rows(5'004, 316), narrow, device), 2);
  EXPECT_EQ(stages_of_rows(rows(27'212, 317), narrow, device), 0);
  EXPECT_EQ(stages_of_rows(rows(3'396, 253), minima, device), 1);
  EXPECT_EQ(stages_of_rows(rows(1'500, 253), minima, device), 0);
  EXPECT_EQ(stages_of_rows(rows(2'100, 230), sums, device), 0);
}

// Up to which length rows have a warp each: sums up to 10 KB, and those of little more than a
// chunk, where order cannot show 56 KB.
TEST(ReduceSequences, LongestRowsOfWarps) {
  Device device;
  device.sm_count = 132;
  device.shared_bytes_per_block_optin = 227 << 10;
  const StagedElement minima = {4,    128,   32, 3584, staged_to_bytes(true, false, 4, 4),
                                true, false, 4};
  const StagedElement sums = {8,     2432,  20, 2048, staged_to_bytes(false, false, 8, 8),
                              false, false, 8};
  const auto warps = [&](std::int64_t bytes, const StagedElement& element) {
    Reduce p;
    p.type = element.bytes == 8 ? DataType::float64 : DataType::float32;
    p.shape = ReduceShape::rows, p.rows = 20'000, p.cols = p.ld = bytes / element.bytes;
    return plan_staged(p, element, device).warps;
  };
  EXPECT_GT(warps(10 << 10, sums), 0);
  EXPECT_EQ(warps((10 << 10) + 8, sums), 0);
  EXPECT_EQ(warps(16 << 10, sums), 0);
  EXPECT_GT(warps((16 << 10) + 8, sums), 0);
  EXPECT_GT(warps(20 << 10, sums), 0);
  EXPECT_EQ(warps((20 << 10) + 8, sums), 0);
  StagedElement norms = sums;  // of three numbers
  norms.partial_bytes = 24;
  EXPECT_GT(warps(18 << 10, norms), 0);
  EXPECT_EQ(warps((18 << 10) + 8, norms), 0);
  EXPECT_GT(warps(56 << 10, minima), 0);
  EXPECT_EQ(warps((56 << 10) + 4, minima), 0);
  EXPECT_EQ(staged_to_bytes(true, false, 4, 2), 22 << 10);
}

// Rows of several chunks by a warp each, where order cannot show, and sums of little more than one
// chunk.
TEST(ReduceSequences, LongRowsInStages) {
  const OneWorker one;
  std::vector<check::ReduceCase> cases;
  constexpr ReduceOp ops[] = {ReduceOp::argmax, ReduceOp::min_max, ReduceOp::max_norm,
                              ReduceOp::argmin, ReduceOp::min};
  std::size_t turn = run_seed() % 5;
  for (const DataType type :
       {DataType::float32, DataType::float64, DataType::int32, DataType::int64}) {
    const auto size = static_cast<std::int64_t>(size_of(type));
    for (const std::int64_t bytes : {(22 << 10) + 8, 33000, 56 << 10, (56 << 10) + 8}) {
      check::ReduceCase rows = sequences_case(ReduceShape::rows, ops[turn++ % 5], type);
      rows.rows = 9, rows.cols = bytes / size, rows.ld_pad = static_cast<std::int64_t>(turn % 3);
      rows.misalign = static_cast<std::int64_t>(turn % 5);
      cases.push_back(rows);
    }
    check::ReduceCase sums = sequences_case(ReduceShape::rows, ReduceOp::sum, type);
    sums.rows = 14, sums.cols = 19500 / size, sums.misalign = 1;
    cases.push_back(sums);
    sums.op = ReduceOp::l2_norm;
    cases.push_back(sums);
  }
  verify_sequences(cases);
}

// Segments and rows in tiles (src/reduce/segments/segment_tiles.hpp): all kinds and types over
// lengths about what a lane, a few of them and a warp take, what a stage holds and what it does
// not, several batches a stage and several stages; batches of which one segment is too long; and
// the same in little shared memory.
TEST(ReduceSequences, SegmentsInTiles) {
  constexpr std::int64_t lengths[] = {1,  8,  16, 17,  31,  32,  33,  40,
                                      64, 65, 99, 129, 257, 400, 600, 1000};
  constexpr std::int64_t bytes = 70 << 10;  // more than tiles ask for on one multiprocessor
  constexpr int ops = static_cast<int>(ReduceOp::min_max) + 1;
  std::size_t turn = run_seed() % 84;
  const auto next_case = [&](ReduceShape shape) {
    ++turn;
    const auto op = static_cast<ReduceOp>(turn % ops);
    check::ReduceCase c = sequences_case(shape, op, static_cast<DataType>(turn % 7));
    c.misalign = static_cast<std::int64_t>(turn % 5);
    return c;
  };
  for (const std::size_t shared_bytes : {std::size_t{0}, std::size_t{48} << 10}) {
    const OneWorker one(shared_bytes);
    std::vector<check::ReduceCase> cases;
    for (const std::int64_t length : lengths) {
      for (int each = 0; each < 5; ++each) {
        check::ReduceCase equal = next_case(ReduceShape::segments);
        equal.lengths = check::SegmentLengths::equal;
        const auto size = static_cast<std::int64_t>(size_of(equal.type));
        equal.segments = bytes / size / length + 1, equal.cols = equal.segments * length;
        cases.push_back(equal);
      }
      check::ReduceCase rows = next_case(ReduceShape::rows);
      rows.rows = bytes / static_cast<std::int64_t>(size_of(rows.type)) / length + 1;
      rows.cols = length, rows.ld_pad = length > 20 ? 1 : 0;
      cases.push_back(rows);
    }
    for (const check::SegmentLengths drawn :
         {check::SegmentLengths::one_to_32, check::SegmentLengths::uneven,
          check::SegmentLengths::out_of_range}) {
      for (int each = 0; each < ops; ++each) {
        check::ReduceCase segments = next_case(ReduceShape::segments);
        segments.lengths = drawn;
        const bool is_short = drawn == check::SegmentLengths::one_to_32;
        segments.segments =
            bytes / static_cast<std::int64_t>(size_of(segments.type)) / (is_short ? 16 : 50) + 1;
        cases.push_back(segments);
      }
    }
    verify_sequences(cases);
  }
}

// Sequences of up to a chunk by lanes and warps alone, which put elements that change nothing in
// place of those that are not there: of every length about their limits, at both ends of an array
// that begins anywhere, all kinds and types.
TEST(ReduceSequences, WarpsWithoutStages) {
  std::vector<check::ReduceCase> cases;
  constexpr std::int64_t lengths[] = {1, 2, 15, 16, 17, 63, 100, 257, 511, 514, 1023, 1030, 4090};
  std::size_t turn = run_seed() % 7;
  for (const std::int64_t length : lengths) {
    for (int op = 0; op <= static_cast<int>(ReduceOp::min_max); ++op) {
      const auto type = static_cast<DataType>(turn++ % 7);
      check::ReduceCase rows = sequences_case(ReduceShape::rows, static_cast<ReduceOp>(op), type);
      rows.rows = 5, rows.cols = length, rows.misalign = static_cast<std::int64_t>(turn % 11);
      cases.push_back(rows);
      rows.ld_pad = static_cast<std::int64_t>(turn % 3);
      rows.type = static_cast<DataType>((turn + 3) % 7);
      cases.push_back(rows);
    }
  }
  for (int op = 0; op <= static_cast<int>(ReduceOp::min_max); ++op) {
    check::ReduceCase segments = sequences_case(ReduceShape::segments, static_cast<ReduceOp>(op),
                                                static_cast<DataType>(turn++ % 7));
    segments.lengths = check::SegmentLengths::log_uniform;
    segments.segments = 40, segments.misalign = static_cast<std::int64_t>(turn % 5);
    cases.push_back(segments);
  }
  verify_sequences(cases);
}

// A lane that has one element keeps the sign of its zero; a sum begins from nothing.
TEST(ReduceSequences, SumsOfNegativeZerosArePositive) {
  const OneWorker one;
  add_developer_backends();
  const std::unique_ptr<Runtime> runtime = open_device("host-simt");
  constexpr std::int64_t few = 3, many = 70, most = 3000;  // many: warps with stages
  const std::vector<float> data(many * most, -0.0f);
  std::vector<unsigned> tickets(ticket_count, 0);
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::l1_norm, ReduceOp::variance}) {
    for (const std::int64_t length : {1, 7, 16, 40, 256, 512, 700, 1024, 3000}) {
      const std::int64_t rows = length % 2 == 0 ? many : few;
      std::vector<float> out(static_cast<std::size_t>(rows), 1.0f);
      Reduce p;
      p.op = op, p.shape = ReduceShape::rows, p.data = data.data(), p.out = out.data();
      p.rows = rows, p.cols = p.ld = length;
      for (const Kernel<Reduce>& kernel : on_host::reduce_production()) {
        if (std::string_view(kernel.name) != "reduce_rows") continue;
        ASSERT_TRUE(kernel.launch(p, runtime->device(), {nullptr, 0, tickets.data()}, {}).ok());
      }
      for (const float result : out) {
        EXPECT_EQ(std::bit_cast<std::uint32_t>(result), 0u) << to_string(op) << " of " << length;
      }
    }
  }
}

}  // namespace
}  // namespace kw
#endif
