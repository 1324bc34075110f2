// Rows are written over the document's end, which follows them again in the same write.
#include "bench/result_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "program.hpp"

namespace kw::bench {
namespace {

namespace fs = std::filesystem;

constexpr const char* end_finished = "\n ]\n}\n";
constexpr const char* end_interrupted = "\n ],\n \"interrupted\": true\n}\n";
constexpr const char* end_without_rows = "]\n}\n";

// A row as it stands in the document, two levels deep.
std::string indented(const std::string& json) {
  std::string text = "\n  ";
  for (const char c : json) {
    text += c;
    if (c == '\n') text += "  ";
  }
  return text;
}

void write_all(int file, const std::string& text, long long at, const std::string& path) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t written = pwrite(file, text.data() + done, text.size() - done,
                                   static_cast<off_t>(at) + static_cast<off_t>(done));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      throw std::runtime_error(
          fmt::format("--json: cannot write {}: {}", path, std::strerror(errno)));
    }
    done += static_cast<std::size_t>(written);
  }
}

}  // namespace

ResultFile::ResultFile(std::string path) : path_(std::move(path)) {
  if (path_.empty() || path_ == "-") return;
  std::error_code ignored;
  const fs::file_status status = fs::status(path_, ignored);
  if (fs::is_directory(status)) throw cannot_write("--json", path_, EISDIR);
  if (fs::exists(status) && access(path_.c_str(), W_OK) != 0)
    throw cannot_write("--json", path_, errno);
  if (fs::exists(status) && !fs::is_regular_file(status)) return;  // a pipe, a device
  // A link is followed: what it leads to is replaced, not the link.
  const fs::path target = fs::weakly_canonical(path_, ignored);
  if (!target.empty()) path_ = target.string();
  is_regular_ = true;
  // Made once to see that it can be, and again when there is a row: nothing is left behind by a run
  // that ends before.
  open_temporary();
  close_temporary();
}

void ResultFile::open_temporary() {
  temporary_ = fmt::format("{}.{}.tmp", path_, getpid());
  file_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file_ >= 0) return;
  const int error = errno;
  temporary_.clear();
  throw cannot_write("--json", path_, error);
}

void ResultFile::close_temporary() {
  if (file_ >= 0) close(file_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
  file_ = -1;
  temporary_.clear();
}

ResultFile::~ResultFile() { close_temporary(); }

void ResultFile::begin(const nlohmann::ordered_json& head) {
  if (path_.empty()) return;
  text_ = head.dump(1);
  text_.resize(text_.size() - 2);  // "\n}"
  text_ += ",\n \"rows\": [";
}

void ResultFile::add(const std::vector<Row>& rows) {
  if (path_.empty()) return;
  for (const Row& row : rows) {
    text_ += (has_rows_ ? "," : "") + indented(to_json(row).dump(1));
    has_rows_ = true;
  }
  if (is_regular_ && has_rows_) write_out(end_interrupted);
}

// What was not yet written, and the document's end behind it.
void ResultFile::write_out(const std::string& end) {
  const bool is_first = file_ < 0;
  if (is_first) open_temporary();
  write_all(file_, text_ + end, end_, path_);
  end_ += static_cast<long long>(text_.size());
  text_.clear();
  if (!is_first) return;
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    throw std::runtime_error(
        fmt::format("--json: cannot write {}: {}", path_, std::strerror(errno)));
  }
  temporary_.clear();
}

void ResultFile::finish(bool interrupted) {
  if (path_.empty()) return;
  const std::string end = interrupted ? end_interrupted
                          : has_rows_ ? end_finished
                                      : end_without_rows;
  if (!is_regular_) {
    std::FILE* file = path_ == "-" ? stdout : std::fopen(path_.c_str(), "w");
    if (file == nullptr) throw cannot_write("--json", path_, errno);
    const std::string whole = text_ + end;
    const bool wrote =
        std::fwrite(whole.data(), 1, whole.size(), file) == whole.size() && std::fflush(file) == 0;
    const int error = errno;
    if (file != stdout) static_cast<void>(std::fclose(file));
    if (wrote) return;
    throw std::runtime_error(
        fmt::format("--json: cannot write {}: {}", path_, std::strerror(error)));
  }
  write_out(end);
  if (ftruncate(file_, static_cast<off_t>(end_ + static_cast<long long>(end.size()))) != 0) {
    throw std::runtime_error(
        fmt::format("--json: cannot write {}: {}", path_, std::strerror(errno)));
  }
}

}  // namespace kw::bench
