// Values that blocks of one launch leave for another block of it, without atomic operations and
// without a fence: each 8 bytes travel together with a mark that says they are there, in one
// 16-byte access that is never seen half done (PTX ISA, ld and st of .b128); elsewhere the mark is
// released after the word and acquired before it.
#pragma once

#include <cstdint>
#include <cstring>

#include "gpu/gpu.hpp"

namespace KW_TARGET {

// Empty when `mark` is 0.
struct alignas(16) Letter {
  std::uint64_t word, mark;
};

template <class T>
constexpr int letters_of = static_cast<int>((sizeof(T) + 7) / 8);

namespace mailbox {

__device__ __forceinline__ void store(Letter* to, Letter letter) {
#if defined(__CUDA_ARCH__)
  asm volatile(
      "{\n\t.reg .b128 both;\n\tmov.b128 both, {%1, %2};\n\t"
      "st.relaxed.gpu.global.b128 [%0], both;\n\t}" ::"l"(to),
      "l"(letter.word), "l"(letter.mark)
      : "memory");
#else
  __atomic_store_n(&to->word, letter.word, __ATOMIC_RELAXED);
  __atomic_store_n(&to->mark, letter.mark, __ATOMIC_RELEASE);
#endif
}

__device__ __forceinline__ Letter load(Letter* from) {
  Letter letter;
#if defined(__CUDA_ARCH__)
  asm volatile(
      "{\n\t.reg .b128 both;\n\tld.relaxed.gpu.global.b128 both, [%2];\n\t"
      "mov.b128 {%0, %1}, both;\n\t}"
      : "=l"(letter.word), "=l"(letter.mark)
      : "l"(from)
      : "memory");
#else
  letter.mark = __atomic_load_n(&from->mark, __ATOMIC_ACQUIRE);
  letter.word = __atomic_load_n(&from->word, __ATOMIC_RELAXED);
#endif
  return letter;
}

}  // namespace mailbox

// Leaves `value` in the letters_of<T> letters from `to` on, which are empty.
template <class T>
__device__ __forceinline__ void send(Letter* to, const T& value) {
  std::uint64_t words[letters_of<T>] = {};
  memcpy(words, &value, sizeof(T));
#pragma unroll
  for (int i = 0; i < letters_of<T>; ++i) mailbox::store(to + i, {words[i], 1});
}

// Whether all letters of a value are there; if so it is in `*value`.
template <class T>
__device__ __forceinline__ bool look(Letter* from, T* value) {
  std::uint64_t words[letters_of<T>];
  bool there = true;
#pragma unroll
  for (int i = 0; i < letters_of<T>; ++i) {
    const Letter letter = mailbox::load(from + i);
    words[i] = letter.word;
    there = there && letter.mark != 0;
  }
  memcpy(value, words, sizeof(T));
  return there;
}

// Empties the letters of a value that was taken.
template <class T>
__device__ __forceinline__ void clear(Letter* box) {
#pragma unroll
  for (int i = 0; i < letters_of<T>; ++i) mailbox::store(box + i, {0, 0});
}

}  // namespace KW_TARGET
