// Products of matrices in host memory: the steps of tiles.hpp on three streams and two threads.
//
//   calling thread   copies tiles of A and B (and C, with beta) in, puts products on the context's
//                    stream; it is ahead of the device by as much as there are slots
//   storing thread   copies each finished tile of C out
//
// A slot of C is used again once the storing thread has read it; all else is ordered by events.
#include "kernelwright/out_of_core.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "api/calls.hpp"
#include "api/check.hpp"
#include "api/check_sgemm.hpp"
#include "distributed/calls.hpp"
#include "distributed/orientation.hpp"
#include "distributed/staging.hpp"
#include "distributed/tiles.hpp"
#include "text.hpp"

namespace kw::distributed {

namespace {

using detail::ContextState;
using detail::SgemmCall;

// A matrix in host memory by lines and k: of A rows and k, of B columns and k, of C rows and
// columns.
struct HostMatrix {
  unsigned char* data = nullptr;
  std::int64_t ld = 0;
  Orientation order;

  HostLines tile(std::int64_t line, std::int64_t k, std::int64_t lines, std::int64_t of_k) const {
    const std::int64_t across = order.lies_along_k() ? of_k : lines;
    const std::int64_t down = order.lies_along_k() ? lines : of_k;
    return {data + order.offset(line, k, ld) * static_cast<std::int64_t>(sizeof(float)),
            static_cast<std::size_t>(ld) * sizeof(float),
            static_cast<std::size_t>(across) * sizeof(float), static_cast<std::size_t>(down)};
  }
};

template <class T>
HostMatrix host_matrix(MatrixView<T> view, bool lines_are_rows) {
  return {const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(view.data)),
          view.ld,
          {lines_are_rows, view.layout}};
}

// Dense on the device, in the host's order.
template <class T>
MatrixView<T> device_tile(T* data, const HostMatrix& host, std::int64_t lines, std::int64_t k,
                          Op op) {
  const bool by_rows = host.order.lines_are_rows;
  const std::int64_t ld = std::max<std::int64_t>(1, host.order.lies_along_k() ? k : lines);
  return {data, by_rows ? lines : k, by_rows ? k : lines, ld, host.order.layout, op};
}

// What passes between the two threads.
class Stores {
 public:
  struct Tile {
    int number;
    std::int64_t i, j, m, n;
    Event multiplied;  // the last product of the tile
  };

  void add(const Tile& tile) {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.push_back(tile);
    changed_.notify_all();
  }
  void end() {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_ended_ = true;
    changed_.notify_all();
  }
  bool take(Tile* tile) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return is_ended_ || !waiting_.empty(); });
    if (waiting_.empty()) return false;
    *tile = waiting_.front();
    waiting_.pop_front();
    return true;
  }
  void stored(int number, const Status& status) {
    const std::lock_guard<std::mutex> lock(mutex_);
    stored_ = number + 1;
    if (status_.ok()) status_ = status;
    changed_.notify_all();
  }
  // Until so many tiles are in host memory, or one failed.
  Status wait_for(int tiles) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return stored_ >= tiles || !status_.ok(); });
    return status_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Tile> waiting_;
  bool is_ended_ = false;
  int stored_ = 0;
  Status status_;
};

class OutOfCore {
 public:
  OutOfCore(ContextState& state, const SgemmCall& call, float beta, const Tiling& tiling)
      : state_(state),
        runtime_(state.runtime()),
        call_(call),
        beta_(beta),
        tiling_(tiling),
        a_(host_matrix(call.a, call.a.op == Op::none)),
        b_(host_matrix(call.b, call.b.op != Op::none)),
        c_(host_matrix(call.c, true)) {}
  OutOfCore(const OutOfCore&) = delete;
  OutOfCore& operator=(const OutOfCore&) = delete;

