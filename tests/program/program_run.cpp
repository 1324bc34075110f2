// Running the program through a shell, its outputs through files.
#include "program_run.hpp"

#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
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

std::string program_path() {
  const char* const elsewhere = std::getenv("KW_TEST_PROGRAM");
  return elsewhere == nullptr ? KW_PROGRAM : elsewhere;
}

ProgramRun run_kernelwright(const std::string& arguments, const std::string& environment) {
  const std::string out = temporary_path("out.txt");
  const std::string err = temporary_path("err.txt");
  const std::string command =
      environment + " '" + program_path() + "' " + arguments + " >'" + out + "' 2>'" + err + "'";
  const int state = std::system(command.c_str());
  ProgramRun run{WIFEXITED(state) ? WEXITSTATUS(state) : -1, read_text(out), read_text(err)};
  unlink(out.c_str());
  unlink(err.c_str());
  return run;
}

ProgramUnderWay::ProgramUnderWay(const std::string& arguments)
    : out_(temporary_path("way_out.txt")), err_(temporary_path("way_err.txt")) {
  const std::string command =
      "exec '" + program_path() + "' " + arguments + " >'" + out_ + "' 2>'" + err_ + "'";
  process_ = fork();
  if (process_ == 0) {
    signal(SIGINT, SIG_DFL);
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
}

ProgramUnderWay::~ProgramUnderWay() {
  if (process_ > 0) {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  unlink(out_.c_str());
  unlink(err_.c_str());
}

void ProgramUnderWay::send(int number) const { kill(process_, number); }

bool ProgramUnderWay::has_ended() const {
  siginfo_t state = {};  // stays zero while it runs; its exit code is left for `wait`
  waitid(P_PID, static_cast<id_t>(process_), &state, WEXITED | WNOHANG | WNOWAIT);
  return state.si_pid != 0;
}

ProgramRun ProgramUnderWay::wait() {
  int state = 0;
  waitpid(process_, &state, 0);
  process_ = -1;
  return {WIFEXITED(state) ? WEXITSTATUS(state) : -WTERMSIG(state), read_text(out_),
          read_text(err_)};
}

ProgramRun run_in_terminal(const std::string& arguments, const std::string& environment) {
  const std::string command = "exec env " + environment + " '" + program_path() + "' " + arguments;
  int terminal = -1;
  const pid_t process = forkpty(&terminal, nullptr, nullptr, nullptr);
  if (process == 0) {
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  ProgramRun run;
  char buffer[4096];
  for (ssize_t got; (got = read(terminal, buffer, sizeof(buffer))) > 0;) {
    run.err.append(buffer, static_cast<std::size_t>(got));
  }
  int state = 0;
  waitpid(process, &state, 0);
  close(terminal);
  run.exit_code = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
  return run;
}

}  // namespace kw
