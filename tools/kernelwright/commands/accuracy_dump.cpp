// Raw files and index.json.
#include "commands/accuracy_dump.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include "bench/results.hpp"
#include "program.hpp"

namespace kw {

AccuracyDump::AccuracyDump(const std::string& folder) : folder_(folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw UsageError(fmt::format("--dump: cannot make {}: {}", folder, error.message()));
  }
}

void AccuracyDump::write(const std::string& name, const void* data, std::size_t bytes) const {
  const std::string path = folder_ + "/" + name;
  std::ofstream file(path, std::ios::binary);
  file.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  file.close();
  if (!file) throw UsageError(fmt::format("--dump: cannot write {}", path));
}

void AccuracyDump::add(const check::AccuracyClass& of, const check::SgemmCase& c,
                       const check::AccuracyTrial& trial) {
  if (of.alpha != 1 || of.beta != 0 || of.odd || c.k == 0) return;
  const std::string stem = fmt::format("{}-{}", of.name, c.k);
  nlohmann::ordered_json item = {{"input", of.name}, {"m", c.m}, {"n", c.n}, {"k", c.k}};
  const auto put = [&](const char* name, const char* end, const auto& values) {
    const std::string file = stem + end;
    write(file, values.data(), values.size() * sizeof(values[0]));
    item[name] = file;
  };
  put("a", "-a.f32", trial.stored(check::Operand::a));
  put("b", "-b.f32", trial.stored(check::Operand::b));
  put("product", "-product.f64", trial.product());
  put("magnitude", "-magnitude.f64", trial.magnitude());
  items_.push_back(item);
}

void AccuracyDump::write_index(const std::string& command, const Device& device,
                               std::int64_t size) {
  const nlohmann::ordered_json index = {{"command", command},
                                        {"size", size},
                                        {"device", bench::device_json(device, {})},
                                        {"software", bench::software_json(device)},
                                        {"items", items_}};
  const std::string text = index.dump(1) + "\n";
  write("index.json", text.data(), text.size());
}

}  // namespace kw
