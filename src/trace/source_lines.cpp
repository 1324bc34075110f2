// One call of addr2line for all addresses. See source_lines.hpp.
#include "trace/source_lines.hpp"

#include <fmt/format.h>
#include <link.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <memory>
#include <string_view>

namespace kw::trace {
namespace {

// By how much the program lies higher than its file says.
std::uintptr_t load_bias() {
  std::uintptr_t bias = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* program, std::size_t, void* to) {
        *static_cast<std::uintptr_t*>(to) = program->dlpi_addr;
        return 1;  // the first one is the program itself
      },
      &bias);
  return bias;
}

std::string own_path() {
  std::array<char, 4096> path;
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  return length > 0 ? std::string(path.data(), static_cast<std::size_t>(length)) : std::string();
}

std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::vector<std::string> lines_of(const std::string& command) {
  std::vector<std::string> lines;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) return lines;
  std::string line;
  for (int c; (c = std::fgetc(pipe.get())) != EOF;) {
    if (c != '\n') {
      line += static_cast<char>(c);
      continue;
    }
    lines.push_back(line);
    line.clear();
  }
  return lines;
}

bool is_kernel_file(std::string_view frame) { return frame.find(".cu:") != std::string_view::npos; }

// "r07_conflict_free.cu:41" of "/home/…/r07_conflict_free.cu:41 (discriminator 2)"
std::string without_folder(std::string_view frame) {
  frame = frame.substr(0, frame.find(' '));
  return std::string(frame.substr(frame.rfind('/') + 1));
}

}  // namespace

std::string place_of(const std::vector<std::string>& frames) {
  std::string place;
  for (const std::string& frame : frames) {
    const bool is_ours = frame.find("/src/host_simt/") == std::string::npos &&
                         frame.find("/include/c++/") == std::string::npos && frame[0] != '?';
    if (!is_ours) continue;
    if (is_kernel_file(frame))
      return place + (place.empty() ? "" : " from ") + without_folder(frame);
    if (place.empty()) place = without_folder(frame);
  }
  return place;
}

std::map<std::uintptr_t, std::string> source_lines(const std::vector<std::uintptr_t>& calls) {
  std::map<std::uintptr_t, std::string> places;
  if (calls.empty()) return places;
  const std::uintptr_t bias = load_bias();
  std::string command = fmt::format("addr2line -i -a -e {}", quoted(own_path()));
  for (const std::uintptr_t call : calls) command += fmt::format(" {:#x}", call - bias - 1);
  std::vector<std::vector<std::string>> frames;
  for (const std::string& line : lines_of(command + " 2>/dev/null")) {
    if (line.rfind("0x", 0) == 0)
      frames.emplace_back();
    else if (!frames.empty())
      frames.back().push_back(line);
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::string place = i < frames.size() ? place_of(frames[i]) : std::string();
    places[calls[i]] = place.empty() ? fmt::format("{:#x}", calls[i] - bias) : place;
  }
  return places;
}

}  // namespace kw::trace
