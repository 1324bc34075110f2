// One rank's part of a distributed product: the steps of its schedule, put on its two streams.
//
// Order between streams and devices, by events and between processes by counters (signals.hpp), so
// that the host waits for no device:
//   before the first copy   the copies wait for the streams of all ranks (inputs_ready)
//   before a buffer is read  the product waits for its copies (filled)
//   before it is written    the copies wait for the product that read it last (product_event)
//   after the last step     every rank's stream waits for the copies of all ranks (copies_done)
// Between nodes the host waits: for what a panel needs, before it puts its product on the stream,
// and at the end for what it sends (node_traffic.hpp).
#include <chrono>
#include <exception>
#include <optional>
#include <thread>

#include "api/calls.hpp"
#include "distributed/checks.hpp"
#include "distributed/group_state.hpp"
#include "distributed/node_traffic.hpp"
#include "distributed/orientation.hpp"
#include "text.hpp"

namespace kw::detail {

namespace {

using distributed::Factor;
using distributed::Orientation;
using distributed::Panel;
using distributed::Piece;
using distributed::Schedule;
using distributed::Signal;
using distributed::Step;
using distributed::Timeline;

struct Side {
  Seat::Operand operand;
  Orientation order;
  std::int64_t lines;  // of the rank's part of C
  DistributedMatrix<const float> DistributedCall::*matrix;
  SharedMemory CallMessage::*memory;
};

class RankRun {
 public:
  RankRun(GroupState& group, int rank, const std::vector<CallMessage>& calls,
          const CallParts& parts)
      : group_(group),
        seat_(group.seat(rank)),
        rank_(rank),
        parts_(parts),
        calls_(calls),
        call_(calls[static_cast<std::size_t>(rank)].call),
        sources_(2 * calls.size()) {}

  Status put_on_streams() {
    const distributed::Product product = call_.product(group_.grid(), group_.nodes());
    const std::int64_t panel_k =
        call_.options.panel_k > 0 ? call_.options.panel_k : distributed::default_panel_k(product);
    if (call_.alpha != 0) schedule_ = make_schedule(product, rank_, panel_k);
    const Side a{Seat::Operand::a,
                 {call_.a.op == Op::none, call_.a.layout},
                 schedule_.rows,
                 &DistributedCall::a,
                 &CallMessage::a};
    const Side b{Seat::Operand::b,
                 {call_.b.op != Op::none, call_.b.layout},
                 schedule_.cols,
                 &DistributedCall::b,
                 &CallMessage::b};
    Status status;
    if (group_.link() != nullptr && call_.alpha != 0 && parts_.copies) {
      traffic_.emplace(*group_.link(), seat_.transfer(), rank_);
      status = traffic_->begin(product, panel_k, {own(a), own(b)},
                               seat_.signals[static_cast<int>(Signal::inputs_ready)]);
    }
    if (status.ok()) status = schedule_.steps.empty() ? only_scale() : take_steps(a, b);
    return status.ok() && traffic_ ? traffic_->finish() : status;
  }

 private:
  Status take_steps(const Side& a, const Side& b) {
    Status status = reserve(a, schedule_.buffers_a, schedule_.longest_a);
    if (status.ok()) status = reserve(b, schedule_.buffers_b, schedule_.longest_b);
    if (status.ok()) status = wait_for_inputs();
    for (std::size_t i = 0; status.ok() && i < schedule_.steps.size(); ++i) {
      status = take_step(static_cast<int>(i), a, b);
    }
    return status;
  }

  // What other nodes get of this rank's part; it is only read.
  distributed::Array own(const Side& side) const {
    const DistributedMatrix<const float>& matrix = call_.*side.matrix;
    return {const_cast<float*>(matrix.data), matrix.ld, side.order, seat_.state().device().ordinal};
  }

  Status reserve(const Side& side, int buffers, std::int64_t longest) {
    // Panels of several lengths have several leading dimensions.
    const std::int64_t elements = (side.lines + 3) * (longest + 3);
    for (int i = 0; i < buffers; ++i) {
      Status status =
          seat_.reserve(side.operand, i, static_cast<std::size_t>(elements) * sizeof(float));
      if (!status.ok()) return status;
    }
    return Status::success();
  }

