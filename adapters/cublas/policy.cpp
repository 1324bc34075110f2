// One table of variables: how each is read, and what it may say.
#include "policy.hpp"

#include <cerrno>
#include <cmath>
#include <cstdlib>

namespace kw::cublas {

namespace {

// A word that a variable may say, and what it means.
template <class T>
struct Word {
  const char* text;
  T value;
};

constexpr Word<Arithmetic> math_words[] = {
    {"fp32_split", Arithmetic::fp32_split}, {"fp32", Arithmetic::fp32}, {"off", Arithmetic::off}};
constexpr Word<Arithmetic> pedantic_words[] = {{"fp32", Arithmetic::fp32},
                                               {"fp32_split", Arithmetic::fp32_split},
                                               {"forward", Arithmetic::off}};
constexpr Word<bool> take_words[] = {{"forward", false}, {"take", true}};
constexpr Word<bool> device_words[] = {{"gpu", false}, {"cpu", true}};
constexpr Word<LogLevel> log_words[] = {{"off", LogLevel::off},
                                        {"warnings", LogLevel::warnings},
                                        {"summary", LogLevel::summary},
                                        {"calls", LogLevel::calls}};

template <class T, std::size_t count>
std::string read_word(const std::string& value, const Word<T> (&words)[count], T* into) {
  std::string all;
  for (const Word<T>& word : words) {
    if (value == word.text) {
      *into = word.value;
      return {};
    }
    all += (all.empty() ? "" : ", ") + std::string(word.text);
  }
  return "one of " + all;
}

std::string read_number(const std::string& value, double most, double* into) {
  errno = 0;
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  if (errno == 0 && *end == '\0' && number >= 0 && number <= most) {
    *into = number;
    return {};
  }
  return "a number of 0 or more";
}

std::string read_mebibytes(const std::string& value, std::size_t* into) {
  double number = 0;
  std::string wanted = read_number(value, 1 << 24, &number);
  if (wanted.empty()) *into = static_cast<std::size_t>(number * (1 << 20));
  return wanted;
}

std::string read_count(const std::string& value, std::int64_t* into) {
  double number = 0;
  const std::string wanted = read_number(value, 1e15, &number);
  if (!wanted.empty() || number != std::floor(number)) return "a whole number of 0 or more";
  *into = static_cast<std::int64_t>(number);
  return {};
}

// Reads a value into the policy; returns what was wanted where it is not that.
struct Variable {
  const char* name;
  std::string (*read)(const std::string& value, Policy* policy);
};

constexpr Variable variables[] = {
    {"KERNELWRIGHT_MATH",
     [](const std::string& v, Policy* p) { return read_word(v, math_words, &p->math); }},
    {"KERNELWRIGHT_PEDANTIC",
     [](const std::string& v, Policy* p) { return read_word(v, pedantic_words, &p->pedantic); }},
    {"KERNELWRIGHT_SLOWER",
     [](const std::string& v, Policy* p) { return read_word(v, take_words, &p->take_slower); }},
    {"KERNELWRIGHT_UNMEASURED",
     [](const std::string& v, Policy* p) { return read_word(v, take_words, &p->take_unmeasured); }},
    {"KERNELWRIGHT_SMALLEST",
     [](const std::string& v, Policy* p) { return read_number(v, 1e18, &p->smallest); }},
    {"KERNELWRIGHT_WORKSPACE_MIB",
     [](const std::string& v, Policy* p) { return read_mebibytes(v, &p->workspace_bytes); }},
    {"KERNELWRIGHT_CAPTURE_MIB",
     [](const std::string& v, Policy* p) { return read_mebibytes(v, &p->capture_bytes); }},
    {"KERNELWRIGHT_LOG",
     [](const std::string& v, Policy* p) { return read_word(v, log_words, &p->log); }},
    {"KERNELWRIGHT_LOG_FILE",
     [](const std::string& v, Policy* p) { return p->log_file = v, std::string(); }},
    {"KERNELWRIGHT_VERIFY",
     [](const std::string& v, Policy* p) { return read_count(v, &p->verify_every); }},
    {"KERNELWRIGHT_DEVICE",
     [](const std::string& v, Policy* p) { return read_word(v, device_words, &p->on_cpu); }},
    {"KERNELWRIGHT_RECORD",
     [](const std::string& v, Policy* p) { return p->record_folder = v, std::string(); }},
};

}  // namespace

const char* name_of(Arithmetic math) {
  for (const Word<Arithmetic>& word : math_words) {
    if (word.value == math) return word.text;
  }
  return "";
}

Policy read_policy(const char* (*get)(const char* name), std::vector<std::string>* complaints) {
  Policy policy;
  for (const Variable& variable : variables) {
    const char* const value = get(variable.name);
    if (value == nullptr || *value == '\0') continue;
    const std::string wanted = variable.read(value, &policy);
    if (wanted.empty()) continue;
    complaints->push_back(std::string(variable.name) + " is \"" + value + "\", not " + wanted +
                          ": its default holds");
  }
  return policy;
}

std::vector<std::string> policy_variables() {
  std::vector<std::string> names;
  for (const Variable& variable : variables) names.emplace_back(variable.name);
  return names;
}

}  // namespace kw::cublas
