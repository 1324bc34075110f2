// The steps of a rank.
#include "distributed/schedule.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace kw::distributed {

namespace {

// An operand as a rank uses it: its lines (rows of op(A), columns of op(B)) and k, each dealt out
// over one dimension of the grid.
struct Side {
  Dealt lines, k;
  bool k_over_columns = false;  // of the grid
  Grid grid;
  std::vector<Run> own_lines;  // those of the rank's part of C
  bool is_aligned = false;     // it lies as C does: a line's owners are in the rank's row or column

  int owner(const Run& line, const Run& along_k) const {
    return k_over_columns ? grid.rank(line.owner, along_k.owner)
                          : grid.rank(along_k.owner, line.owner);
  }
};

Dealt dealt_rows(const Distribution& d, const Grid& grid) {
  return {d.rows, d.block_rows, d.first_row, grid.p};
}
Dealt dealt_cols(const Distribution& d, const Grid& grid) {
  return {d.cols, d.block_cols, d.first_col, grid.q};
}

// `lines_are_rows` of the stored matrix; those of op(A) are rows of C, those of op(B) its columns.
Side make_side(const Distribution& d, const Grid& grid, bool lines_are_rows, bool c_lines_are_rows,
               const Dealt& of_c, int coordinate) {
  Side side;
  side.grid = grid;
  side.lines = lines_are_rows ? dealt_rows(d, grid) : dealt_cols(d, grid);
  side.k = lines_are_rows ? dealt_cols(d, grid) : dealt_rows(d, grid);
  side.k_over_columns = lines_are_rows;
  side.own_lines = runs_of(of_c, coordinate, side.lines);
  side.is_aligned = lines_are_rows == c_lines_are_rows && side.lines == of_c;
  return side;
}

// All of k whose owners are the same, cut into panels.
struct Class {
  int a_owner = 0, b_owner = 0;  // coordinates in the grid
  std::vector<Segment> segments;
  std::int64_t foreign_elements_a_k = 0;  // that a k of it takes from other ranks
  int turn = 0;                           // among classes that cost the same
  int from_nodes = 0;                     // operands of which other nodes may hold a part
};

std::int64_t foreign_lines(const Side& side, int k_owner, int rank) {
  std::int64_t lines = 0;
  for (const Run& line : side.own_lines) {
    Run along_k;
    along_k.owner = k_owner;
    if (side.owner(line, along_k) != rank) lines += line.length;
  }
  return lines;
}

// Of how many operands other nodes may hold a part. The same for all ranks of a node.
int operands_from_nodes(const Side& a, const Side& b, const Class& c, const Nodes& nodes,
                        int rank) {
  if (!nodes.are_several()) return 0;
  const Grid& grid = a.grid;
  const auto is_here = [&](const Side& side, int k_owner) {
    if (!side.is_aligned) return false;
    const int owner = side.k_over_columns ? grid.rank(grid.row(rank), k_owner)
                                          : grid.rank(k_owner, grid.col(rank));
    return nodes.are_one(owner, rank);
  };
  return (is_here(a, c.a_owner) ? 0 : 1) + (is_here(b, c.b_owner) ? 0 : 1);
}

// First what the rank has itself, last what comes from other nodes. Among others each rank begins
// with its neighbour, so that not all of them copy from the same one; what comes from other nodes
// all ranks of a node take in the same order, so that it need come but once.
std::vector<Class> classes_in_order(const Side& a, const Side& b, const Nodes& nodes, int rank) {
  std::map<std::pair<int, int>, Class> found;
  for (const Segment& segment : segments(a.k, b.k)) {
    Class& c = found[{segment.first_owner, segment.second_owner}];
    c.a_owner = segment.first_owner;
    c.b_owner = segment.second_owner;
    c.segments.push_back(segment);
  }
  const auto distance = [&](const Side& side, int owner, int from) {
    const int own = side.k_over_columns ? side.grid.col(from) : side.grid.row(from);
    return (owner - own + side.k.ranks) % side.k.ranks;
  };
  std::vector<Class> classes;
  for (auto& [owners, c] : found) {
    c.foreign_elements_a_k = foreign_lines(a, c.a_owner, rank) + foreign_lines(b, c.b_owner, rank);
    c.from_nodes = operands_from_nodes(a, b, c, nodes, rank);
    const int from = c.from_nodes > 0 ? nodes.first_rank(rank) : rank;
    if (c.from_nodes > 0) c.foreign_elements_a_k = 0;
    c.turn = distance(a, c.a_owner, from) * b.k.ranks + distance(b, c.b_owner, from);
    classes.push_back(std::move(c));
  }
  std::sort(classes.begin(), classes.end(), [](const Class& x, const Class& y) {
    return std::tie(x.from_nodes, x.foreign_elements_a_k, x.turn) <
           std::tie(y.from_nodes, y.foreign_elements_a_k, y.turn);
  });
  return classes;
}

// Panels of about the same length, no longer than `panel_k`; the first one of `first` at most.
std::vector<std::vector<Segment>> cut(const Class& c, std::int64_t panel_k, std::int64_t first) {
  std::int64_t total = 0;
  for (const Segment& segment : c.segments) total += segment.length;
  std::int64_t room = std::min(first, total);
  const std::int64_t rest = total - room;
  const std::int64_t panels = std::max<std::int64_t>(1, (rest + panel_k - 1) / panel_k);
  const std::int64_t each = (rest + panels - 1) / panels;
  std::vector<std::vector<Segment>> cuts(1);
  for (Segment segment : c.segments) {
    while (segment.length > 0) {
      if (room == 0) {
        cuts.emplace_back();
        room = each;
      }
      Segment part = segment;
      part.length = std::min(room, segment.length);
      cuts.back().push_back(part);
      room -= part.length;
      segment.index += part.length;
      segment.length -= part.length;
    }
  }
  return cuts;
}

Panel make_panel(const Side& side, const std::vector<Segment>& of_k, int rank) {
  std::vector<Run> runs;
  std::int64_t place = 0;
  for (const Segment& segment : of_k) {
    append_runs(side.k, segment.index, segment.length, place, &runs);
    place += segment.length;
  }
  Panel panel;
  for (const Run& line : side.own_lines) {
    for (const Run& along_k : runs) {
      panel.pieces.push_back({side.owner(line, along_k), line.local, along_k.local, line.place,
                              along_k.place, line.length, along_k.length});
    }
  }
  if (panel.pieces.size() == 1 && panel.pieces[0].owner == rank) {
    panel.in_place = true;
    panel.from_line = panel.pieces[0].from_line;
    panel.from_k = panel.pieces[0].from_k;
    panel.pieces.clear();
  }
  return panel;
}

// Two buffers in turn; one is free again after the step that used it last.
class Buffers {
 public:
  void take(Panel* panel, int step) {
    if (panel->in_place) return;
    panel->buffer = next_;
    panel->after = last_user_[next_];
    last_user_[next_] = step;
    used_ = std::max(used_, next_ + 1);
    next_ = 1 - next_;
  }
  int used() const { return used_; }

