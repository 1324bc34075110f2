// What g++ -fsanitize=thread calls at each load, store and atomic operation of a kernel's text. We
// define these functions ourselves, in place of the sanitizer's runtime, which is not linked.
//
// Called from a kernel they tell the block's recorder; from elsewhere they do nothing. Reads of the
// built-in variables, and of what a kernel has on its stack, come here too: the recorder knows its
// memories.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "host_simt/execution.hpp"
#include "trace/block_recorder.hpp"

namespace {

__attribute__((always_inline)) inline void note(const void* address, int bytes, bool is_write,
                                                bool is_atomic, const void* call) {
  const kw::host_simt::BuiltIns* const thread = kw::host_simt::built_ins;
  if (thread == nullptr || thread->observer == nullptr) return;
  static_cast<kw::trace::BlockRecorder*>(thread->observer)
      ->access(thread->index, address, bytes, is_write, is_atomic, call);
}

// Structs of whatever length, which a GPU copies 16 bytes at a time at most.
void note_range(void* at, std::size_t bytes, bool is_write, const void* call) {
  constexpr std::size_t most = 16;
  for (std::size_t begin = 0; begin < bytes; begin += most)
    note(static_cast<char*>(at) + begin, static_cast<int>(std::min(most, bytes - begin)), is_write,
         false, call);
}

// The sanitizer's numbers for memory orders; whatever was asked for, the strongest serves.
using Order = int;

template <class T, class Change>
T change_atomically(volatile T* address, Change change, const void* call) {
  note(const_cast<const T*>(address), sizeof(T), true, true, call);
  T old = __atomic_load_n(address, __ATOMIC_SEQ_CST);
  while (!__atomic_compare_exchange_n(address, &old, change(old), false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST)) {
  }
  return old;
}

template <class T>
int exchange_if(volatile T* address, T* expected, T value, const void* call) {
  note(const_cast<const T*>(address), sizeof(T), true, true, call);
  const bool is_equal = __atomic_compare_exchange_n(address, expected, value, false,
                                                    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return is_equal ? 1 : 0;
}

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier,bugprone-macro-parentheses): names of the compiler's;
// macro arguments that are types.
#define KW_CALL __builtin_return_address(0)

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

#define KW_HOOKS(bytes)                                                                   \
  void __tsan_read##bytes(void* at) { note(at, bytes, false, false, KW_CALL); }           \
  void __tsan_write##bytes(void* at) { note(at, bytes, true, false, KW_CALL); }           \
  void __tsan_volatile_read##bytes(void* at) { note(at, bytes, false, false, KW_CALL); }  \
  void __tsan_volatile_write##bytes(void* at) { note(at, bytes, true, false, KW_CALL); }  \
  void __tsan_unaligned_read##bytes(void* at) { note(at, bytes, false, false, KW_CALL); } \
  void __tsan_unaligned_write##bytes(void* at) { note(at, bytes, true, false, KW_CALL); }
KW_HOOKS(1)
KW_HOOKS(2)
KW_HOOKS(4)
KW_HOOKS(8)
KW_HOOKS(16)
#undef KW_HOOKS

void __tsan_read_range(void* at, std::size_t bytes) { note_range(at, bytes, false, KW_CALL); }
void __tsan_write_range(void* at, std::size_t bytes) { note_range(at, bytes, true, KW_CALL); }

void __tsan_atomic_thread_fence(Order) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(Order) {}

#define KW_ATOMICS(bits, T)                                                                      \
  T __tsan_atomic##bits##_load(const volatile T* at, Order) {                                    \
    note(const_cast<const T*>(at), sizeof(T), false, true, KW_CALL);                             \
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                \
  }                                                                                              \
  void __tsan_atomic##bits##_store(volatile T* at, T value, Order) {                             \
    note(const_cast<const T*>(at), sizeof(T), true, true, KW_CALL);                              \
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                               \
  }                                                                                              \
  T __tsan_atomic##bits##_exchange(volatile T* at, T value, Order) {                             \
    return change_atomically(                                                                    \
        at, [=](T) { return value; }, KW_CALL);                                                  \
  }                                                                                              \
  T __tsan_atomic##bits##_fetch_add(volatile T* at, T value, Order) {                            \
    return change_atomically(                                                                    \
        at, [=](T old) { return static_cast<T>(old + value); }, KW_CALL);                        \
  }                                                                                              \
  T __tsan_atomic##bits##_fetch_sub(volatile T* at, T value, Order) {                            \
    return change_atomically(                                                                    \
        at, [=](T old) { return static_cast<T>(old - value); }, KW_CALL);                        \
  }                                                                                              \
  T __tsan_atomic##bits##_fetch_or(volatile T* at, T value, Order) {                             \
    return change_atomically(                                                                    \
        at, [=](T old) { return static_cast<T>(old | value); }, KW_CALL);                        \
  }                                                                                              \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile T* at, T* expected, T value, Order, \
                                                    Order) {                                     \
    return exchange_if(at, expected, value, KW_CALL);                                            \
  }                                                                                              \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile T* at, T* expected, T value, Order,   \
                                                  Order) {                                       \
    return exchange_if(at, expected, value, KW_CALL);                                            \
  }
KW_ATOMICS(32, std::uint32_t)
KW_ATOMICS(64, std::uint64_t)
#undef KW_ATOMICS
#undef KW_CALL

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier,bugprone-macro-parentheses)
