// kernelwright list: the registry as a table.
#include <algorithm>
#include <array>

#include "bench/table.hpp"
#include "commands/commands.hpp"
#include "kernels.hpp"

namespace kw {
namespace {

constexpr std::array kinds = {DeviceKind::cuda, DeviceKind::hip, DeviceKind::host_simt,
                              DeviceKind::cpu};

struct Entry {
  std::string name, role, math, parent, devices, idea;
};

// A kernel that several devices have is one entry.
template <class Problem>
std::vector<Entry> entries() {
  std::vector<Entry> found;
  for (const DeviceKind kind : kinds) {
    for (const Kernel<Problem>& kernel : all_kernels<Problem>(kind)) {
      const auto known = std::find_if(found.begin(), found.end(), [&](const Entry& entry) {
        return entry.name == kernel.name;
      });
      if (known != found.end()) {
        known->devices += std::string(" ") + to_string(kind);
        continue;
      }
      found.push_back({kernel.name, to_string(kernel.role), to_string(kernel.math),
                       kernel.parent != nullptr ? kernel.parent : "-", to_string(kind),
                       kernel.idea});
    }
  }
  return found;
}

template <class Problem>
void print_list(const char* op) {
  std::vector<std::vector<std::string>> cells = {
      {"kernel", "role", "math", "improves on", "devices", "idea"}};
  for (const Entry& e : entries<Problem>()) {
    cells.push_back({e.name, e.role, e.math, e.parent, e.devices, e.idea});
  }
  fmt::print("{}\n{}\n", op, bench::align(cells, 6));
}

}  // namespace

void add_list_command(CLI::App& app, Invocation&) {
  CLI::App* command = app.add_subcommand("list", "Show every kernel of this build");
  command->footer("Examples:\n  kernelwright list\n  kernelwright list reduce");
  auto op = std::make_shared<std::string>();
  command
      ->add_option(
          "op", *op,
          "sgemm, level3, cgemm, ctrsm, reduce, rowwise, scale_add or attention (default: all)")
      ->check(CLI::IsMember(
          {"sgemm", "level3", "cgemm", "ctrsm", "reduce", "rowwise", "scale_add", "attention"}));
  command->callback([op] {
    if (op->empty() || *op == "sgemm") print_list<Sgemm>("sgemm");
    if (op->empty() || *op == "level3") print_list<Level3>("level3");
    if (op->empty() || *op == "cgemm") print_list<Cgemm>("cgemm");
    if (op->empty() || *op == "ctrsm") print_list<Ctrsm>("ctrsm");
    if (op->empty() || *op == "reduce") print_list<Reduce>("reduce");
    if (op->empty() || *op == "rowwise") print_list<Rowwise>("rowwise");
    if (op->empty() || *op == "scale_add") print_list<ScaleAdd>("scale_add");
    if (op->empty() || *op == "attention") print_list<Attention>("attention");
  });
}

}  // namespace kw