 private:
  int next_ = 0, used_ = 0;
  int last_user_[2] = {-1, -1};
};

// The most of k of a panel that other nodes have a part of. Its product begins when all of it has
// come, and that of the last one hides nothing: one panel of 8192 at 6 GB/s took as long as the
// transfer and its product in turn (results/h100x2/nodes-one-panel.txt). A short one has C read and
// written once more.
std::int64_t most_from_nodes(const std::vector<Class>& classes, std::int64_t panel_k) {
  constexpr std::int64_t panels = 4, least = 2048;
  std::int64_t k = 0;
  for (const Class& c : classes) {
    if (c.from_nodes == 0) continue;
    for (const Segment& segment : c.segments) k += segment.length;
  }
  return std::min(panel_k, std::max(least, (k + panels - 1) / panels));
}

bool is_in_place(const Side& a, const Side& b, const Class& c, int rank) {
  return make_panel(a, c.segments, rank).in_place && make_panel(b, c.segments, rank).in_place;
}

}  // namespace

std::int64_t Panel::elements_from_others(int rank) const {
  std::int64_t elements = 0;
  for (const Piece& piece : pieces) {
    if (piece.owner != rank) elements += piece.elements();
  }
  return elements;
}

std::int64_t default_panel_k(const Product& product) {
  constexpr std::int64_t most = 16384, least = 256;
  constexpr std::int64_t elements = std::int64_t{2} << 30;  // 8 GiB
  const Grid& grid = product.grid;
  std::int64_t lines = 0;
  const auto add = [&](const Distribution& d, bool lines_are_rows, const Dealt& of_c, int first) {
    const Side side = make_side(d, grid, lines_are_rows, lines_are_rows, of_c, first);
    const bool is_gathered = side.k.ranks > 1 || !(side.lines == of_c);
    if (is_gathered) lines += of_c.count(first);
  };
  add(product.a, product.op_a == Op::none, dealt_rows(product.c, grid), product.c.first_row);
  add(product.b, product.op_b != Op::none, dealt_cols(product.c, grid), product.c.first_col);
  return std::clamp(elements / std::max<std::int64_t>(1, 2 * lines), least, most);
}

