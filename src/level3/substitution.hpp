// What the kernels that solve systems by substitution share, whether elements are real
// (solve_block.cu) or complex (ctrsm/block.cu).
#pragma once

#include "gpu/gpu.hpp"

namespace KW_TARGET {

// left - taken = right - sum (Knuth's TwoSum): what is left of a right-hand side, unrounded. So it
// is rounded with the unknown, once, and not with every part of the sum. Of infinities `taken` is
// no number.
__device__ __forceinline__ void two_difference(float right, float sum, float& left, float& taken) {
  left = right - sum;
  const float back = left - right;
  taken = (left - back) - right + (sum + back);
}

// The elements of shared memory of a block of threads: of each line what known unknowns take from
// it, and the unknowns once they are solved, [unknown][line]; a ring of the right-hand side,
// `at_once` unknowns a panel; and a ring of panels of as many columns of the triangle,
// [column][row], whose row 0 is the first unknown's.
template <class Element, int at_once, int ring, int pitch_of_lines>
struct PanelRoom {
  static constexpr int pitch = pitch_of_lines;
  Element *x, *right, *panels;
  int panel_pitch;

  __device__ __forceinline__ PanelRoom(Element* shared, int rows, int pitch_of_panels)
      : x(shared),
        right(shared + rows * pitch),
        panels(right + ring * at_once * pitch),
        panel_pitch(pitch_of_panels) {}
  __device__ __forceinline__ Element* unknown(int i) const { return x + i * pitch; }
  __device__ __forceinline__ Element* right_of(int i) const {
    return right + i % (ring * at_once) * pitch;
  }
  __device__ __forceinline__ Element* panel(int first) const {
    return panels + first / at_once % ring * at_once * panel_pitch;
  }
  // Behind all of them.
  __device__ __forceinline__ Element* end() const { return panels + ring * at_once * panel_pitch; }
};

}  // namespace KW_TARGET
