// Elements are read from the device one line each, so that a large product costs little.
#include "verify.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "driver.hpp"

namespace kw::cublas {

namespace {

constexpr int elements_a_call = 16;
constexpr double unit = 1.0 / (1 << 24);

std::uintptr_t address_of(const void* data) { return reinterpret_cast<std::uintptr_t>(data); }

// A matrix as it lies in memory.
struct Stored {
  std::uintptr_t at;
  std::int64_t row_step, col_step;  // in elements
};

Stored stored(const void* data, std::int64_t entry_offset, std::int64_t ld, bool by_rows,
              kwOp_t op) {
  const bool rows_are_lines = by_rows != (op == KW_OP_TRANSPOSE);
  return {address_of(data) + static_cast<std::uintptr_t>(entry_offset) * sizeof(float),
          rows_are_lines ? ld : 1, rows_are_lines ? 1 : ld};
}

// `count` elements, `step` apart.
bool read_line(std::uintptr_t from, std::int64_t step, std::int64_t count,
               std::vector<float>* into) {
  into->resize(static_cast<std::size_t>(count));
  const auto step_bytes = static_cast<std::size_t>(step) * sizeof(float);
  return step == 1 ? driver().copy_to_host(into->data(), from, into->size() * sizeof(float)) == 0
                   : driver().copy_spaced_to_host(from, step_bytes, into->size(), into->data());
}

bool read_float(std::uintptr_t at, double* value) {
  float read = 0;
  const bool ok = driver().copy_to_host(&read, at, sizeof read) == 0;
  *value = static_cast<double>(read);
  return ok;
}

bool read_scalar(const float* scalar, bool on_device, double* value) {
  if (on_device) return read_float(address_of(scalar), value);
  *value = static_cast<double>(*scalar);
  return true;
}

std::uintptr_t offset_of(std::int64_t elements) {
  return static_cast<std::uintptr_t>(elements) * sizeof(float);
}

// By the formulas of kernelwright/epilogue.hpp.
double activated(kwActivation_t activation, double x) {
  constexpr double sqrt_2_over_pi = 0.79788456080286535588;
  if (activation == KW_ACTIVATION_RELU) return x < 0 ? 0 : x;
  if (activation == KW_ACTIVATION_GELU_TANH) {
    return x / (1 + std::exp(-2 * sqrt_2_over_pi * (x + 0.044715 * x * x * x)));
  }
  return x;
}

// Device memory for a copy of C.
class Copy {
 public:
  explicit Copy(std::size_t bytes) : bytes_(bytes) {
    const AllocatesBesideCaptures allocates;
    if (driver().allocate(&address_, bytes) != 0) address_ = 0;
  }
  ~Copy() {
    const AllocatesBesideCaptures allocates;
    if (address_ != 0) driver().release(address_);
  }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;
  bool take(const void* from) const {
    return address_ != 0 && driver().copy(address_, address_of(from), bytes_) == 0;
  }
  bool put_back(void* to) const { return put_back(to, 0, bytes_); }
  bool put_back(void* to, std::size_t offset, std::size_t bytes) const {
    return driver().copy(address_of(to) + offset, address_ + offset, bytes) == 0;
  }

