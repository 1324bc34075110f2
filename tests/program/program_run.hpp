// Runs the built kernelwright program and keeps what it said.
#pragma once

#include <string>

namespace kw {

struct ProgramRun {
  int exit_code = -1;
  std::string out, err;
};

// Where the program was built, unless KW_TEST_PROGRAM says where it is.
std::string program_path();

// `arguments` as a shell reads them; `environment` as assignments before the command.
ProgramRun run_kernelwright(const std::string& arguments, const std::string& environment = {});

std::string read_text(const std::string& path);

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The program under way, its outputs in files.
class ProgramUnderWay {
 public:
  explicit ProgramUnderWay(const std::string& arguments);
  ~ProgramUnderWay();
  ProgramUnderWay(const ProgramUnderWay&) = delete;
  ProgramUnderWay& operator=(const ProgramUnderWay&) = delete;

  void send(int signal) const;
  bool has_ended() const;
  // What it said so far on standard output and error.
  ProgramRun so_far() const { return {0, read_text(out_), read_text(err_)}; }
  // Its exit code, or the negative number of the signal that ended it; what it said is complete.
  ProgramRun wait();

 private:
  int process_ = -1;
  std::string out_, err_;
};

// What the program writes where its standard error is a terminal of that kind (TERM).
ProgramRun run_in_terminal(const std::string& arguments, const std::string& environment);

// A path for a file of this test, which is removed with the tests' temporary folder.
std::string temporary_path(const std::string& name);

}  // namespace kw
