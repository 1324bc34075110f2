// Slots that fill, go and come.
#include "distributed/node_traffic.hpp"

#include "text.hpp"

namespace kw::distributed {

namespace {

std::size_t bytes_of(const Message& message) {
  return static_cast<std::size_t>(message.piece.elements()) * sizeof(float);
}

// A message has its lines behind each other.
CopyLines lines_of(const Message& message, const Orientation& order) {
  const bool along_k = order.lies_along_k();
  CopyLines lines;
  lines.width =
      static_cast<std::size_t>(along_k ? message.piece.k : message.piece.lines) * sizeof(float);
  lines.height = static_cast<std::size_t>(along_k ? message.piece.lines : message.piece.k);
  return lines;
}

}  // namespace

NodeTraffic::~NodeTraffic() {
  bool is_free = true;
  for (const Sending& each : sending_) {
    if (each.request >= 0) is_free = link_.meeting().cancel(each.request) && is_free;
  }
  for (int request : receiving_) is_free = link_.meeting().cancel(request) && is_free;
  if (!is_free) link_.keep_memory();
}

Status NodeTraffic::begin(const Product& product, std::int64_t panel_k,
                          const std::array<Array, 2>& own, Event inputs_ready) {
  own_ = own;
  MessageShape shape;
  for (std::size_t i = 0; i < 2; ++i) shape.along_k[i] = own[i].order.lies_along_k();
  shape.most_elements = static_cast<std::int64_t>(link_.slots().bytes / sizeof(float));
  sent_ = messages_from(product, rank_, panel_k, shape);
  for (Message& message : messages_to(product, product.nodes.node(rank_), panel_k, shape)) {
    if (message.to == rank_) received_.push_back(message);
    if (message.is_read_by(rank_)) read_.push_back(std::move(message));
  }
  return transfer_.wait(link_.stream(), inputs_ready);
}

bool NodeTraffic::brings(int step, Factor factor) const {
  for (std::size_t i = next_read_; i < read_.size() && read_[i].step == step; ++i) {
    if (read_[i].factor == factor) return true;
  }
  return false;
}

Status NodeTraffic::bring(int step, Factor factor, const Array& panel, Stream channel) {
  return link_.meeting().wait(
      rank_,
      [&](bool* is_over, bool* moved) {
        Status status = move(moved);
        while (status.ok() && brings(step, factor)) {
          const Message& message = read_[next_read_];
          if (link_.landed(message.to).load(std::memory_order_acquire) <= message.place) break;
          status = put_copy(message, panel, channel);
          ++next_read_;
          *moved = true;
        }
        *is_over = !brings(step, factor);
        return status;
      },
      [&] { return late(); });
}

Status NodeTraffic::finish() {
  return link_.meeting().wait(
      rank_,
      [&](bool* is_over, bool* moved) {
        Status status = move(moved);
        *is_over = next_staged_ == sent_.size() && sending_.empty() && reading_.empty();
        return status;
      },
      [&] { return late(); });
}

Status NodeTraffic::move(bool* moved) {
  Status status = receive(moved);
  if (status.ok()) status = send_staged(moved);
  if (status.ok()) status = stage(moved);
  return status.ok() ? release_read(moved) : status;
}

// From the device to free slots.
Status NodeTraffic::stage(bool* moved) {
  while (next_staged_ < sent_.size() &&
         sending_.size() < static_cast<std::size_t>(link_.slots().count)) {
    const Message& message = sent_[next_staged_];
    const Array& own = own_[static_cast<std::size_t>(message.factor)];
    Sending sending{&message, static_cast<int>(next_staged_) % link_.slots().count, {}};
    CopyLines lines = lines_of(message, own.order);
    lines.from = own.data + own.order.offset(message.piece.from_line, message.piece.from_k, own.ld);
    lines.from_pitch = static_cast<std::size_t>(own.ld) * sizeof(float);
    lines.from_device = own.device;
    lines.to = link_.outgoing(sending.slot);
    lines.to_pitch = lines.width;
    lines.to_device = -1;
    Status status = link_.take_event(&sending.copied);
    if (status.ok()) status = transfer_.copy(lines, link_.stream());
    if (status.ok()) status = transfer_.record(sending.copied, link_.stream());
    if (!status.ok()) return status;
    sending_.push_back(sending);
    ++next_staged_;
    *moved = true;
  }
  return Status::success();
}

// In their order, since the receivers expect them in it.
Status NodeTraffic::send_staged(bool* moved) {
  for (Sending& each : sending_) {
    if (each.request >= 0) continue;
    bool is_copied = false;
    Status status = transfer_.has_passed(each.copied, &is_copied);
    if (!status.ok()) return status;
    if (!is_copied) break;
    status = link_.meeting().send(each.message->to, link_.outgoing(each.slot),
                                  bytes_of(*each.message), &each.request);
    if (!status.ok()) return status;
    *moved = true;
  }
  while (!sending_.empty() && sending_.front().request >= 0) {
    bool has_gone = false;
    Status status = link_.meeting().is_done(sending_.front().request, &has_gone);
    if (!status.ok() || !has_gone) return status;
    link_.give_back(sending_.front().copied);
    sending_.pop_front();
    *moved = true;
  }
  return Status::success();
}

// Into slots that all have read.
Status NodeTraffic::receive(bool* moved) {
  const auto count = static_cast<std::size_t>(link_.slots().count);
  while (next_posted_ < received_.size() && next_posted_ - landed_ < count) {
    const Message& message = received_[next_posted_];
    const int slot = slot_of(message);
    if (link_.readers_left(rank_, slot).load(std::memory_order_acquire) > 0) break;
    int request = 0;
    Status status = link_.meeting().receive(message.from, link_.incoming(rank_, slot),
                                            bytes_of(message), &request);
    if (!status.ok()) return status;
    receiving_.push_back(request);
    ++next_posted_;
    *moved = true;
  }
  while (!receiving_.empty()) {
    bool has_come = false;
    Status status = link_.meeting().is_done(receiving_.front(), &has_come);
    if (!status.ok() || !has_come) return status;
    const Message& message = received_[landed_++];
    link_.readers_left(rank_, slot_of(message))
        .store(static_cast<int>(message.readers.size()), std::memory_order_release);
    link_.landed(rank_).store(static_cast<int>(landed_), std::memory_order_release);
    receiving_.pop_front();
    *moved = true;
  }
  return Status::success();
}

Status NodeTraffic::put_copy(const Message& message, const Array& panel, Stream channel) {
  CopyLines lines = lines_of(message, panel.order);
  lines.from = link_.incoming(message.to, slot_of(message));
  lines.from_pitch = lines.width;
  lines.from_device = -1;
  lines.to = panel.data + panel.order.offset(message.piece.to_line, message.piece.to_k, panel.ld);
  lines.to_pitch = static_cast<std::size_t>(panel.ld) * sizeof(float);
  lines.to_device = panel.device;
  Reading reading{&message, {}};
  Status status = link_.take_event(&reading.copied);
  if (status.ok()) status = transfer_.copy(lines, channel);
  if (status.ok()) status = transfer_.record(reading.copied, channel);
  if (status.ok()) reading_.push_back(reading);
  return status;
}

Status NodeTraffic::release_read(bool* moved) {
  while (!reading_.empty()) {
    bool is_read = false;
    Status status = transfer_.has_passed(reading_.front().copied, &is_read);
    if (!status.ok() || !is_read) return status;
    const Message& message = *reading_.front().message;
    link_.readers_left(message.to, slot_of(message)).fetch_sub(1, std::memory_order_acq_rel);
    link_.give_back(reading_.front().copied);
    reading_.pop_front();
    *moved = true;
  }
  return Status::success();
}

Status NodeTraffic::late() const {
  const double limit_s = link_.meeting().limit_s();
  const char* const what = "call every rank, or raise GroupOptions::time_limit_s";
  if (next_read_ < read_.size()) {
    const Message& message = read_[next_read_];
    return rank_failure(text("rank ", message.from, "'s part of ",
                             message.factor == Factor::a ? "A" : "B", " for rank ", message.to,
                             " did not come within ", limit_s, " s: ", what));
  }
  if (!sending_.empty()) {
    return rank_failure(text("rank ", sending_.front().message->to, " did not take what rank ",
                             rank_, " sends within ", limit_s, " s: ", what));
  }
  return rank_failure(
      text("copies of rank ", rank_, " did not end within ", limit_s, " s: ", what));
}

}  // namespace kw::distributed
