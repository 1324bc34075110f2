// Reads and writes safetensors. Nothing of a file is believed before it was compared with its size.
#include "safetensors.hpp"

#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "reduce/numbers/element.hpp"

namespace kw::gpt2 {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
  throw std::runtime_error(fmt::format("{}: {}", path, reason));
}

// 0 for types that are left out.
std::uint64_t bytes_of(const std::string& dtype) {
  if (dtype == "F32") return 4;
  return dtype == "F16" || dtype == "BF16" ? 2 : 0;
}

template <class T>
std::vector<float> converted(const std::vector<char>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    T element;
    std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = to_value(element);
  }
  return values;
}

std::vector<float> to_floats(const std::string& dtype, const std::vector<char>& bytes) {
  if (dtype == "F16") return converted<float16>(bytes);
  if (dtype == "BF16") return converted<bfloat16>(bytes);
  return converted<float>(bytes);
}

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path), file_(path, std::ios::binary) {
    if (!file_) refuse(path, "cannot be opened");
    file_.seekg(0, std::ios::end);
    size_ = static_cast<std::uint64_t>(file_.tellg());
  }

  Tensors read() {
    const json header = read_header();
    Tensors tensors;
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") continue;
      const std::string dtype = entry.at("dtype").get<std::string>();
      if (bytes_of(dtype) == 0) continue;
      tensors[name] = read_tensor(name, dtype, entry);
    }
    return tensors;
  }

 private:
  json read_header() {
    std::uint64_t length = 0;
    const std::vector<char> words = read_bytes(0, sizeof length, "the length of its header");
    std::memcpy(&length, words.data(), sizeof length);
    if (length > size_ - sizeof length)
      refuse(path_, fmt::format("its header takes {} bytes, but the file has {}", length, size_));
    const std::vector<char> text = read_bytes(sizeof length, length, "its header");
    data_begin_ = sizeof length + length;
    json header = json::parse(text.begin(), text.end());
    if (!header.is_object()) refuse(path_, "its header is no JSON object");
    return header;
  }

  Tensor read_tensor(const std::string& name, const std::string& dtype, const json& entry) {
    Tensor tensor;
    tensor.shape = entry.at("shape").get<std::vector<std::int64_t>>();
    std::uint64_t bytes = bytes_of(dtype);
    for (const std::int64_t extent : tensor.shape) {
      if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes))
        refuse(path_, fmt::format("{} has an extent of {}", name, extent));
    }
    const auto offsets = entry.at("data_offsets").get<std::vector<std::uint64_t>>();
    const std::uint64_t data_bytes = size_ - data_begin_;
    if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data_bytes ||
        offsets[1] - offsets[0] != bytes) {
      refuse(path_,
             fmt::format("{} takes {} bytes by its shape, which its data_offsets do not have "
                         "within the file's {}",
                         name, bytes, data_bytes));
    }
    tensor.values = to_floats(dtype, read_bytes(data_begin_ + offsets[0], bytes, name));
    return tensor;
  }

  std::vector<char> read_bytes(std::uint64_t begin, std::uint64_t count, const std::string& what) {
    if (begin > size_ || count > size_ - begin) refuse(path_, fmt::format("ends within {}", what));
    std::vector<char> bytes(count);
    file_.seekg(static_cast<std::streamoff>(begin));
    file_.read(bytes.data(), static_cast<std::streamsize>(count));
    if (!file_) refuse(path_, fmt::format("cannot be read at {}", what));
    return bytes;
  }

  std::string path_;
  std::ifstream file_;
  std::uint64_t size_ = 0, data_begin_ = 0;
};

}  // namespace

Tensors read_safetensors(const std::string& path) {
  try {
    return Reader(path).read();
  } catch (const json::exception& error) {
    refuse(path, fmt::format("its header is no header of safetensors ({})", error.what()));
  }
}

void write_safetensors(const std::string& path, const Tensors& tensors) {
  json header = json::object();
  std::uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    const std::uint64_t end = offset + tensor.values.size() * sizeof(float);
    header[name] = {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  const std::string text = header.dump();
  const std::uint64_t length = text.size();
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file.write(text.data(), static_cast<std::streamsize>(length));
  for (const auto& [name, tensor] : tensors) {
    file.write(reinterpret_cast<const char*>(tensor.values.data()),
               static_cast<std::streamsize>(tensor.values.size() * sizeof(float)));
  }
  file.close();
  if (!file) refuse(path, "cannot be written");
}

}  // namespace kw::gpt2