 private:
  std::size_t bytes_;
  std::uintptr_t address_ = 0;
};

// From the first element of C to the last.
std::size_t bytes_of_c(const Product& p) {
  const std::int64_t lines = p.layout == KW_ROW_MAJOR ? p.m : p.n;
  const std::int64_t line = p.layout == KW_ROW_MAJOR ? p.n : p.m;
  const std::int64_t elements = (p.batch - 1) * p.stride_c + (lines - 1) * p.ldc + line;
  return static_cast<std::size_t>(elements) * sizeof(float);
}

// Of a triangle the columns of that alone: the other one may be in use for something else.
bool put_back(const Copy& copy, const Product& p) {
  if (p.triangle == Triangle::none) return copy.put_back(p.c);
  bool ok = true;
  for (std::int64_t col = 0; col < p.n; ++col) {
    const bool lower = p.triangle == Triangle::lower;
    const std::int64_t offset = col * p.ldc + (lower ? col : 0);
    const std::int64_t count = lower ? p.n - col : col + 1;
    ok = copy.put_back(p.c, sizeof(float) * static_cast<std::size_t>(offset),
                       sizeof(float) * static_cast<std::size_t>(count)) &&
         ok;
  }
  return ok;
}

void raise(std::atomic<std::uint64_t>* worst, double error) {
  const auto seen = static_cast<std::uint64_t>(std::min(1e3 * error, 1e18));
  std::uint64_t before = worst->load(std::memory_order_relaxed);
  while (before < seen && !worst->compare_exchange_weak(before, seen)) {
  }
}

}  // namespace

Verification::Verification(Session& session, const Call& call, Tally* tally, bool captured,
                           const Forward& forward)
    : session_(session), call_(call), tally_(tally) {
  const std::int64_t every = session.policy().verify_every;
  if (every == 0 || tally == nullptr || captured || call.product.form == Form::pointers) return;
  // Of the others an element is no row times a column.
  if (call.product.routine > Routine::syrkx || call.product.is_complex) return;
  if (!session.is_turn_to_verify() || !driver().copies()) return;
  if (!prepare(forward)) {
    elements_.clear();
    session_.record().warn_once("verify",
                                "a call could not be verified: no memory for a copy of C");
  }
}

bool Verification::prepare(const Forward& forward) {
  const Product& p = call_.product;
  if (driver().synchronize(call_.stream) != 0) return false;
  for (int index = 0; index < elements_a_call; ++index) {
    // The first and the last, and others spread by a fixed rule.
    const auto place = [&](std::int64_t size, std::uint64_t salt) {
      const std::uint64_t mixed = (static_cast<std::uint64_t>(index) + salt) * 0x9E3779B97F4A7C15u;
      if (index == 0) return std::int64_t{0};
      if (index == 1) return size - 1;
      return static_cast<std::int64_t>((mixed >> 20) % static_cast<std::uint64_t>(size));
    };
    Element element{place(p.batch, 1), place(p.m, 2), place(p.n, 3), 0, 0, 0};
    if (p.triangle != Triangle::none &&
        (element.i < element.j) == (p.triangle == Triangle::lower)) {
      std::swap(element.i, element.j);
    }
    if (!read_exact(&element)) return false;
    elements_.push_back(element);
  }
  const Copy c(bytes_of_c(p));
  if (!c.take(p.c) || pass_on(forward) != status_success) return false;
  bool ok = driver().synchronize(call_.stream) == 0;
  for (Element& element : elements_) ok = ok && read_result(element, &element.vendor);
  return put_back(c, p) && ok;
}

bool Verification::read_exact(Element* element) const {
  const Product& p = call_.product;
  const bool by_rows = p.layout == KW_ROW_MAJOR;
  const Stored a = stored(p.a, element->entry * p.stride_a, p.lda, by_rows, p.op_a);
  const Stored b = stored(p.b, element->entry * p.stride_b, p.ldb, by_rows, p.op_b);
  std::vector<float> row, col;
  double alpha = 0, of_c = 0, bias = 0;
  if (!read_line(a.at + offset_of(element->i * a.row_step), a.col_step, p.k, &row) ||
      !read_line(b.at + offset_of(element->j * b.col_step), b.row_step, p.k, &col) ||
      !read_scalar(p.alpha, p.scalars_on_device, &alpha) || !read_addends(*element, &of_c, &bias)) {
    return false;
  }
  double sum = 0, size = 0;
  for (std::size_t l = 0; l < row.size(); ++l) {
    const double product = static_cast<double>(row[l]) * static_cast<double>(col[l]);
    sum += product;
    size += std::abs(product);
  }
  element->exact = activated(p.activation, alpha * sum + of_c + bias);
  element->scale = std::abs(alpha) * size + std::abs(of_c) + std::abs(bias);
  return true;
}

// What beta makes of C, and the bias.
bool Verification::read_addends(const Element& element, double* of_c, double* bias) const {
  const Product& p = call_.product;
  const bool is_apart = p.source != nullptr;
  const Stored c =
      stored(is_apart ? p.source : p.c, element.entry * (is_apart ? p.stride_source : p.stride_c),
             is_apart ? p.ld_source : p.ldc, p.layout == KW_ROW_MAJOR, KW_OP_NONE);
  double beta = 0;
  if (!read_scalar(p.beta, p.scalars_on_device, &beta)) return false;
  if (beta != 0) {
    if (!read_float(c.at + offset_of(element.i * c.row_step + element.j * c.col_step), of_c)) {
      return false;
    }
    *of_c *= beta;
  }
  if (p.bias == nullptr) return true;
  return read_float(address_of(p.bias) + offset_of(element.entry * p.stride_bias + element.i),
                    bias);
}

bool Verification::read_result(const Element& element, float* value) const {
  const Product& p = call_.product;
  const Stored c =
      stored(p.c, element.entry * p.stride_c, p.ldc, p.layout == KW_ROW_MAJOR, KW_OP_NONE);
  const std::int64_t offset = element.i * c.row_step + element.j * c.col_step;
  return driver().copy_to_host(value, c.at + offset_of(offset), sizeof *value) == 0;
}

void Verification::compare() const {
  if (elements_.empty() || driver().synchronize(call_.stream) != 0) return;
  const auto error = [](const Element& element, float value) {
    const double difference = std::abs(static_cast<double>(value) - element.exact);
    return difference == 0 ? 0 : difference / (element.scale * unit);
  };
  for (const Element& element : elements_) {
    float value = 0;
    if (!read_result(element, &value) || !std::isfinite(element.exact)) continue;
    raise(&tally_->worst, error(element, value));
    raise(&tally_->vendor_worst, error(element, element.vendor));
  }
  tally_->verified.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace kw::cublas
