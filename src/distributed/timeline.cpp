// Events around products and copies.
#include "distributed/timeline.hpp"

namespace kw::distributed {

Timeline::~Timeline() {
  for (Event event : events_) transfer_.destroy_event(event);
}

Status Timeline::recorded(Event* event, Stream stream) {
  Status status = transfer_.create_timed_event(event);
  if (!status.ok()) return status;
  events_.push_back(*event);
  return transfer_.record(*event, stream);
}

Status Timeline::start(Stream stream) { return recorded(&start_, stream); }

Status Timeline::begin(Kind kind, int step, Stream stream) {
  all_.push_back({kind, step, {}, {}});
  return recorded(&all_.back().begin, stream);
}

Status Timeline::end(Stream stream) { return recorded(&all_.back().end, stream); }

Status Timeline::spans(std::vector<Span>* found) {
  for (const Recorded& one : all_) {
    Span span{one.kind, one.step, 0, 0};
    Status status = transfer_.time_us(start_, one.begin, &span.begin_us);
    if (status.ok()) status = transfer_.time_us(start_, one.end, &span.end_us);
    if (!status.ok()) return status;
    found->push_back(span);
  }
  return Status::success();
}

}  // namespace kw::distributed
