// What the files of the level-3 kernels give to registry.cu.
#pragma once

#include "gpu/gpu.hpp"
#include "level3/problem.hpp"

namespace KW_TARGET {

// Each for both arithmetics, the split one first.
KernelList<Level3> rank_update_rows();       // rank_update.cu: syrk, syrkx, syr2k
KernelList<Level3> triangle_product_rows();  // triangle_product.cu: symm, trmm
KernelList<Level3> triangle_solve_rows();    // triangle_solve.cu: trsm
KernelList<Level3> cholesky_rows();          // cholesky.cu: potrf

// In plain FP32.
KernelList<Level3> level3_tile_rows();   // tile.cu: all but trsm and potrf
KernelList<Level3> level3_lines_rows();  // lines.cu: symm and trmm of a small A
KernelList<Level3> level3_few_rows();    // few.cu: syrk, syrkx and syr2k with a k of a few
KernelList<Level3>
level3_lean_rows();  // lean.cu: syrk, syrkx and syr2k with a k of dozens to hundreds
KernelList<Level3> lean_triangle_rows();   // lean_triangle.cu: trmm of a triangle up to a thousand
KernelList<Sgemm> level3_lean_products();  // the same as products of which a triangle is wanted

KernelLaunch<Level3> level3_loop_launch;
bool level3_loop_supports(const Level3& problem, const Device& device);

}  // namespace KW_TARGET
