// See fences.hpp.
#include "host_simt/fences.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "host_simt/block.hpp"
#include "host_simt/device_memory.hpp"

namespace kw::host_simt {
namespace {

std::size_t system_page() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

// The pages of an allocation: one that is closed, those that can be touched, one that is closed.
struct Pages {
  Pages(std::size_t bytes, std::size_t before)
      : page(system_page()),
        open((before + bytes + bytes_before_fence(bytes) + page - 1) / page * page),
        all(page + open + page),
        data(page + open - bytes - bytes_before_fence(bytes)) {}
  std::size_t page, open, all;
  std::size_t data;  // from the first page's begin to what was asked for
};

struct sigaction handler_before;

// Says which kernel has touched a fence and of which allocation, then leaves the signal to whom it
// was meant for before.
void explain(int signal, siginfo_t* info, void* context) {
  const auto* const address = static_cast<const char*>(info->si_addr);
  if (const auto range = DeviceMemory::before(address, system_page() + fence_alignment)) {
    std::array<char, 512> text;
    const auto* const thread = static_cast<const Thread*>(built_ins);
    int length = std::snprintf(
        text.data(), text.size(), "host SIMT: %s touches byte %td of an allocation of %zu bytes",
        thread != nullptr ? thread->runner.kernel_name().c_str() : "host code",
        address - range->begin, range->bytes);
    if (thread != nullptr) {
      length += std::snprintf(text.data() + length, text.size() - static_cast<std::size_t>(length),
                              ", block (%u,%u,%u), thread (%u,%u,%u)", thread->block_index.x,
                              thread->block_index.y, thread->block_index.z, thread->thread_index.x,
                              thread->thread_index.y, thread->thread_index.z);
    }
    std::strncat(text.data(), "; preset asan says the line\n",
                 text.size() - std::strlen(text.data()) - 1);
    [[maybe_unused]] const auto written =
        write(STDERR_FILENO, text.data(), std::strlen(text.data()));
  }
  sigaction(signal, &handler_before, nullptr);
  if ((handler_before.sa_flags & SA_SIGINFO) != 0) {
    handler_before.sa_sigaction(signal, info, context);
  } else if (handler_before.sa_handler != SIG_DFL && handler_before.sa_handler != SIG_IGN) {
    handler_before.sa_handler(signal);
  }  // else the access is made again, and ends the program
}

void listen() {
  struct sigaction action {};
  action.sa_sigaction = explain;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &handler_before);
}

}  // namespace

void* allocate_fenced(std::size_t bytes, std::size_t before, unsigned char filling) {
  static const bool listening = (listen(), true);
  (void)listening;
  const Pages pages(bytes, before);
  void* const all = mmap(nullptr, pages.all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) return nullptr;
  auto* const first = static_cast<char*>(all);
  if (mprotect(first + pages.page, pages.open, PROT_READ | PROT_WRITE) != 0) {
    munmap(all, pages.all);
    return nullptr;
  }
  std::memset(first + pages.page, filling, pages.open);
  return first + pages.data;
}

void release_fenced(void* data, std::size_t bytes, std::size_t before) noexcept {
  const Pages pages(bytes, before);
  munmap(static_cast<char*>(data) - pages.data, pages.all);
}

}  // namespace kw::host_simt
