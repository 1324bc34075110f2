// Running the program through a shell, its outputs through files.
#include "program_run.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace kw {

std::string read_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string temporary_path(const std::string& name) {
  return testing::TempDir() + "kernelwright_" + std::to_string(getpid()) + "_" + name;
}

ProgramRun run_kernelwright(const std::string& arguments, const std::string& environment) {
  const std::string out = temporary_path("out.txt");
  const std::string err = temporary_path("err.txt");
  const std::string command =
      environment + " '" KW_PROGRAM "' " + arguments + " >'" + out + "' 2>'" + err + "'";
  const int state = std::system(command.c_str());
  ProgramRun run{WIFEXITED(state) ? WEXITSTATUS(state) : -1, read_text(out), read_text(err)};
  unlink(out.c_str());
  unlink(err.c_str());
  return run;
}

}  // namespace kw
