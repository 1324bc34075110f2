// Many small products in one call, in scratch memory of the program's own, from C++ on the CPU:
// groups of points, each turned about the z axis by an angle of its own. On a GPU the matrices and
// the scratch memory lie in device memory and the context is kw::Context::gpu(); the rest is the
// same.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <new>
#include <vector>

#include "kernelwright/context.hpp"
#include "kernelwright/sgemm.hpp"

namespace {

// 256-byte aligned, as a workspace has to be.
class Scratch {
 public:
  explicit Scratch(std::size_t bytes) : data_(::operator new(bytes, alignment)) {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { ::operator delete(data_, alignment); }
  void* data() const { return data_; }

 private:
  static constexpr std::align_val_t alignment{256};
  void* data_;
};

}  // namespace

int main() {
  constexpr std::int64_t groups = 100, points = 20;
  constexpr double step = 0.01;  // radians from one group to the next
  // Each group is `points` rows of x, y, z; all begin at (1, 0, 2).
  std::vector<float> before(groups * points * 3), rotations(groups * 9), after(groups * points * 3);
  for (std::int64_t i = 0; i < groups * points; ++i) {
    before[i * 3] = 1;
    before[i * 3 + 2] = 2;
  }
  for (std::int64_t g = 0; g < groups; ++g) {
    const auto c = static_cast<float>(std::cos(step * static_cast<double>(g)));
    const auto s = static_cast<float>(std::sin(step * static_cast<double>(g)));
    const float rows[9] = {c, s, 0, -s, c, 0, 0, 0, 1};
    for (int i = 0; i < 9; ++i) rotations[g * 9 + i] = rows[i];
  }
  try {
    kw::Context context = kw::Context::cpu();
    const auto a = kw::row_major<const float>(before.data(), points, 3);
    const auto b = kw::row_major<const float>(rotations.data(), 3, 3);
    const auto c = kw::row_major(after.data(), points, 3);
    const std::size_t bytes = kw::sgemm_batched_workspace_bytes(context, 1, a, b, 0, c, groups,
                                                                points * 3, 9, points * 3);
    const Scratch scratch(bytes);
    context.set_workspace(scratch.data(), bytes);  // the call below allocates nothing
    kw::sgemm_batched(context, 1, a, b, 0, c, groups, points * 3, 9, points * 3);
    context.synchronize();
    std::printf("%d products on %s in %d bytes of scratch memory\n", static_cast<int>(groups),
                context.device_name().c_str(), static_cast<int>(bytes));
  } catch (const kw::Error& error) {
    std::fprintf(stderr, "%s: %s\n", kw::to_string(error.code()), error.what());
    return 1;
  }
  double largest = 0;
  for (std::int64_t i = 0; i < groups * points; ++i) {
    const std::int64_t group = i / points;
    const double angle = step * static_cast<double>(group);
    largest = std::fmax(largest, std::fabs(after[i * 3] - std::cos(angle)));
    largest = std::fmax(largest, std::fabs(after[i * 3 + 1] - std::sin(angle)));
    largest = std::fmax(largest, std::fabs(after[i * 3 + 2] - 2.0));
  }
  std::printf("largest error %g\n", largest);
  return largest < 1e-6 ? 0 : 1;
}
