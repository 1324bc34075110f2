// The schedule of a distributed product: all of k once, panels whole, buffers free when they are
// written.
#include "distributed/schedule.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace kw::distributed {
namespace {

// Where element `index` of a dealt dimension lies, from the definition.
std::pair<int, std::int64_t> place_of(std::int64_t index, std::int64_t block, int first,
                                      int ranks) {
  const std::int64_t number = index / block;
  return {static_cast<int>((number + first) % ranks), number / ranks * block + index % block};
}

std::vector<std::int64_t> indices_of(std::int64_t length, std::int64_t block, int first, int ranks,
                                     int coordinate) {
  std::vector<std::int64_t> found;
  for (std::int64_t i = 0; i < length; ++i) {
    if (place_of(i, block, first, ranks).first == coordinate) found.push_back(i);
  }
  return found;
}

TEST(Runs, CountsAndPlacesAreThoseOfTheDefinition) {
  for (std::int64_t length : {0, 1, 7, 24, 25}) {
    for (std::int64_t block : {1, 3, 8, 30}) {
      for (int ranks : {1, 2, 3}) {
        for (int first = 0; first < ranks; ++first) {
          const Dealt dealt{length, block, first, ranks};
          for (int coordinate = 0; coordinate < ranks; ++coordinate) {
            const auto own = indices_of(length, block, first, ranks, coordinate);
            EXPECT_EQ(dealt.count(coordinate), static_cast<std::int64_t>(own.size()));
            // Its own indices, out of itself: one run.
            const auto runs = runs_of(dealt, coordinate, dealt);
            EXPECT_EQ(runs.size(), own.empty() ? 0u : 1u);
          }
        }
      }
    }
  }
}

class ScheduleCheck {
 public:
  ScheduleCheck(const Product& product, int rank, std::int64_t panel_k)
      : product_(product),
        rank_(rank),
        panel_k_(panel_k),
        schedule_(make_schedule(product, rank, panel_k)) {}

  void all_of_k_once() const {
    std::vector<int> times(static_cast<std::size_t>(product_.k()), 0);
    for (const Step& step : schedule_.steps) {
      std::int64_t k = 0;
      for (const Run& run : step.of_k) {
        EXPECT_EQ(run.place, k);
        for (std::int64_t i = 0; i < run.length; ++i) {
          ++times[static_cast<std::size_t>(run.index + i)];
        }
        k += run.length;
      }
      EXPECT_EQ(step.k, k);
    }
    const bool has_c = schedule_.rows > 0 && schedule_.cols > 0;
    for (int count : times) EXPECT_EQ(count, has_c ? 1 : 0);
  }

  // Every element of every panel comes from where the definition has it, once.
  void panels_are_whole() const {
    const Grid& grid = product_.grid;
    const auto rows = indices_of(product_.m(), product_.c.block_rows, product_.c.first_row, grid.p,
                                 grid.row(rank_));
    const auto cols = indices_of(product_.n(), product_.c.block_cols, product_.c.first_col, grid.q,
                                 grid.col(rank_));
    for (const Step& step : schedule_.steps) {
      check_panel(step, step.a, rows, product_.a, product_.op_a == Op::none);
      check_panel(step, step.b, cols, product_.b, product_.op_b != Op::none);
      const bool copies = !step.a.in_place || !step.b.in_place;
      EXPECT_TRUE(!copies || step.k <= panel_k_) << step.k;
    }
  }

  // A buffer is written after the product that read it last, and two are never one.
  void buffers_are_free() const {
    for (bool is_a : {true, false}) {
      std::map<int, int> last_reader;
      for (int i = 0; i < static_cast<int>(schedule_.steps.size()); ++i) {
        const Step& step = schedule_.steps[static_cast<std::size_t>(i)];
        const Panel& panel = is_a ? step.a : step.b;
        if (panel.in_place) continue;
        EXPECT_GE(panel.buffer, 0);
        EXPECT_LT(panel.buffer, is_a ? schedule_.buffers_a : schedule_.buffers_b);
        EXPECT_LE(step.k, is_a ? schedule_.longest_a : schedule_.longest_b);
        const auto last = last_reader.find(panel.buffer);
        EXPECT_EQ(panel.after, last == last_reader.end() ? -1 : last->second);
        last_reader[panel.buffer] = i;
      }
    }
  }

  const Schedule& schedule() const { return schedule_; }

 private:
  struct Place {
    int owner;
    std::int64_t row, col;
    bool operator==(const Place&) const = default;
  };

