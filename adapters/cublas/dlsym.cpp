// dlsym for programs that look cuBLAS's functions up: it gives the hooks in their place, and for
// all else is the C library's. It is a jump, not a call, so that dlsym(RTLD_NEXT, ...) still sees
// who asks.
#include <dlfcn.h>

#include <cstring>

#include "session.hpp"
#include "vendor.hpp"

namespace {

struct Answer {
  void* address;
  void* next;  // where to jump with the same arguments; null: the address is the answer
};

}  // namespace

// Called by the jump below with dlsym's own arguments.
extern "C" __attribute__((visibility("hidden"), used)) Answer kw_dlsym_answer(void* handle,
                                                                              const char* name) {
  using namespace kw::cublas;
  const Dlsym real = real_dlsym();
  const Answer ask_on{nullptr, reinterpret_cast<void*>(real)};
  if (name == nullptr) return ask_on;
  if (std::strncmp(name, "cublas", 6) != 0 && std::strncmp(name, "cusolver", 8) != 0) return ask_on;
  Symbol symbol{};
  void* const hook = hook_of(name, &symbol);
  // A library's own search behind itself is none of ours.
  if (hook == nullptr || handle == RTLD_NEXT || is_switched_off()) return ask_on;
  // The default scope begins with this library: the program asks for what comes after.
  void* const found = real(handle == RTLD_DEFAULT ? RTLD_NEXT : handle, name);
  if (found == nullptr || found == hook) return {found, nullptr};
  note_looked_up(symbol, found);
  return {hook, nullptr};
}

#if defined(__x86_64__)
asm(R"(
  .text
  .globl dlsym
  .type dlsym, @function
dlsym:
  .cfi_startproc
  endbr64
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  call kw_dlsym_answer
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  testq %rdx, %rdx
  jz 1f
  jmpq *%rdx
1:
  ret
  .cfi_endproc
  .size dlsym, .-dlsym
)");
#elif defined(__aarch64__)
asm(R"(
  .text
  .globl dlsym
  .type dlsym, %function
dlsym:
  .cfi_startproc
  stp x29, x30, [sp, #-32]!
  .cfi_def_cfa_offset 32
  .cfi_offset 29, -32
  .cfi_offset 30, -24
  stp x0, x1, [sp, #16]
  bl kw_dlsym_answer
  mov x9, x0
  mov x10, x1
  ldp x0, x1, [sp, #16]
  ldp x29, x30, [sp], #32
  .cfi_def_cfa_offset 0
  .cfi_restore 29
  .cfi_restore 30
  cbz x10, 1f
  br x10
1:
  mov x0, x9
  ret
  .cfi_endproc
  .size dlsym, .-dlsym
)");
#endif
