// For kernels whose threads look again and again at memory until a thread of another block has
// written there.
#pragma once

namespace kw::host_simt {

// Between two looks: lets all other threads run, those of the cluster's other blocks too. On a GPU
// they run anyway.
void let_others_run();

}  // namespace kw::host_simt
