// Tables for a terminal.
#include "bench/table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace kw::bench {
namespace {

using Line = std::vector<std::string>;

std::string time_text(double us) {
  const char* unit = us < 1e3 ? "us" : us < 1e6 ? "ms" : "s";
  const double value = us < 1e3 ? us : us < 1e6 ? us * 1e-3 : us * 1e-6;
  return fmt::format("{:.{}f} {}", value, value < 10 ? 3 : value < 100 ? 2 : 1, unit);
}

// The inter-quartile range over the median; one sample has none.
std::string spread_text(const TimeStatistics& time) {
  return time.repeats < 2 ? "-" : fmt::format("{:.1f} %", 100 * time.spread());
}

std::string or_dash(const std::optional<double>& value, const char* format) {
  return value ? fmt::format(fmt::runtime(format), *value) : "-";
}

bool is_bandwidth(const Row& row) { return row.reduction || row.rowwise || row.op == "scale_add"; }

std::optional<double> rate(const Row& row) { return is_bandwidth(row) ? row.gbs : row.gflops; }

// Whether the time is the host's, which has no rate.
bool is_host_time(const Row& row) { return row.timing == "enqueue"; }

// "36", or "36x2" where the launch has more dimensions than one.
template <class Extent>
std::string extents_text(const Extent (&extents)[3]) {
  std::string text = fmt::format("{}", extents[0]);
  if (extents[1] > 1 || extents[2] > 1) text += fmt::format("x{}", extents[1]);
  if (extents[2] > 1) text += fmt::format("x{}", extents[2]);
  return text;
}

// Grid and block of the kernel's last launch, as CUDA writes them.
std::string launch_text(const gpu::LaunchShape& launch) {
  if (launch.launches == 0) return "-";
  return fmt::format("<<<{}, {}>>>", extents_text(launch.grid), extents_text(launch.block));
}

// What the table's cells compare; nothing where a kernel was not timed.
std::optional<double> compared(const Row& row) {
  if (!is_host_time(row)) return rate(row);
  return row.time_us ? std::optional(row.time_us->median) : std::nullopt;
}

const char* unit(const Row& row) {
  return is_host_time(row) ? "us of the host" : is_bandwidth(row) ? "GB/s" : "GFLOP/s";
}

// The largest rate, the shortest time; nothing of nothing.
std::optional<double> best_of(const std::vector<std::optional<double>>& values, bool is_time) {
  std::optional<double> best;
  for (const std::optional<double>& value : values) {
    if (value && (!best || (is_time ? *value < *best : *value > *best))) best = value;
  }
  return best;
}

std::string rate_text(double value) {
  return fmt::format("{:.{}f}", value, value < 100 ? 2 : value < 1000 ? 1 : 0);
}

// Where rows are further apart than they must be.
std::string padding(const Row& row) {
  const std::int64_t k = row.k.value_or(0);
  const bool dense = row.lda == (row.op_a == "T" || row.op_a == "C" ? row.m : k) &&
                     row.ldb == (row.op_b == "T" || row.op_b == "C" ? k : row.n) &&
                     row.ldc == row.n;
  return dense ? std::string()
               : fmt::format(", lda {}, ldb {}, ldc {}", row.lda, row.ldb.value_or(0),
                             row.ldc.value_or(0));
}

// Of a sweep's product: which one it is, and the least time that it can take here.
std::string place(const Row& row) {
  if (!row.sweep) return {};
  const SweepRow& s = *row.sweep;
  const std::string limit =
      s.roofline_us ? ", at least " + time_text(*s.roofline_us) : std::string();
  return s.program ? fmt::format("{}\n{}", limit, *s.program)
                   : fmt::format("{}\n{} {}, {}", limit, s.sweep, s.number, s.third);
}

std::string heading(const Row& row) {
  if (row.reduction) {
    const ReductionRow& r = *row.reduction;
    const std::string correction =
        r.correction ? fmt::format(", correction {}", *r.correction) : std::string();
    return fmt::format("reduce {} {} {}, {} elements{}", r.reduce_op, r.dtype, r.label, row.n,
                       correction);
  }
  if (row.rowwise) {
    return fmt::format("{} {} {}{}{}", row.op, row.rowwise->dtype, row.shape(),
                       row.rowwise->residual ? ", bias, residual, sum" : "", place(row));
  }
  if (row.attention) return fmt::format("attention {}{}", row.shape(), place(row));
  if (row.op == "scale_add") {
    return fmt::format("scale_add {} x {}, scale {}, shift {}", row.m, row.n, row.alpha, row.beta);
  }
  if (row.level3)
    return fmt::format("{}, alpha {}, beta {}{}", row.shape(), row.alpha, row.beta, place(row));
  const std::string batch = row.batch == 1 ? std::string() : fmt::format(", batch {}", row.batch);
  const auto scalar = [](float re, const std::optional<float>& im) {
    return im && *im != 0 ? fmt::format("{}{:+}i", re, *im) : fmt::format("{}", re);
  };
  return fmt::format("{} {} x {} x {} {}{}{}{}, alpha {}, beta {}{}", row.op, row.m, row.n,
                     row.k.value_or(0), row.op_a.value_or(""), row.op_b.value_or(""), batch,
                     padding(row), scalar(row.alpha, row.alpha_im), scalar(row.beta, row.beta_im),
                     place(row));
}

template <class T>
void append_unique(std::vector<T>& into, const T& value) {
  if (std::find(into.begin(), into.end(), value) == into.end()) into.push_back(value);
}

}  // namespace

