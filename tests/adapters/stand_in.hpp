// What the stand-ins for cuBLAS, cuBLASLt, cuSOLVER and the CUDA driver offer to tests beside the
// functions of those names.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
// Calls of a function that reached the stand-in since the last reset; of any with null.
long stand_in_calls(const char* symbol);
void stand_in_reset();
// From now on the functions only count, and cublasSgemm_v2 and cublasSsyrk_v2 call cublasGemmEx as
// the program would.
void stand_in_compute(bool computes);
void stand_in_recurse(bool recurses);
// Which build of the stand-in this is.
const char* stand_in_version();

// The driver: the current device of all threads, and captures.
void stand_in_set_device(int ordinal);
void stand_in_begin_capture(void* stream, std::uint64_t id);
void stand_in_end_capture(void* stream);
void stand_in_break_capture(void* stream);
// The graph of a capture and all that was made of it go; the number of objects that went with it.
int stand_in_destroy_graph(std::uint64_t id);
// Allocations by the driver's own function that were not released.
long stand_in_allocations();

// What cuBLAS's headers declare, with plain types.
int cublasCreate_v2(void** handle);
int cublasDestroy_v2(void* handle);
int cublasSetStream_v2(void* handle, void* stream);
int cublasGetStream_v2(void* handle, void** stream);
int cublasSetPointerMode_v2(void* handle, int mode);
int cublasGetPointerMode_v2(void* handle, int* mode);
int cublasSetMathMode(void* handle, int mode);
int cublasGetMathMode(void* handle, int* mode);

int cusolverDnCreate(void** handle);
int cusolverDnSetStream(void* handle, void* stream);
// Calls of a function of the stand-in for cuSOLVER since the last such question.
long stand_in_solver_calls(const char* symbol);

int cublasLtCreate(void** handle);
int cublasLtDestroy(void* handle);
int cublasLtMatmulDescCreate(void** description, int compute, int scale);
int cublasLtMatmulDescDestroy(void* description);
int cublasLtMatmulDescSetAttribute(void* description, int attribute, const void* value,
                                   std::size_t bytes);
int cublasLtMatmulDescGetAttribute(void* description, int attribute, void* value, std::size_t bytes,
                                   std::size_t* written);
int cublasLtMatrixLayoutCreate(void** layout, int type, std::uint64_t rows, std::uint64_t cols,
                               std::int64_t ld);
int cublasLtMatrixLayoutDestroy(void* layout);
int cublasLtMatrixLayoutSetAttribute(void* layout, int attribute, const void* value,
                                     std::size_t bytes);
int cublasLtMatrixLayoutGetAttribute(void* layout, int attribute, void* value, std::size_t bytes,
                                     std::size_t* written);
}
