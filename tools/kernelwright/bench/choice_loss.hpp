// What the library's choice loses: the time of the kernel that it takes against the best of all, by
// result files that have the times of all kernels (bench sgemm --within).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "kernel.hpp"
#include "sgemm/problem.hpp"

namespace kw::bench {

// A kernel's row of a product: what was measured, and what the kernel plans today.
struct PlannedRow {
  std::string kernel;
  double us;            // measured
  double predicted_us;  // infinite: none
  double cost;          // what the choice compares
  // Whether its plan has another workspace than the one that was measured: it cuts the product
  // differently today, and the time is that of the former cut.
  bool cut_otherwise;
};

// The choice in one arithmetic for one product.
struct Chosen {
  Math math;
  std::string third;             // short, middle, long; empty where the product is of no sweep
  std::string product;           // "129x65x33 TN"
  std::vector<PlannedRow> rows;  // in the order of the file, those of the arithmetic
  PlannedRow chosen, best;
  // The time of the kernel that plain fp32 takes, of a split choice.
  std::optional<double> fp32_us;

  double loss() const { return chosen.us / best.us; }
};

// The choice among the kernels that match `globs`, as --kernel has them. Throws UsageError where
// the file states too little; `name` is for it.
std::vector<Chosen> chosen_in(const nlohmann::ordered_json& file, const std::string& name,
                              const std::string& globs = {});

// The device of a result file, as far as plans ask for it.
Device device_of(const nlohmann::ordered_json& file, const std::string& name);

// Lines by arithmetic and third, then those where the split choice breaks its promise.
std::string choice_table(const std::vector<Chosen>& chosen);

nlohmann::ordered_json choice_json(const std::vector<Chosen>& chosen);

}  // namespace kw::bench