  ~OutOfCore() {
    if (transfer_ == nullptr) return;
    (void)state_.synchronize();
    for (Stream channel : channels_) (void)runtime_.synchronize(channel);
    in_.reset();
    out_.reset();
    for (void* data : allocations_) runtime_.release(data);
    for (Event event : events_) transfer_->destroy_event(event);
    for (Stream channel : channels_) transfer_->destroy_channel(channel);
  }

  Status open() {
    transfer_ = runtime_.open_transfer();
    Status status = open_staging(&in_);
    if (status.ok()) status = open_staging(&out_);
    if (status.ok()) status = allocate(&slots_a_, tiling_.slots_a, tiling_.tile_m, tiling_.tile_k);
    if (status.ok()) status = allocate(&slots_b_, tiling_.slots_b, tiling_.tile_k, tiling_.tile_n);
    if (status.ok()) status = allocate(&slots_c_, 2, tiling_.tile_m, tiling_.tile_n);
    if (status.ok()) status = make_event(&loaded_);
    steps_ = make_steps(tiling_);
    multiplied_.resize(steps_.size());
    for (Event& event : multiplied_) {
      if (status.ok()) status = make_event(&event);
    }
    return status;
  }

  Status run() {
    std::thread storing([this] { store_all(); });
    Status status;
    for (std::size_t i = 0; status.ok() && i < steps_.size(); ++i) status = take_step(i);
    stores_.end();
    storing.join();
    Status stored = stores_.wait_for(0);
    return status.ok() ? stored : status;
  }

 private:
  Status make_event(Event* event) {
    Status status = transfer_->create_event(event);
    if (status.ok()) events_.push_back(*event);
    return status;
  }

  Status open_staging(std::unique_ptr<Staging>* staging) {
    Stream channel;
    Status status = transfer_->create_channel(&channel);
    if (!status.ok()) return status;
    channels_.push_back(channel);
    *staging = std::make_unique<Staging>(runtime_, *transfer_, channel);
    const auto largest = static_cast<std::size_t>(
        std::max({tiling_.tile_m * tiling_.tile_k, tiling_.tile_n * tiling_.tile_k,
                  tiling_.tile_m * tiling_.tile_n}));
    const auto line =
        static_cast<std::size_t>(std::max({tiling_.tile_m, tiling_.tile_n, tiling_.tile_k}));
    return (*staging)->open(largest * sizeof(float), line * sizeof(float));
  }

  Status allocate(std::vector<float*>* slots, int count, std::int64_t rows, std::int64_t cols) {
    for (int i = 0; i < count; ++i) {
      void* data = nullptr;
      Status status =
          runtime_.allocate(&data, static_cast<std::size_t>(rows * cols) * sizeof(float));
      if (!status.ok()) return status;
      allocations_.push_back(data);
      slots->push_back(static_cast<float*>(data));
    }
    return Status::success();
  }

  float* slot_of_c(int tile) const { return slots_c_[static_cast<std::size_t>(tile % 2)]; }

  Status load(const Placed& placed, const HostLines& host, const std::vector<float*>& slots) {
    if (!placed.is_load) return Status::success();
    Status status;
    if (placed.after >= 0) {
      status = transfer_->wait(in_->channel(), multiplied_[static_cast<std::size_t>(placed.after)]);
    }
    return status.ok() ? in_->to_device(host, slots[static_cast<std::size_t>(placed.slot)])
                       : status;
  }

  Status take_step(std::size_t number) {
    const TileStep& step = steps_[number];
    Status status = load(step.a, a_.tile(step.i, step.p, step.m, step.k), slots_a_);
    if (status.ok()) {
      status = load(step.b, b_.tile(step.j, step.p, step.n, step.k), slots_b_);
    }
    // The tile before the last one has left the slot.
    if (status.ok() && step.is_first) status = stores_.wait_for(step.tile - 1);
    if (status.ok() && step.is_first && beta_ != 0) {
      status = in_->to_device(c_.tile(step.i, step.j, step.m, step.n), slot_of_c(step.tile));
    }
    if (status.ok()) status = transfer_->record(loaded_, in_->channel());
    if (status.ok()) status = transfer_->wait(state_.stream(), loaded_);
    if (status.ok()) status = multiply(step);
    if (status.ok()) status = transfer_->record(multiplied_[number], state_.stream());
    if (status.ok() && step.is_last) {
      stores_.add({step.tile, step.i, step.j, step.m, step.n, multiplied_[number]});
    }
    return status;
  }

