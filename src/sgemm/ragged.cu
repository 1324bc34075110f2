// ragged: a product a few rows or columns larger than tiles are, in two or three launches.
//
// Idea        1537 rows are 24 tiles of 64 and one row, for which a kernel of tiles computes a 25th
//             that costs as much as the others, and with larger tiles more. Those few rows and
//             columns are products of their own, and `thin` computes them in the time that it
//             takes to read the other operand once. The launches do not wait for each other.
// Prediction  1537 cubed: 1536 cubed takes 148 us, a row and a column 5 us each; as one product it
//             takes 187.
// Limits      A launch for each part: small products are better off with the 25th tile. Where tiles
//             are many, 4097 rows are only 1.5 % more work than 4096.
#include <limits>

#include "select.hpp"
#include "sgemm/production.hpp"
#include "sgemm/ragged_plan.hpp"

namespace KW_TARGET {
namespace {

const Kernel<Sgemm>& kernel_of(const Sgemm& part, const Device& device) {
  static const KernelList<Sgemm> all = sgemm_in_one_launch();
  return *select_kernel(part, device, all);
}

// Of a part, so that the next one's begins on a boundary.
std::size_t bytes_of(const Sgemm& part, const Device& device) {
  constexpr std::size_t boundary = 256;
  const std::size_t bytes = kernel_of(part, device).workspace_bytes(part, device);
  return (bytes + boundary - 1) / boundary * boundary;
}

bool supports(const Sgemm& p, const Device&) { return is_ragged(p); }

std::size_t workspace_bytes(const Sgemm& p, const Device& device) {
  const RaggedParts parts(p);
  std::size_t sum = 0;
  for (int i = 0; i < parts.count; ++i) sum += bytes_of(parts.part[i], device);
  return sum;
}

double predicted_us(const Sgemm& p, const Device& device) {
  if (p.flops() < ragged_tuning.min_flops) return std::numeric_limits<double>::infinity();
  const RaggedParts parts(p);
  double us = 0;
  for (int i = 0; i < parts.count; ++i) {
    const Kernel<Sgemm>& kernel = kernel_of(parts.part[i], device);
    if (kernel.predicted_us == nullptr) return std::numeric_limits<double>::infinity();
    us += kernel.predicted_us(parts.part[i], device);
  }
  return us;
}

Status launch(const Sgemm& p, const Device& device, Workspace workspace, Stream stream) {
  const RaggedParts parts(p);
  char* data = static_cast<char*>(workspace.data);
  for (int i = 0; i < parts.count; ++i) {
    const Sgemm& part = parts.part[i];
    const std::size_t bytes = bytes_of(part, device);
    const Workspace own{data, bytes, workspace.tickets + parts.first_ticket(i)};
    const Status status = kernel_of(part, device).launch(part, device, own, stream);
    if (!status.ok()) return status;
    data += bytes;
  }
  return Status::success();
}

}  // namespace

KernelList<Sgemm> ragged_rows() {
  return {{.name = "ragged",
           .parent = nullptr,
           .idea = "a few rows or columns beyond the tiles as products of their own",
           .role = Role::production,
           .math = Math::fp32,
           .supports = supports,
           .workspace_bytes = workspace_bytes,
           .launch = launch,
           .predicted_us = predicted_us}};
}

}  // namespace KW_TARGET
