// Runs the built kernelwright program and keeps what it said.
#pragma once

#include <string>

namespace kw {

struct ProgramRun {
  int exit_code = -1;
  std::string out, err;
};

// `arguments` as a shell reads them; `environment` as assignments before the command.
ProgramRun run_kernelwright(const std::string& arguments, const std::string& environment = {});

std::string read_text(const std::string& path);

// A path for a file of this test, which is removed with the tests' temporary folder.
std::string temporary_path(const std::string& name);

}  // namespace kw