  Status wait_for_inputs() {
    for (int other = 0; other < group_.grid().ranks(); ++other) {
      Status status = group_.wait_for(rank_, seat_.channel(), other, Signal::inputs_ready,
                                      calls_[static_cast<std::size_t>(other)].number);
      if (!status.ok()) return status;
    }
    return Status::success();
  }

  Status take_step(int number, const Side& a, const Side& b) {
    const Step& step = schedule_.steps[static_cast<std::size_t>(number)];
    Status status = group_.meeting().failure(rank_);
    if (status.ok() && group_.before_step) status = group_.before_step(rank_, number);
    MatrixView<const float> view_a, view_b;
    // What the node has needs no other's help, so it comes first.
    const bool b_first = brings(step, Factor::a) && !brings(step, Factor::b);
    if (status.ok() && b_first) status = gather(number, step.b, step.k, b, &view_b);
    if (status.ok()) status = gather(number, step.a, step.k, a, &view_a);
    if (status.ok() && !b_first) status = gather(number, step.b, step.k, b, &view_b);
    if (status.ok()) status = multiply(number, view_a, view_b);
    return status;
  }

  bool brings(const Step& step, Factor factor) const {
    return traffic_ && step.network >= 0 && traffic_->brings(step.network, factor);
  }

  // Puts the copies on their stream, and lets the products wait for them.
  Status gather(int number, const Panel& panel, std::int64_t k, const Side& side,
                MatrixView<const float>* view) {
    const DistributedMatrix<const float>& matrix = call_.*side.matrix;
    if (panel.in_place) {
      const float* data = matrix.data + side.order.offset(panel.from_line, panel.from_k, matrix.ld);
      *view = view_of(data, matrix.ld, k, side, matrix);
      return Status::success();
    }
    float* buffer = seat_.buffer(side.operand, panel.buffer);
    const std::int64_t ld = side.order.ld_for(side.lines, k);
    *view = view_of(buffer, ld, k, side, matrix);
    if (!parts_.copies) return Status::success();
    Transfer& transfer = seat_.transfer();
    Status status;
    if (panel.after >= 0) {
      Event product;
      status = seat_.product_event(panel.after, &product);
      if (status.ok()) status = transfer.wait(seat_.channel(), product);
    }
    if (status.ok()) status = begins(Timeline::Kind::copy, number, seat_.channel());
    for (const Piece& piece : panel.pieces) {
      if (status.ok() && group_.nodes().are_one(rank_, piece.owner)) {
        status = copy(piece, side, buffer, ld);
      }
    }
    const int network = schedule_.steps[static_cast<std::size_t>(number)].network;
    const auto factor = static_cast<Factor>(side.operand);
    if (status.ok() && traffic_ && network >= 0) {
      status =
          traffic_->bring(network, factor, {buffer, ld, side.order, seat_.state().device().ordinal},
                          seat_.channel());
    }
    if (status.ok()) status = ends(seat_.channel());
    const Event filled = seat_.filled(side.operand, panel.buffer);
    if (status.ok()) status = transfer.record(filled, seat_.channel());
    return status.ok() ? transfer.wait(seat_.state().stream(), filled) : status;
  }

  MatrixView<const float> view_of(const float* data, std::int64_t ld, std::int64_t k,
                                  const Side& side,
                                  const DistributedMatrix<const float>& matrix) const {
    const bool by_rows = side.order.lines_are_rows;
    return {data, by_rows ? side.lines : k, by_rows ? k : side.lines, ld, matrix.layout, matrix.op};
  }

  Status copy(const Piece& piece, const Side& side, float* buffer, std::int64_t ld) {
    const CallMessage& theirs = calls_[static_cast<std::size_t>(piece.owner)];
    const DistributedMatrix<const float>& matrix = theirs.call.*side.matrix;
    const bool along_k = side.order.lies_along_k();
    CopyLines lines;
    Status status = find_source(piece.owner, side, &lines);
    if (!status.ok()) return status;
    lines.to = buffer + side.order.offset(piece.to_line, piece.to_k, ld);
    lines.to_pitch = static_cast<std::size_t>(ld) * sizeof(float);
    lines.to_device = seat_.state().device().ordinal;
    lines.from = static_cast<const float*>(lines.from) +
                 side.order.offset(piece.from_line, piece.from_k, matrix.ld);
    lines.from_pitch = static_cast<std::size_t>(matrix.ld) * sizeof(float);
    lines.width = static_cast<std::size_t>(along_k ? piece.k : piece.lines) * sizeof(float);
    lines.height = static_cast<std::size_t>(along_k ? piece.lines : piece.k);
    return seat_.transfer().copy(lines, seat_.channel());
  }

