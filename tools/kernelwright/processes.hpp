// Other programs that this one starts, and the folder where it lies itself.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace kw {

// Of this program's file; empty where the system does not say.
std::filesystem::path own_folder();

// Words as the exec and spawn functions want them. The first is the program.
class Arguments {
 public:
  explicit Arguments(std::vector<std::string> words);
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  const char* program() const { return pointers_.front(); }
  char* const* get() const { return pointers_.data(); }

 private:
  std::vector<std::string> words_;
  std::vector<char*> pointers_;  // into words_, and null at the end
};

// Waits for a child: its exit code, or 128 and the number of the signal that ended it, as shells
// have it.
int exit_code_of(pid_t child);

}  // namespace kw