  Status multiply(const TileStep& step) {
    SgemmCall product = call_;
    product.a = device_tile<const float>(slots_a_[static_cast<std::size_t>(step.a.slot)], a_,
                                         step.m, step.k, call_.a.op);
    product.b = device_tile<const float>(slots_b_[static_cast<std::size_t>(step.b.slot)], b_,
                                         step.n, step.k, call_.b.op);
    product.c = device_tile<float>(slot_of_c(step.tile), c_, step.m, step.n, Op::none);
    product.beta = step.is_first ? beta_ : 1.0f;
    return detail::sgemm(state_, product);
  }

  void store_all() {
    Stores::Tile tile;
    while (stores_.take(&tile)) {
      const Status status = runtime_.with_device([&] {
        Status ready = transfer_->wait(out_->channel(), tile.multiplied);
        if (!ready.ok()) return ready;
        return out_->to_host(slot_of_c(tile.number), c_.tile(tile.i, tile.j, tile.m, tile.n));
      });
      stores_.stored(tile.number, status);
    }
  }

  ContextState& state_;
  Runtime& runtime_;
  const SgemmCall& call_;
  const float beta_;
  const Tiling tiling_;
  const HostMatrix a_, b_, c_;
  std::vector<TileStep> steps_;
  std::unique_ptr<Transfer> transfer_;
  std::unique_ptr<Staging> in_, out_;
  std::vector<Stream> channels_;
  std::vector<void*> allocations_;
  std::vector<float*> slots_a_, slots_b_, slots_c_;
  std::vector<Event> events_, multiplied_;
  Event loaded_;
  Stores stores_;
};

}  // namespace

Status sgemm_out_of_core(ContextState& state, const SgemmCall& call, float alpha, float beta,
                         std::size_t device_bytes) {
  Status status = detail::check_sgemm(call);
  const std::int64_t k = call.a.op_cols();
  if (!status.ok() || call.c.rows == 0 || call.c.cols == 0) return status;
  if (alpha == 0 || k == 0) {  // C = beta C, where C lies
    Context host = Context::cpu();
    return detail::sgemm(detail::ContextAccess::state(host), call);
  }
  if (device_bytes == 0) device_bytes = state.device().memory_bytes / 4 * 3;
  const auto tiling = choose_tiling(call.c.rows, call.c.cols, k, call.options.math,
                                    static_cast<double>(device_bytes));
  if (!tiling) {
    return detail::invalid(text("options.device_bytes is ", device_bytes,
                                ", which holds no tiles of A, B and C: allow 2^20 or more"),
                           "options.device_bytes");
  }
  const std::size_t limit = state.asked_workspace_limit();
  state.limit_workspace(std::min(limit, tiling->workspace_bytes));
  status = state.runtime().with_device([&] {
    OutOfCore work(state, call, beta, *tiling);
    Status opened = work.open();
    return opened.ok() ? work.run() : opened;
  });
  state.limit_workspace(limit);
  return status;
}

}  // namespace kw::distributed

namespace kw {

void sgemm_out_of_core(Context& context, float alpha, MatrixView<const float> a,
                       MatrixView<const float> b, float beta, MatrixView<float> c,
                       const OutOfCoreOptions& options) {
  detail::SgemmCall call{alpha, a, b, beta, c, {}};
  call.options.math = options.math;
  detail::throw_unless_ok(distributed::sgemm_out_of_core(detail::ContextAccess::state(context),
                                                         call, alpha, beta, options.device_bytes));
}

}  // namespace kw