Schedule make_schedule(const Product& product, int rank, std::int64_t panel_k) {
  const Grid& grid = product.grid;
  const Dealt c_rows = dealt_rows(product.c, grid), c_cols = dealt_cols(product.c, grid);
  Schedule schedule;
  schedule.rows = c_rows.count(grid.row(rank));
  schedule.cols = c_cols.count(grid.col(rank));
  if (schedule.rows == 0 || schedule.cols == 0) return schedule;
  const Side a = make_side(product.a, grid, product.op_a == Op::none, true, c_rows, grid.row(rank));
  const Side b =
      make_side(product.b, grid, product.op_b != Op::none, false, c_cols, grid.col(rank));
  Buffers buffers_a, buffers_b;
  int from_nodes = 0;
  const std::vector<Class> classes = classes_in_order(a, b, product.nodes, rank);
  const std::int64_t most_of_nodes = most_from_nodes(classes, panel_k);
  for (const Class& c : classes) {
    const bool in_place = c.from_nodes == 0 && is_in_place(a, b, c, rank);
    const std::int64_t most = in_place ? product.k() : c.from_nodes == 0 ? panel_k : most_of_nodes;
    // Nothing is multiplied while the first panel is on its way: a short one.
    const bool is_exposed = !in_place && schedule.steps.empty();
    const std::int64_t first = is_exposed ? std::max<std::int64_t>(1, most / 8) : most;
    for (const std::vector<Segment>& of_k : cut(c, most, first)) {
      Step step;
      for (const Segment& segment : of_k) {
        step.of_k.push_back({segment.index, segment.length, 0, 0, step.k});
        step.k += segment.length;
      }
      step.a = make_panel(a, of_k, rank);
      step.b = make_panel(b, of_k, rank);
      if (c.from_nodes > 0) step.network = from_nodes++;
      const int number = static_cast<int>(schedule.steps.size());
      buffers_a.take(&step.a, number);
      buffers_b.take(&step.b, number);
      if (!step.a.in_place) schedule.longest_a = std::max(schedule.longest_a, step.k);
      if (!step.b.in_place) schedule.longest_b = std::max(schedule.longest_b, step.k);
      schedule.steps.push_back(std::move(step));
    }
  }
  schedule.buffers_a = buffers_a.used();
  schedule.buffers_b = buffers_b.used();
  return schedule;
}

}  // namespace kw::distributed