  // Where the owner's part begins. Memory of another process is opened before its first copy.
  Status find_source(int owner, const Side& side, CopyLines* lines) {
    const CallMessage& theirs = calls_[static_cast<std::size_t>(owner)];
    std::optional<CopyLines>& known =
        sources_[2 * static_cast<std::size_t>(owner) + static_cast<std::size_t>(side.operand)];
    if (!known) {
      CopyLines source;
      if (owner == rank_ || !group_.is_of_processes()) {
        source.from = (theirs.call.*side.matrix).data;
        source.from_device = group_.seat(owner).state().device().ordinal;
      } else {
        Status status = seat_.transfer().open_memory(theirs.*side.memory, &source);
        if (!status.ok()) return status;
      }
      known = source;
    }
    *lines = *known;
    return Status::success();
  }

  Status begins(Timeline::Kind kind, int number, Stream stream) {
    if (parts_.timeline == nullptr) return Status::success();
    return parts_.timeline->begin(kind, number, stream);
  }
  Status ends(Stream stream) {
    return parts_.timeline == nullptr ? Status::success() : parts_.timeline->end(stream);
  }

  MatrixView<float> own_c() const {
    const Distribution& whole = call_.c.whole;
    return {call_.c.data,
            local_rows(whole, group_.grid(), rank_),
            local_cols(whole, group_.grid(), rank_),
            call_.c.ld,
            call_.c.layout,
            Op::none};
  }

  Status multiply(int number, MatrixView<const float> a, MatrixView<const float> b) {
    if (parts_.products) {
      SgemmCall product{call_.alpha, a, b, number == 0 ? call_.beta : 1.0f, own_c(), {}};
      product.options.math = call_.options.math;
      const Stream stream = seat_.state().stream();
      Status status = begins(Timeline::Kind::product, number, stream);
      if (status.ok()) status = detail::sgemm(seat_.state(), product);
      if (status.ok()) status = ends(stream);
      if (!status.ok()) return status;
    }
    Event event;
    Status status = seat_.product_event(number, &event);
    return status.ok() ? seat_.transfer().record(event, seat_.state().stream()) : status;
  }

  // C = beta C.
  Status only_scale() {
    const MatrixView<float> c = own_c();
    if (c.rows == 0 || c.cols == 0 || !parts_.products) return Status::success();
    return detail::sgemm(seat_.state(), {call_.alpha,
                                         {nullptr, c.rows, 0, 1, Layout::row_major, Op::none},
                                         {nullptr, 0, c.cols, c.cols, Layout::row_major, Op::none},
                                         call_.beta,
                                         c,
                                         {}});
  }

