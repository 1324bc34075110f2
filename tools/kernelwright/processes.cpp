// See processes.hpp.
#include "processes.hpp"

#include <sys/wait.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace kw {

std::filesystem::path own_folder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

Arguments::Arguments(std::vector<std::string> words) : words_(std::move(words)) {
  pointers_.reserve(words_.size() + 1);
  for (std::string& word : words_) pointers_.push_back(word.data());
  pointers_.push_back(nullptr);
}

int exit_code_of(pid_t child) {
  constexpr int unknown = 127;
  int state = 0;
  while (waitpid(child, &state, 0) < 0) {
    if (errno != EINTR) return unknown;
  }
  return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

}  // namespace kw
