// A result file that grows row by row: from the first row on it is at every moment a whole JSON
// document, marked "interrupted" until it is finished.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/row.hpp"

namespace kw::bench {

class ResultFile {
 public:
  // `path` as --json takes it: empty for none; "-" for standard output, which gets everything at
  // the end, as a pipe does. Throws UsageError, before any work, where the path can't be written.
  // What was there before stays until there is a row.
  explicit ResultFile(std::string path);
  // Unfinished, it keeps what it has and its mark.
  ~ResultFile();
  ResultFile(const ResultFile&) = delete;
  ResultFile& operator=(const ResultFile&) = delete;

  // All fields but the rows; before the first row.
  void begin(const nlohmann::ordered_json& head);
  void add(const std::vector<Row>& rows);
  // No more rows. Throws std::runtime_error, as `add` does, where writing fails.
  void finish(bool interrupted);

 private:
  void open_temporary();
  void close_temporary();
  void write_out(const std::string& end);

  std::string path_;
  bool is_regular_ = false;  // no pipe, no device
  std::string temporary_;    // while it has not yet taken the path's place
  int file_ = -1;
  long long end_ = 0;  // where the next row goes
  std::string text_;   // not yet written
  bool has_rows_ = false;
};

}  // namespace kw::bench
