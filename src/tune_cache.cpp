// The tune cache's file: reading, writing, looking up.
#include "tune_cache.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "kernelwright/version.hpp"
#include "select.hpp"
#include "text.hpp"

namespace kw {
namespace {

constexpr const char* magic = "kernelwright tune cache";
constexpr int format = 1;
constexpr std::uintmax_t max_bytes = 64u << 20;

// A line's words would run together with the header's separators.
std::string plain(std::string words) {
  std::replace_if(
      words.begin(), words.end(), [](char c) { return c == '|' || c == '\n' || c == '\r'; }, '_');
  return words;
}

std::string header(const Device& device) {
  return text(magic, " | ", format, " | ", version(), " | ", plain(device.name), " | ",
              plain(device.driver));
}

std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> found;
  std::size_t begin = 0;
  for (std::size_t end; (end = line.find(" | ", begin)) != std::string::npos; begin = end + 3) {
    found.push_back(line.substr(begin, end - begin));
  }
  found.push_back(line.substr(begin));
  return found;
}

// Why a file that begins like this cannot be used; empty where it can.
std::string why_foreign(const std::string& line, const Device& device) {
  const std::vector<std::string> theirs = fields(line), ours = fields(header(device));
  if (theirs[0] != magic) return "it is no tune cache";
  const char* const names[] = {"", "format", "version", "device", "driver"};
  for (std::size_t i = 1; i < ours.size(); ++i) {
    if (i >= theirs.size()) return text("its first line names no ", names[i]);
    if (theirs[i] != ours[i]) {
      return text("it was written for ", names[i], " \"", escaped(theirs[i]), "\", but this is \"",
                  ours[i], "\"");
    }
  }
  return theirs.size() == ours.size() ? "" : "its first line has too many fields";
}

template <class T>
bool parse_number(const std::string& word, T* value) {
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, *value);
  return error == std::errc() && stop == end;
}

bool parse_op(const std::string& word, Op* op) {
  *op = word == "t" ? Op::transpose : Op::none;
  return word == "n" || word == "t";
}

bool parse_choice(const std::string& line, TuneKey* key, TuneChoice* choice) {
  std::istringstream words(line);
  std::string op, m, n, k, op_a, op_b, batch, arrow, us, unit, more;
  if (!(words >> op >> m >> n >> k >> op_a >> op_b >> batch >> arrow >> choice->kernel >> us >>
        unit) ||
      words >> more) {
    return false;
  }
  return op == "sgemm" && arrow == "->" && unit == "us" && parse_number(m, &key->m) &&
         parse_number(n, &key->n) && parse_number(k, &key->k) && parse_op(op_a, &key->op_a) &&
         parse_op(op_b, &key->op_b) && parse_number(batch, &key->batch) &&
         parse_number(us, &choice->us) && std::isfinite(choice->us) &&
         std::min({key->m, key->n, key->k, key->batch}) >= 0;
}

std::string line_of(const TuneKey& key, const TuneChoice& choice) {
  const auto letter = [](Op op) { return op == Op::transpose ? 't' : 'n'; };
  return text("sgemm ", key.m, ' ', key.n, ' ', key.k, ' ', letter(key.op_a), ' ', letter(key.op_b),
              ' ', key.batch, " -> ", choice.kernel, ' ', choice.us, " us\n");
}

// Why the file cannot be used; empty where it was read.
std::string read_file(const std::string& path, const Device& device,
                      std::map<TuneKey, TuneChoice>& choices) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return "it does not exist";
  if (!std::filesystem::is_regular_file(path, error)) return "it is not a regular file";
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  if (!error && bytes > max_bytes) return text("it has ", bytes, " bytes");
  std::ifstream file(path, std::ios::binary);
  std::string line;
  if (!file || !std::getline(file, line)) return "it cannot be read";
  if (std::string reason = why_foreign(line, device); !reason.empty()) return reason;
  for (int number = 2; std::getline(file, line); ++number) {
    TuneKey key;
    TuneChoice choice;
    if (!parse_choice(line, &key, &choice)) return text("line ", number, " cannot be understood");
    if (file.eof()) return text("line ", number, " is cut off");
    choices[key] = std::move(choice);
  }
  return file.bad() ? "it cannot be read" : "";
}

}  // namespace

Status TuneCache::read(const std::string& path, const Device& device, TuneCache* cache) {
  *cache = {};
  TuneCache found;
  const std::string reason = read_file(path, device, found.choices_);
  if (!reason.empty()) {
    return Status::failure(
        StatusCode::unusable_file,
        text("tune cache ", path, " is not used: ", reason, "; kernelwright tune writes one"),
        "path");
  }
  *cache = std::move(found);
  return Status::success();
}

bool TuneCache::is_one(const std::string& path) {
  std::string begin(std::string_view(magic).size(), '\0');
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) &&
         std::ifstream(path, std::ios::binary).read(begin.data(), std::ssize(begin)) &&
         begin == magic;
}

Status TuneCache::write(const std::string& path, const Device& device) const {
  const std::string temporary = text(path, '.', std::random_device{}(), ".tmp");
  std::error_code error;
  {
    std::ofstream file(temporary, std::ios::binary);
    file << header(device) << '\n';
    for (const auto& [key, choice] : choices_) file << line_of(key, choice);
    file.close();
    if (!file) error = std::make_error_code(std::errc::io_error);
  }
  if (!error) std::filesystem::rename(temporary, path, error);
  if (!error) return Status::success();
  std::error_code ignored;
  std::filesystem::remove(temporary, ignored);
  return Status::failure(StatusCode::unusable_file,
                         text("cannot write the tune cache ", path, " (", error.message(),
                              "): name a file in a folder that exists and can be written"),
                         "path");
}

std::optional<Choice<Sgemm>> choose_kernel(const Sgemm& problem, const Device& device,
                                           const KernelList<Sgemm>& kernels, const TuneCache& cache,
                                           Math math) {
  const auto tuned = cache.choices().find(tune_key(problem));
  if (math == Math::fp32 && tuned != cache.choices().end()) {
    for (const Kernel<Sgemm>& kernel : kernels) {
      if (kernel.name != tuned->second.kernel || !computes_in(kernel, math)) continue;
      if (auto plan = plan_for(kernel, problem, device))
        return Choice<Sgemm>{&kernel, std::move(*plan)};
    }
  }
  return select_kernel(problem, device, kernels, math);
}

}  // namespace kw
