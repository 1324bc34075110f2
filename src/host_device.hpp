// Marks a function that the same source gives to the CPU and to a GPU kernel.
#pragma once

#if defined(__CUDACC__) || defined(__HIP__)
#define KW_HOST_DEVICE __host__ __device__
#else
#define KW_HOST_DEVICE
#endif