std::string align(const std::vector<Line>& cells, std::size_t left) {
  std::vector<std::size_t> widths;
  for (const Line& line : cells) {
    widths.resize(std::max(widths.size(), line.size()));
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const Line& line : cells) {
    std::string row;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (i > 0) row += "  ";
      row += i < left ? fmt::format("{:<{}}", line[i], widths[i])
                      : fmt::format("{:>{}}", line[i], widths[i]);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

std::string problem_table(const std::vector<Row>& rows) {
  if (rows.empty()) return {};
  const Row& first = rows.front();
  std::vector<std::optional<double>> values;
  values.reserve(rows.size());
  for (const Row& row : rows) values.push_back(compared(row));
  const std::optional<double> best = best_of(values, is_host_time(first));
  std::vector<Line> cells = {{"", "kernel", "median", "spread", "min", "repeats", "by",
                              is_bandwidth(first) ? "GB/s" : "GFLOP/s", "of peak", "vs peer",
                              "vs previous", "max error", "verified", "launch"}};
  for (const Row& row : rows) {
    Line line = {best && compared(row) == best ? "*" : "", row.kernel};
    if (row.time_us) {
      line.insert(line.end(),
                  {time_text(row.time_us->median), spread_text(*row.time_us),
                   time_text(row.time_us->min), fmt::format("{}", row.time_us->repeats),
                   row.timing.value_or("-"), rate(row) ? rate_text(*rate(row)) : std::string("-")});
    } else {
      line.insert(line.end(), {"-", "-", "-", "-", "-", "-"});
    }
    line.push_back(row.of_peak ? fmt::format("{:.1f} %", 100 * *row.of_peak) : "-");
    line.push_back(or_dash(row.vs_peer, "{:.2f} x"));
    line.push_back(or_dash(row.vs_previous, "{:.2f} x"));
    line.push_back(fmt::format("{:.2g} u", row.error.max));
    line.push_back(row.verified ? "yes" : "NO");
    line.push_back(launch_text(row.launch));
    cells.push_back(line);
  }
  std::string text = heading(first) + "\n" + align(cells, 2);
  for (const Row& row : rows) {
    if (!row.verified) text += fmt::format("  {}: {}\n", row.kernel, row.message);
  }
  return text;
}

namespace {

// What a table of several problems may hold: rows whose rates can be compared, and whose shapes
// tell them apart.
std::string family(const Row& row) {
  if (row.reduction) return fmt::format("{} {}, ", row.reduction->reduce_op, row.reduction->dtype);
  if (row.rowwise) return fmt::format("{} {}, ", row.op, row.rowwise->dtype);
  if (row.level3) return row.op + ", ";
  const std::string ops = row.op_a.value_or("N") + row.op_b.value_or("N");
  return ops == "NN" ? std::string() : ops + ", ";
}

std::string one_summary(const std::vector<Row>& rows) {
  std::vector<std::string> shapes;
  std::vector<std::string> kernels;
  for (const Row& row : rows) {
    append_unique(shapes, row.shape());
    append_unique(kernels, row.kernel);
  }
  if (shapes.size() < 2) return {};

  const auto find = [&](const std::string& kernel, const std::string& shape) {
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
      return row.kernel == kernel && row.shape() == shape;
    });
    return found != rows.end() ? compared(*found) : std::nullopt;
  };
  std::vector<Line> cells(1);
  cells[0].push_back(fmt::format("{}{} (* best)", family(rows.front()), unit(rows.front())));
  cells[0].insert(cells[0].end(), shapes.begin(), shapes.end());
  for (const std::string& kernel : kernels) {
    Line line = {kernel};
    for (const std::string& shape : shapes) {
      std::vector<std::optional<double>> values;
      values.reserve(kernels.size());
      for (const std::string& other : kernels) values.push_back(find(other, shape));
      const std::optional<double> value = find(kernel, shape);
      const char* mark = value && value == best_of(values, is_host_time(rows.front())) ? "*" : "";
      line.push_back(value ? fmt::format("{}{}", mark, rate_text(*value)) : "-");
    }
    cells.push_back(line);
  }
  return align(cells);
}

}  // namespace

std::string summary_table(const std::vector<Row>& rows) {
  std::vector<std::string> families;
  for (const Row& row : rows) append_unique(families, family(row));
  std::string text;
  for (const std::string& name : families) {
    std::vector<Row> own;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(own),
                 [&](const Row& row) { return family(row) == name; });
    const std::string table = one_summary(own);
    text += table.empty() || text.empty() ? table : "\n" + table;
  }
  return text;
}

}  // namespace kw::bench
