// One worker's shared memory: the static __shared__ arrays and a buffer for the dynamic part.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "host_simt/observer.hpp"
#include "host_simt/symbols.hpp"

namespace kw::host_simt {

inline constexpr unsigned char poison_byte = 0xFF;  // NaN as float and double, -1 as int

class SharedMemory {
 public:
  SharedMemory();
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  // `bytes` of dynamic memory for the next block, of a kernel that can reach `arrays`.
  void prepare(const std::vector<SharedSymbol>& arrays, std::size_t bytes, bool poison);
  // Whether the block has written beside its dynamic memory.
  bool overrun() const;

  // False where [address, address + bytes) is certainly not all in one of `arrays` or in the
  // dynamic memory.
  bool may_hold(const void* address, std::size_t bytes,
                const std::vector<SharedSymbol>& arrays) const;
  void* dynamic() const { return dynamic_; }
  // The dynamic part and `arrays`, which outlive what is returned.
  std::vector<SharedRange> ranges(const std::vector<SharedSymbol>& arrays) const;
  // "tile + 8 bytes", where `arrays` are those that were prepared.
  std::string describe(const void* address, const std::vector<SharedSymbol>& arrays) const;

 private:
  std::unique_ptr<unsigned char[]> buffer_;
  unsigned char* dynamic_;  // a guard zone lies before it, and one behind its last byte
  std::size_t bytes_ = 0;
  char* static_base_;
};

}  // namespace kw::host_simt
