// cpu_reduce: every operation, element type and shape, with the bits that src/reduce/walk/order.hpp
// makes them have on every device. Threads share chunks, rows, strips of columns or segments, so
// who computed what cannot show.
//
// Where a sequence has more than one chunk, the totals of the chunks lie in the workspace between
// the walk over the elements and their merging.
#include <algorithm>
#include <bit>
#include <cstdint>

#include "arithmetic.hpp"
#include "cpu/cpu_reduce_walk.hpp"
#include "cpu/kernels.hpp"
#include "reduce/dispatch.hpp"
#include "reduce/numbers/result.hpp"

namespace kw::cpu {

namespace {

// Fewer elements than this are not worth waking other threads for.
constexpr std::int64_t worth_threads = 1 << 15;
// Threads take chunks one by one, or so many parts of all of them. A loop that is shared out inside
// of a parallel region, as one of two, costs microseconds more than one that begins it.
constexpr std::int64_t most_parts = 1 << 10;
// Segments of more chunks than this are computed by all threads together, one after the other.
constexpr std::int64_t chunks_of_one_thread = 16;

template <ReduceKind kind, class T>
using Total = typename Accumulator<kind, T>::Total;

ResultSink sink_of(const Reduce& p) { return {p.op, p.out, p.correction}; }

template <ReduceKind kind, class T>
Total<kind, T> chunk_total(const T* sequence, std::int64_t n, std::int64_t index) {
  const std::int64_t size = chunk_elements<T>(n);
  const std::int64_t begin = index * size;
  const std::int64_t count = std::min(size, n - begin);
  const auto partial = reduce_chunk<kind>(sequence + begin, count);
  return Accumulator<kind, T>::total(
      partial, {begin, count, count > 0 ? to_value(sequence[begin]) : Value<T>{}});
}

// The totals of a sequence's chunks, one for each index, merged by slots.
template <ReduceKind kind, class T, class TotalOf>
Total<kind, T> merge_chunks(std::int64_t chunks, const TotalOf& total_of) {
  using A = Accumulator<kind, T>;
  Total<kind, T> slots[order_threads];
  const std::int64_t reached = std::min<std::int64_t>(chunks, order_threads);
  const auto used = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(reached)));
  std::fill_n(slots, used, A::empty_total());
  for (std::int64_t i = 0; i < chunks; ++i) A::merge(slots[i % order_threads], total_of(i));
  return merge_as_tree<A>(slots, used);
}

// `count` sequences of n elements, `ld` apart, to the results from `first_result` on.
template <ReduceKind kind, class T>
void reduce_sequences(const Reduce& p, const T* data, std::int64_t count, std::int64_t n,
                      std::int64_t ld, std::int64_t first_result, Total<kind, T>* totals) {
  const ResultSink sink = sink_of(p);
  const std::int64_t chunks = chunk_count<T>(n);
  const std::int64_t step = n > 0 ? ld : 0;  // without elements data may be null
  if (chunks == 1) {
#pragma omp parallel for schedule(guided) if (count * n >= worth_threads)
    for (std::int64_t i = 0; i < count; ++i) {
      write_result<T, kind>(sink, first_result + i, chunk_total<kind>(data + i * step, n, 0), n);
    }
    return;
  }
  [[maybe_unused]] const std::int64_t part = ceil_div(count * chunks, most_parts);
#pragma omp parallel for schedule(dynamic, part) if (count * n >= worth_threads)
  for (std::int64_t item = 0; item < count * chunks; ++item) {
    totals[item] = chunk_total<kind>(data + item / chunks * step, n, item % chunks);
  }
#pragma omp parallel for schedule(guided) if (count > 1 && count * n >= worth_threads)
  for (std::int64_t i = 0; i < count; ++i) {
    const auto total_of = [&](std::int64_t chunk) { return totals[i * chunks + chunk]; };
    write_result<T, kind>(sink, first_result + i, merge_chunks<kind, T>(chunks, total_of), n);
  }
}

// Chunks of a column that are merged while the next ones are walked over: a run of them.
constexpr std::int64_t chunks_a_run = 32;

std::int64_t column_runs(std::int64_t rows) {
  return ceil_div(column_chunk_count(rows), chunks_a_run);
}

// The totals of neighbours, merged as soon as there are two: level l waits for 2^l chunks more. Of
// `cols` columns side by side.
template <class A>
class ColumnStack {
 public:
  using Total = typename A::Total;

  // The totals of the next chunk.
  void push(Total* totals, std::int64_t cols) {
    int level = 0;
    for (; level < levels - 1 && (pushed_ >> level & 1) != 0; ++level) {
      merge_into(level, totals, cols);
    }
    std::copy_n(totals, cols, waiting_[level]);
    ++pushed_;
  }
  // All that was pushed, in `totals`.
  void finish(Total* totals, std::int64_t cols) {
    bool is_first = true;
    for (int level = 0; level < levels; ++level) {
      if ((pushed_ >> level & 1) == 0) continue;
      if (is_first) {
        std::copy_n(waiting_[level], cols, totals);
      } else {
        merge_into(level, totals, cols);
      }
      is_first = false;
    }
  }

 private:
  void merge_into(int level, Total* totals, std::int64_t cols) {
    for (std::int64_t j = 0; j < cols; ++j) {
      Total before = waiting_[level][j];
      A::merge(before, totals[j]);
      totals[j] = before;
    }
  }

  static constexpr int levels = std::countr_zero(static_cast<unsigned>(chunks_a_run)) + 1;
  Total waiting_[levels][strip_columns];
  int pushed_ = 0;
};

