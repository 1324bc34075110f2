// A stack of its own that another can switch to: Boost.Context's fiber, with a guard page, a
// stagger and, under AddressSanitizer, the announcements that Debian's Boost is built without.
#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <functional>

namespace kw::host_simt {

class Fiber {
 public:
  // The place that an operating-system thread's own stack is left at.
  Fiber() = default;
  // A new stack that will run `main` when first switched to. When `main` returns, the fiber ends
  // and `*home` goes on. `index` staggers the stacks: were the hot ends of all of them a multiple
  // of 4 KiB apart, they would share a few cache sets.
  Fiber(std::size_t index, Fiber* home, std::function<void()> main);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Leaves this fiber, which must be the running one, for `to`; returns when somebody switches
  // back.
  void switch_to(Fiber& to);

 private:
  boost::context::fiber run(const std::function<void()>& main, Fiber* home);

  boost::context::fiber context_;
  void* fake_stack_ = nullptr;  // AddressSanitizer's
  const void* bottom_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace kw::host_simt
