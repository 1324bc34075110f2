// cuBLASMp's product beside sgemm_distributed, in turn, on one process a GPU of one host, which MPI
// starts: C = A B of n x n, by columns, dealt out over p x 1 ranks in blocks of `block` rows.
// A program by itself, compiled by hand, since cuBLASMp is a package apart:
//   g++ -std=c++20 -O2 -Iinclude -I<cublasmp>/include -I<nccl>/include
//   tools/experiments/cublasmp.cpp libkernelwright.a
//     -lmpi -lcudart -l:libcublasmp.so.0 -l:libnccl.so.2 -lcublas
//   mpirun -n 2 ./cublasmp 16384 0 4096 1024
#include <cublasmp.h>
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "kernelwright/distributed.hpp"

namespace {

void need(bool is_fine, const std::string& what, int code) {
  if (is_fine) return;
  std::fprintf(stderr, "%s: %d\n", what.c_str(), code);
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define CUDA(call) need((call) == cudaSuccess, #call, static_cast<int>(cudaGetLastError()))
#define MP(call)                             \
  do {                                       \
    const int code = static_cast<int>(call); \
    need(code == 0, #call, code);            \
  } while (0)

// An element of a whole matrix, between -1 and 1.
float element(std::int64_t i, std::int64_t j, std::uint64_t seed) {
  std::uint64_t x = static_cast<std::uint64_t>(i) * 0x9E3779B97F4A7C15ull +
                    static_cast<std::uint64_t>(j) * 0xC2B2AE3D27D4EB4Full + seed;
  x ^= x >> 31;
  x *= 0xBF58476D1CE4E5B9ull;
  x ^= x >> 29;
  return static_cast<float>(static_cast<std::int32_t>(x >> 32)) * 0x1p-31f;
}

struct Part {
  std::int64_t n, block, rows;
  int rank, ranks;
  // The whole's row of a row of the part.
  std::int64_t whole_row(std::int64_t row) const {
    return (row / block * ranks + rank) * block + row % block;
  }
};

float* filled(const Part& part, std::uint64_t seed) {
  std::vector<float> host(static_cast<std::size_t>(part.rows * part.n));
  for (std::int64_t j = 0; j < part.n; ++j) {
    for (std::int64_t i = 0; i < part.rows; ++i) {
      host[static_cast<std::size_t>(j * part.rows + i)] = element(part.whole_row(i), j, seed);
    }
  }
  float* data = nullptr;
  CUDA(cudaMalloc(&data, host.size() * sizeof(float)));
  CUDA(cudaMemcpy(data, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice));
  return data;
}

// The largest error of some elements, in units of roundoff of the sum of sizes.
double error_of(const Part& part, const float* c) {
  double worst = 0;
  for (std::int64_t s = 0; s < 64; ++s) {
    const std::int64_t i = s * 7919 % part.rows, j = s * 104729 % part.n;
    float got = 0;
    CUDA(cudaMemcpy(&got, c + j * part.rows + i, sizeof(float), cudaMemcpyDeviceToHost));
    double want = 0, size = 0;
    for (std::int64_t k = 0; k < part.n; ++k) {
      const double product = static_cast<double>(element(part.whole_row(i), k, 1)) *
                             static_cast<double>(element(k, j, 2));
      want += product;
      size += std::fabs(product);
    }
    worst = std::max(worst, std::fabs(static_cast<double>(got) - want) / (size * 0x1p-24));
  }
  double all = 0;
  MPI_Allreduce(&worst, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

double slowest_ms(const std::function<void()>& call) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  call();
  double ms = 1e3 * (MPI_Wtime() - begin), all = 0;
  MPI_Allreduce(&ms, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

struct Contestant {
  std::string name;
  std::function<void()> call;
  std::vector<double> ms = {};
  double error = 0;
};

void measure(std::int64_t n, std::int64_t block, int rank, int ranks, ncclComm_t comm) {
  const Part part{n, block, cublasMpNumroc(n, block, rank, 0, ranks), rank, ranks};
  float *a = filled(part, 1), *b = filled(part, 2), *c = nullptr;
  CUDA(cudaMalloc(&c, static_cast<std::size_t>(part.rows * n) * sizeof(float)));

  cudaStream_t stream = nullptr;
  CUDA(cudaStreamCreate(&stream));
  cublasMpHandle_t handle = nullptr;
  MP(cublasMpCreate(&handle, stream));
  cublasMpGrid_t grid = nullptr;
  MP(cublasMpGridCreate(ranks, 1, CUBLASMP_GRID_LAYOUT_ROW_MAJOR, comm, &grid));
  cublasMpMatrixDescriptor_t d = nullptr;
  // A's blocks have as many columns as B's have rows.
  MP(cublasMpMatrixDescriptorCreate(n, n, block, block, 0, 0, part.rows, CUDA_R_32F, grid, &d));
  const float one = 1, zero = 0;
  std::size_t on_device = 0, on_host = 0;
  MP(cublasMpGemm_bufferSize(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, 1, 1, d, b, 1, 1,
                             d, &zero, c, 1, 1, d, CUBLAS_COMPUTE_32F, &on_device, &on_host));
  void* work = nullptr;
  CUDA(cudaMalloc(&work, std::max<std::size_t>(1, on_device)));
  std::vector<char> host_work(on_host + 1);

  long long number = getpid();
  MPI_Bcast(&number, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
  kw::Group group = kw::Group::join_gpu(
      {ranks, 1}, rank,
      "mp-" + std::to_string(number) + "-" + std::to_string(n) + "-" + std::to_string(block), rank);
  const kw::Distribution whole{n, n, block, n, 0, 0};
  const auto ours = [&](kw::Math math) {
    kw::sgemm_distributed(group, rank, 1.0f, {whole, a, part.rows, kw::Layout::col_major},
                          {whole, b, part.rows, kw::Layout::col_major}, 0.0f,
                          {whole, c, part.rows, kw::Layout::col_major}, {math});
    group.synchronize(rank);
  };
  Contestant all[] = {
      {"cublasmp",
       [&] {
         MP(cublasMpGemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, 1, 1, d, b, 1, 1, d,
                         &zero, c, 1, 1, d, CUBLAS_COMPUTE_32F, work, on_device, host_work.data(),
                         on_host));
         CUDA(cudaStreamSynchronize(stream));
       }},
      {"fp32", [&] { ours(kw::Math::fp32); }},
      {"fp32_split", [&] { ours(kw::Math::fp32_split); }},
  };
  for (Contestant& each : all) {
    CUDA(cudaMemset(c, 0xFF, static_cast<std::size_t>(part.rows * n) * sizeof(float)));
    each.call();
    each.error = error_of(part, c);
  }
  for (int round = 0; round < 7; ++round) {
    for (Contestant& each : all) {
      const double ms = slowest_ms(each.call);
      if (round >= 2) each.ms.push_back(ms);
    }
  }
  for (Contestant& each : all) {
    std::sort(each.ms.begin(), each.ms.end());
    if (rank != 0) continue;
    std::printf("n %lld block %lld %s ms %.2f (%.2f to %.2f) TFLOP/s %.1f error %.2g u\n",
                static_cast<long long>(n), static_cast<long long>(block), each.name.c_str(),
                each.ms[2], each.ms.front(), each.ms.back(), 2e-9 * n * n * n / each.ms[2],
                each.error);
    std::fflush(stdout);
  }
  group.close_memory(rank);
  MPI_Barrier(MPI_COMM_WORLD);
  MP(cublasMpMatrixDescriptorDestroy(d));
  MP(cublasMpGridDestroy(grid));
  MP(cublasMpDestroy(handle));
  for (void* memory : {static_cast<void*>(a), static_cast<void*>(b), static_cast<void*>(c), work}) {
    CUDA(cudaFree(memory));
  }
}

}  // namespace

// cublasmp N BLOCK...; a block of 0 is one a rank.
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CUDA(cudaSetDevice(rank));
  ncclUniqueId id;
  if (rank == 0) MP(ncclGetUniqueId(&id));
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm = nullptr;
  MP(ncclCommInitRank(&comm, ranks, id, rank));
  int version = 0, nccl = 0;
  MP(cublasMpGetVersion(&version));
  MP(ncclGetVersion(&nccl));
  if (rank == 0) std::printf("cublasmp %d nccl %d\n", version, nccl);
  const std::int64_t n = argc > 1 ? std::atoll(argv[1]) : 16384;
  for (int i = 2; i < std::max(3, argc); ++i) {
    const std::int64_t asked = argc > i ? std::atoll(argv[i]) : 0;
    measure(n, asked > 0 ? asked : (n + ranks - 1) / ranks, rank, ranks, comm);
  }
  MP(ncclCommDestroy(comm));
  MPI_Finalize();
}