template <ReduceKind kind, class T>
void reduce_run_of_columns(const Reduce& p, std::int64_t run, std::int64_t column,
                           std::int64_t cols, Total<kind, T>* into) {
  const auto* data = static_cast<const T*>(p.data);
  const std::int64_t first = run * chunks_a_run;
  const std::int64_t last = std::min(first + chunks_a_run, column_chunk_count(p.rows));
  ColumnStack<Accumulator<kind, T>> stack;
  for (std::int64_t i = first; i < last; ++i) {
    const std::int64_t begin = i * column_chunk_rows;
    const Chunk<T> chunk{begin, std::min(column_chunk_rows, p.rows - begin), {}};
    const std::int64_t corner = chunk.count > 0 ? begin * p.ld + column : 0;
    reduce_columns<kind>(data + corner, p.ld, chunk, cols, into);
    stack.push(into, cols);
  }
  stack.finish(into, cols);
}

template <ReduceKind kind, class T>
void reduce_columns_of(const Reduce& p, Total<kind, T>* totals) {
  using A = Accumulator<kind, T>;
  const ResultSink sink = sink_of(p);
  const std::int64_t runs = column_runs(p.rows);
  const std::int64_t strips = ceil_div(p.cols, strip_columns);
#pragma omp parallel if (p.elements() >= worth_threads)
  {
#pragma omp for schedule(guided)
    for (std::int64_t item = 0; item < runs * strips; ++item) {
      const std::int64_t run = item / strips, column = item % strips * strip_columns;
      const std::int64_t cols = std::min(strip_columns, p.cols - column);
      Total<kind, T> alone[strip_columns];
      Total<kind, T>* into = runs == 1 ? alone : totals + run * p.cols + column;
      reduce_run_of_columns<kind, T>(p, run, column, cols, into);
      for (std::int64_t j = 0; runs == 1 && j < cols; ++j) {
        write_result<T, kind>(sink, column + j, alone[j], p.rows);
      }
    }
#pragma omp for schedule(static)
    for (std::int64_t j = 0; j < (runs == 1 ? 0 : p.cols); ++j) {
      for (std::int64_t step = 1; step < runs; step *= 2) {
        for (std::int64_t i = 0; i + step < runs; i += 2 * step) {
          A::merge(totals[i * p.cols + j], totals[(i + step) * p.cols + j]);
        }
      }
      write_result<T, kind>(sink, j, totals[j], p.rows);
    }
  }
}

struct Segment {
  std::int64_t begin, count;
};

// What of a segment lies in the array.
Segment segment(const Reduce& p, std::int64_t index) {
  const std::int64_t begin = std::clamp<std::int64_t>(p.offsets[index], 0, p.cols);
  const std::int64_t end = std::clamp<std::int64_t>(p.offsets[index + 1], 0, p.cols);
  return {begin, std::max<std::int64_t>(0, end - begin)};
}

template <ReduceKind kind, class T>
void reduce_segments(const Reduce& p, Total<kind, T>* totals) {
  const auto* data = static_cast<const T*>(p.data);
  const ResultSink sink = sink_of(p);
  std::int64_t long_ones = 0;
#pragma omp parallel for schedule(guided, 16) reduction(+ : long_ones) \
    if (p.cols + p.segments >= worth_threads)
  for (std::int64_t i = 0; i < p.segments; ++i) {
    const Segment s = segment(p, i);
    const std::int64_t chunks = chunk_count<T>(s.count);
    if (chunks > chunks_of_one_thread) {
      ++long_ones;
      continue;
    }
    const auto total_of = [&](std::int64_t chunk) {
      return chunk_total<kind>(data + s.begin, s.count, chunk);
    };
    const auto total = chunks == 1 ? total_of(0) : merge_chunks<kind, T>(chunks, total_of);
    write_result<T, kind>(sink, i, total, s.count);
  }
  for (std::int64_t i = 0; long_ones > 0; ++i) {
    const Segment s = segment(p, i);
    if (chunk_count<T>(s.count) <= chunks_of_one_thread) continue;
    reduce_sequences<kind>(p, data + s.begin, 1, s.count, 0, i, totals);
    --long_ones;
  }
}

// Totals that wait in the workspace.
template <class T>
std::int64_t waiting_totals(const Reduce& p) {
  if (p.shape == ReduceShape::columns) {
    const std::int64_t runs = column_runs(p.rows);
    return runs == 1 ? 0 : runs * p.cols;
  }
  const std::int64_t chunks = chunk_count<T>(p.cols);
  if (p.shape != ReduceShape::segments) return chunks == 1 ? 0 : chunks * p.rows;
  // A segment is at most the array, but fewer elements may be more chunks.
  const std::int64_t most = std::max(chunks, std::min(max_chunks, p.cols / smallest_chunk<T> + 1));
  return most > chunks_of_one_thread ? most : 0;
}

}  // namespace

std::size_t cpu_reduce_workspace_bytes(const Reduce& p, const Device&) {
  return dispatch(p.op, p.type, [&]<ReduceKind kind, class T>() {
    return static_cast<std::size_t>(waiting_totals<T>(p)) * sizeof(Total<kind, T>);
  });
}

Status cpu_reduce(const Reduce& p, const Device&, Workspace workspace, Stream) {
  dispatch(p.op, p.type, [&]<ReduceKind kind, class T>() {
    auto* totals = static_cast<Total<kind, T>*>(workspace.data);
    switch (p.shape) {
      case ReduceShape::whole:
      case ReduceShape::rows:
        return reduce_sequences<kind>(p, static_cast<const T*>(p.data), p.rows, p.cols, p.ld, 0,
                                      totals);
      case ReduceShape::columns: return reduce_columns_of<kind, T>(p, totals);
      case ReduceShape::segments: return reduce_segments<kind, T>(p, totals);
    }
  });
  return Status::success();
}

}  // namespace kw::cpu
