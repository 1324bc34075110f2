// Pieces cut into messages, and dealt out to the ranks that receive them.
#include "distributed/network.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace kw::distributed {

namespace {

// Ranks of a node that need the same of one operand, and what the first of them does.
struct Readers {
  Factor factor;
  std::vector<int> ranks;
  Schedule schedule;
};

bool computes(const Product& product, int rank) {
  return local_rows(product.c, product.grid, rank) > 0 &&
         local_cols(product.c, product.grid, rank) > 0;
}

std::vector<Readers> readers_of(const Product& product, int node, std::int64_t panel_k) {
  std::map<int, std::vector<int>> rows, cols;
  for (int rank : product.nodes.ranks(node)) {
    if (!computes(product, rank)) continue;
    rows[product.grid.row(rank)].push_back(rank);
    cols[product.grid.col(rank)].push_back(rank);
  }
  std::vector<Readers> all;
  all.reserve(rows.size() + cols.size());
  for (const auto& [row, ranks] : rows) {
    all.push_back({Factor::a, ranks, make_schedule(product, ranks[0], panel_k)});
  }
  for (const auto& [col, ranks] : cols) {
    all.push_back({Factor::b, ranks, make_schedule(product, ranks[0], panel_k)});
  }
  return all;
}

// Whole lines of memory where they are no longer than a message.
std::vector<Piece> cut_piece(const Piece& piece, bool along_k, std::int64_t most) {
  const std::int64_t inner = along_k ? piece.k : piece.lines;
  const std::int64_t outer = along_k ? piece.lines : piece.k;
  const std::int64_t inner_each = std::min(inner, most);
  const std::int64_t outer_each = std::max<std::int64_t>(1, most / inner_each);
  std::vector<Piece> parts;
  for (std::int64_t o = 0; o < outer; o += outer_each) {
    for (std::int64_t i = 0; i < inner; i += inner_each) {
      const std::int64_t line = along_k ? o : i, k = along_k ? i : o;
      const std::int64_t outers = std::min(outer_each, outer - o);
      const std::int64_t inners = std::min(inner_each, inner - i);
      parts.push_back({piece.owner, piece.from_line + line, piece.from_k + k, piece.to_line + line,
                       piece.to_k + k, along_k ? outers : inners, along_k ? inners : outers});
    }
  }
  return parts;
}

void append_messages(const Product& product, const Readers& readers, const MessageShape& shape,
                     std::vector<Message>* all) {
  std::size_t next = 0;
  const bool along_k = shape.along_k[static_cast<std::size_t>(readers.factor)];
  for (const Step& step : readers.schedule.steps) {
    if (step.network < 0) continue;
    for (const Piece& piece : (readers.factor == Factor::a ? step.a : step.b).pieces) {
      if (product.nodes.are_one(piece.owner, readers.ranks[0])) continue;
      for (const Piece& part : cut_piece(piece, along_k, shape.most_elements)) {
        const int to = readers.ranks[next++ % readers.ranks.size()];
        all->push_back({step.network, readers.factor, piece.owner, to, 0, readers.ranks, part});
      }
    }
  }
}

bool is_earlier(const Message& x, const Message& y) {
  return std::tie(x.step, x.factor) < std::tie(y.step, y.factor);
}

}  // namespace

bool Message::is_read_by(int rank) const {
  return std::find(readers.begin(), readers.end(), rank) != readers.end();
}

std::vector<Message> messages_to(const Product& product, int node, std::int64_t panel_k,
                                 const MessageShape& shape) {
  std::vector<Message> all;
  for (const Readers& readers : readers_of(product, node, panel_k)) {
    append_messages(product, readers, shape, &all);
  }
  std::stable_sort(all.begin(), all.end(), is_earlier);
  std::map<int, int> received;
  for (Message& message : all) message.place = received[message.to]++;
  return all;
}

std::vector<Message> messages_from(const Product& product, int rank, std::int64_t panel_k,
                                   const MessageShape& shape) {
  std::vector<Message> own;
  for (int node = 0; node < product.nodes.count(); ++node) {
    if (node == product.nodes.node(rank)) continue;
    for (Message& message : messages_to(product, node, panel_k, shape)) {
      if (message.from == rank) own.push_back(std::move(message));
    }
  }
  std::stable_sort(own.begin(), own.end(), is_earlier);
  return own;
}

}  // namespace kw::distributed
