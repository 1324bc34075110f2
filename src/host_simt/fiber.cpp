// Switching stacks. See fiber.hpp.
#include "host_simt/fiber.hpp"

#include <boost/context/protected_fixedsize_stack.hpp>
#include <utility>

#include "host_simt/host_simt.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#else
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes) static_cast<void>(0)
#endif

namespace kw::host_simt {
namespace {

// A kernel's frame holds its register tile, a few KiB at most; the sanitizer's are several times
// that.
constexpr std::size_t stack_bytes = (address_sanitizer ? 256 : 64) * 1024;
constexpr std::size_t page_bytes = 4096;
constexpr std::size_t line_bytes = 64;
constexpr std::size_t stagger_lines = 17;  // odd, so that 64 neighbours start on 64 different sets

void announce_switch([[maybe_unused]] void** fake_stack, [[maybe_unused]] const void* bottom,
                     [[maybe_unused]] std::size_t size) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(fake_stack, bottom, size);
#endif
}

// `*bottom` and `*size`, if asked for, become those of the stack that was left.
void confirm_switch([[maybe_unused]] void* fake_stack, [[maybe_unused]] const void** bottom,
                    [[maybe_unused]] std::size_t* size) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake_stack, bottom, size);
#endif
}

// Stacks with a guard page, whose memory AddressSanitizer takes for untouched when it comes and
// when it goes. It cannot tell by itself: Boost's first function on a stack ends by a jump, so the
// marks around that function's variables stay, and the next stack that the system maps there, which
// has another stagger, would have them in the middle of a kernel's frame.
class CleanStacks {
 public:
  explicit CleanStacks(std::size_t bytes) : stacks_(bytes) {}

  boost::context::stack_context allocate() {
    const boost::context::stack_context stack = stacks_.allocate();
    clear_marks(stack);
    return stack;
  }
  void deallocate(boost::context::stack_context& stack) noexcept {
    clear_marks(stack);
    stacks_.deallocate(stack);
  }

 private:
  static void clear_marks([[maybe_unused]] const boost::context::stack_context& stack) {
    ASAN_UNPOISON_MEMORY_REGION(static_cast<char*>(stack.sp) - stack.size, stack.size);
  }

  boost::context::protected_fixedsize_stack stacks_;
};

}  // namespace

Fiber::Fiber(std::size_t index, Fiber* home, std::function<void()> main) {
  CleanStacks stacks(stack_bytes + page_bytes);
  const boost::context::stack_context stack = stacks.allocate();
  const std::size_t stagger = index * stagger_lines * line_bytes % page_bytes;
  void* top = static_cast<char*>(stack.sp) - stagger;
  bottom_ = static_cast<char*>(stack.sp) - stack.size;
  size_ = stack.size;
  context_ = boost::context::fiber(
      std::allocator_arg, boost::context::preallocated(top, stack.size - stagger, stack), stacks,
      [this, home, main = std::move(main)](boost::context::fiber&&) { return run(main, home); });
}

boost::context::fiber Fiber::run(const std::function<void()>& main, Fiber* home) {
  const void* left_bottom = nullptr;
  std::size_t left_size = 0;
  confirm_switch(nullptr, &left_bottom, &left_size);
  if (home->bottom_ == nullptr) {  // the first fiber is entered from home
    home->bottom_ = left_bottom;
    home->size_ = left_size;
  }
  main();
  announce_switch(nullptr, home->bottom_, home->size_);
  return std::move(home->context_);
}

void Fiber::switch_to(Fiber& to) {
  announce_switch(&fake_stack_, to.bottom_, to.size_);
  std::move(to.context_).resume_with([this](boost::context::fiber&& left) {
    context_ = std::move(left);
    return boost::context::fiber();
  });
  confirm_switch(fake_stack_, nullptr, nullptr);
}

}  // namespace kw::host_simt
