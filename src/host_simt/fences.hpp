// Memory whose end lies at a page that nobody may touch, so that a read beyond it ends the program
// where it happens.
#pragma once

#include <cstddef>

namespace kw::host_simt {

// What a fenced allocation's end is a multiple of: the longest load of a kernel. So the page begins
// at most 15 bytes behind what was asked for.
inline constexpr std::size_t fence_alignment = 16;

// `bytes` with at least `before` more in front of them, all that can be touched filled with
// `filling`; null where the system has no more.
void* allocate_fenced(std::size_t bytes, std::size_t before, unsigned char filling);
void release_fenced(void* data, std::size_t bytes, std::size_t before) noexcept;

// Bytes between the end of `bytes` and the fence.
constexpr std::size_t bytes_before_fence(std::size_t bytes) {
  return (fence_alignment - bytes % fence_alignment) % fence_alignment;
}

}  // namespace kw::host_simt
