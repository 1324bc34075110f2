// The tests start themselves anew with the adapter loaded first, the library on the CPU, and a log.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "support.hpp"

namespace kw::cublas {

std::string temporary(const std::string& name) {
  return testing::TempDir() + "kw_adapter_" + std::to_string(getpid()) + "_" + name;
}

std::string read_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// The log of many repeats is long: its end is enough.
std::string last_line() {
  constexpr std::streamoff longest = 4096;
  std::ifstream log(std::getenv("KERNELWRIGHT_LOG_FILE"), std::ios::ate);
  const std::streamoff size = log.tellg();
  log.seekg(std::max<std::streamoff>(0, size - longest));
  std::string last;
  for (std::string line; std::getline(log, line);) last = line;
  return last;
}

Outcome run_shell(const std::string& command) {
  const std::string out = temporary("out");
  const int state = std::system((command + " >'" + out + "' 2>&1").c_str());
  Outcome run{WIFEXITED(state) ? WEXITSTATUS(state) : -1, read_file(out), {}};
  unlink(out.c_str());
  return run;
}

Outcome run_client(const std::string& arguments, const std::string& environment) {
  const std::string log = temporary("client_log");
  unlink(log.c_str());
  Outcome run = run_shell("env KERNELWRIGHT_LOG=calls KERNELWRIGHT_LOG_FILE='" + log + "' " +
                          environment + " '" KW_CLIENT "' " + arguments);
  run.log = read_file(log);
  unlink(log.c_str());
  return run;
}

}  // namespace kw::cublas

int main(int argc, char** argv) {
  if (std::getenv("KW_ADAPTER_TESTS") == nullptr) {
    const std::string log = kw::cublas::temporary("log");
    setenv("KW_ADAPTER_TESTS", "1", 1);
    setenv("LD_PRELOAD", KW_ADAPTER, 1);
    setenv("KERNELWRIGHT_DEVICE", "cpu", 1);
    setenv("KERNELWRIGHT_LOG", "calls", 1);
    setenv("KERNELWRIGHT_LOG_FILE", log.c_str(), 1);
    execv("/proc/self/exe", argv);
    std::perror("execv");
    return 1;
  }
  testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  unlink(std::getenv("KERNELWRIGHT_LOG_FILE"));
  return failed;
}