  void check_panel(const Step& step, const Panel& panel, const std::vector<std::int64_t>& lines,
                   const Distribution& d, bool lines_are_rows) const {
    std::vector<std::int64_t> ks;
    for (const Run& run : step.of_k) {
      for (std::int64_t i = 0; i < run.length; ++i) ks.push_back(run.index + i);
    }
    std::vector<Place> found(lines.size() * ks.size(), Place{-1, -1, -1});
    const auto put = [&](const Piece& piece) {
      for (std::int64_t i = 0; i < piece.lines; ++i) {
        for (std::int64_t p = 0; p < piece.k; ++p) {
          Place& place = found.at(static_cast<std::size_t>(piece.to_line + i) * ks.size() +
                                  static_cast<std::size_t>(piece.to_k + p));
          EXPECT_EQ(place.owner, -1) << "written twice";
          place = lines_are_rows ? Place{piece.owner, piece.from_line + i, piece.from_k + p}
                                 : Place{piece.owner, piece.from_k + p, piece.from_line + i};
        }
      }
    };
    if (panel.in_place) {
      EXPECT_TRUE(panel.pieces.empty());
      put({rank_, panel.from_line, panel.from_k, 0, 0, static_cast<std::int64_t>(lines.size()),
           step.k});
    }
    for (const Piece& piece : panel.pieces) put(piece);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      for (std::size_t p = 0; p < ks.size(); ++p) {
        const std::int64_t row = lines_are_rows ? lines[i] : ks[p];
        const std::int64_t col = lines_are_rows ? ks[p] : lines[i];
        const auto [owner_row, local_row] =
            place_of(row, d.block_rows, d.first_row, product_.grid.p);
        const auto [owner_col, local_col] =
            place_of(col, d.block_cols, d.first_col, product_.grid.q);
        const Place want{product_.grid.rank(owner_row, owner_col), local_row, local_col};
        ASSERT_EQ(found[i * ks.size() + p], want) << "row " << row << ", column " << col;
      }
    }
  }

  Product product_;
  int rank_;
  std::int64_t panel_k_;
  Schedule schedule_;
};

Distribution dealt(std::int64_t rows, std::int64_t cols, std::int64_t block_rows,
                   std::int64_t block_cols, int first_row = 0, int first_col = 0) {
  return {rows, cols, block_rows, block_cols, first_row, first_col};
}

void check_all(const Product& product, std::int64_t panel_k) {
  for (int rank = 0; rank < product.grid.ranks(); ++rank) {
    SCOPED_TRACE(testing::Message() << product.grid.p << " x " << product.grid.q << ", rank "
                                    << rank << ", panels of " << panel_k);
    const ScheduleCheck check(product, rank, panel_k);
    check.all_of_k_once();
    check.panels_are_whole();
    check.buffers_are_free();
  }
}

TEST(Schedule, TakesAllOfKOnceFromWhereItLies) {
  for (const Grid& grid :
       {Grid{1, 1}, Grid{1, 2}, Grid{2, 1}, Grid{3, 1}, Grid{2, 2}, Grid{3, 2}, Grid{2, 4}}) {
    const int last_row = grid.p - 1, last_col = grid.q - 1;
    for (std::int64_t panel_k : {5, 1000}) {
      check_all({grid, block_distribution(13, 29, grid), block_distribution(29, 17, grid),
                 block_distribution(13, 17, grid), Op::none, Op::none},
                panel_k);
      check_all({grid, dealt(29, 13, 4, 3, last_row, 0), dealt(17, 29, 5, 6, 0, last_col),
                 dealt(13, 17, 3, 2, last_row, last_col), Op::transpose, Op::transpose},
                panel_k);
      check_all(
          {grid, dealt(13, 29, 2, 3), dealt(29, 17, 3, 4), dealt(13, 17, 2, 4), Op::none, Op::none},
          panel_k);
    }
  }
}

TEST(Schedule, BeginsWithWhatTheRankHas) {
  const Grid grid{2, 1};
  const Product product{grid,
                        block_distribution(64, 64, grid),
                        block_distribution(64, 64, grid),
                        block_distribution(64, 64, grid),
                        Op::none,
                        Op::none};
  for (int rank : {0, 1}) {
    const Schedule schedule = make_schedule(product, rank, 16);
    ASSERT_EQ(schedule.steps.size(), 3u);
    EXPECT_TRUE(schedule.steps[0].a.in_place && schedule.steps[0].b.in_place);
    EXPECT_EQ(schedule.steps[0].of_k[0].index, rank * 32);
    EXPECT_EQ(schedule.steps[0].k, 32);
    // The other half of B, in two panels; A is the rank's own throughout.
    for (std::size_t step : {1u, 2u}) {
      EXPECT_TRUE(schedule.steps[step].a.in_place);
      EXPECT_EQ(schedule.steps[step].b.elements_from_others(rank), 16 * 64);
    }
  }
}

TEST(Schedule, FirstPanelIsShortWhereNothingIsThereToMultiply) {
  const Grid grid{2, 2};
  const Product product{grid,
                        block_distribution(64, 64, grid),
                        block_distribution(64, 64, grid),
                        block_distribution(64, 64, grid),
                        Op::none,
                        Op::none};
  EXPECT_EQ(make_schedule(product, 0, 32).steps[0].k, 32);  // all its own
  EXPECT_EQ(make_schedule(product, 1, 32).steps[0].k, 4);
}

TEST(Schedule, DefaultPanelsKeepBuffersWithinTheirLimit) {
  const Grid two{2, 1}, four{2, 2};
  const auto square = [](std::int64_t n, const Grid& grid) {
    const Distribution d = block_distribution(n, n, grid);
    return Product{grid, d, d, d, Op::none, Op::none};
  };
  EXPECT_EQ(default_panel_k(square(32768, two)), 16384);
  EXPECT_EQ(default_panel_k(square(65536, two)), 16384);  // B alone is gathered
  EXPECT_EQ(default_panel_k(square(131072, four)), 8192);
  EXPECT_EQ(default_panel_k(square(std::int64_t{1} << 30, two)), 256);
}

}  // namespace
}  // namespace kw::distributed