  GroupState& group_;
  Seat& seat_;
  const int rank_;
  const CallParts parts_;
  const std::vector<CallMessage>& calls_;
  const DistributedCall& call_;
  std::vector<std::optional<CopyLines>> sources_;  // two a rank, once found
  Schedule schedule_;
  std::optional<distributed::NodeTraffic> traffic_;
};

// What follows on the rank's stream waits for all who copy from it.
Status wait_for_copies(GroupState& group, int rank, const std::vector<CallMessage>& calls) {
  const Stream stream = group.seat(rank).state().stream();
  for (int other = 0; other < group.grid().ranks(); ++other) {
    Status status = group.wait_for(rank, stream, other, Signal::copies_done,
                                   calls[static_cast<std::size_t>(other)].number);
    if (!status.ok()) return status;
  }
  return Status::success();
}

// The other ranks learn of the failure. A process that ends makes copies from it fail a moment
// before its end can be seen: then that is the reason.
Status told(GroupState& group, int rank, const Status& status) {
  const bool may_be_a_consequence =
      group.is_of_processes() && status.code == StatusCode::device_error;
  for (int look = 0; look < (may_be_a_consequence ? 20 : 1); ++look) {
    if (look > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    Status known = group.meeting().failure(rank);
    if (!known.ok()) return known;
  }
  group.meeting().abort(rank, status);
  return status;
}

bool has_elements(const Distribution& d, const Grid& grid, int rank) {
  return local_rows(d, grid, rank) > 0 && local_cols(d, grid, rank) > 0;
}

// Other processes open the parts of A and B.
Status share(GroupState& group, int rank, CallMessage* message) {
  const DistributedCall& call = message->call;
  Status status = distributed::check_numbers(group.grid(), call);
  if (!status.ok()) return Status::success();  // all ranks find it
  Transfer& transfer = group.seat(rank).transfer();
  if (call.alpha == 0) return status;
  if (call.a.data != nullptr && has_elements(call.a.whole, group.grid(), rank)) {
    status = transfer.share_memory(call.a.data, &message->a);
  }
  if (status.ok() && call.b.data != nullptr && has_elements(call.b.whole, group.grid(), rank)) {
    status = transfer.share_memory(call.b.data, &message->b);
  }
  return status;
}

Status check_shared(const Grid& grid, const distributed::Nodes& nodes,
                    const std::vector<CallMessage>& calls) {
  for (std::size_t r = 0; r < calls.size(); ++r) {
    const CallMessage& its = calls[r];
    const int rank = static_cast<int>(r);
    const bool is_alone = nodes.are_several() && nodes.ranks(nodes.node(rank)).size() == 1;
    if (its.call.alpha == 0 || is_alone) continue;
    const bool a_is_closed = has_elements(its.call.a.whole, grid, rank) && its.a.is_shared == 0;
    const bool b_is_closed = has_elements(its.call.b.whole, grid, rank) && its.b.is_shared == 0;
    if (!a_is_closed && !b_is_closed) continue;
    const char* const name = a_is_closed ? "a" : "b";
    return Status::failure(StatusCode::invalid_argument,
                           text("rank ", rank, ": ", name,
                                " lies in memory that no other process can open: pass memory of "
                                "cudaMalloc or hipMalloc"),
                           name);
  }
  return Status::success();
}

Status run(GroupState& group, int rank, const DistributedCall& call, const CallParts& parts) {
  Seat& seat = group.seat(rank);
  CallMessage message{call, {}, {}, group.begin_call()};
  std::vector<CallMessage> calls;
  if (group.link() != nullptr) group.link()->landed(rank).store(0);
  Status status = group.signal(rank, Signal::inputs_ready, seat.state().stream(), message.number);
  if (status.ok() && group.is_of_processes()) status = share(group, rank, &message);
  if (!status.ok()) return told(group, rank, status);
  status = exchange(group.meeting(), rank, message, &calls);
  if (!status.ok()) return status;
  // All ranks find the same fault, and none has begun.
  status = distributed::check_calls(group.grid(), calls);
  if (status.ok() && group.is_of_processes())
    status = check_shared(group.grid(), group.nodes(), calls);
  if (!status.ok()) return status;
  status = RankRun(group, rank, calls, parts).put_on_streams();
  if (status.ok()) {
    status = group.signal(rank, Signal::copies_done, seat.channel(), message.number);
  }
  if (!status.ok()) return told(group, rank, status);
  status = group.meeting().arrive(rank);
  if (!status.ok()) return status;
  status = wait_for_copies(group, rank, calls);
  return status.ok() ? status : told(group, rank, status);
}

}  // namespace

Status sgemm_distributed(GroupState& group, int rank, const DistributedCall& call,
                         const CallParts& parts) {
  Status status = group.check_rank(rank);
  if (!status.ok()) return status;
  try {
    return group.seat(rank).state().runtime().with_device(
        [&] { return run(group, rank, call, parts); });
  } catch (const std::exception& error) {
    return told(
        group, rank,
        Status::failure(StatusCode::internal_error, text("rank ", rank, ": ", error.what())));
  }
}

}  // namespace kw::detail
