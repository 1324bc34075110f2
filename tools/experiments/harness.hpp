// What the experiments share: errors end the program, times come from events.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

inline void require(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}

// Microseconds of what `work` enqueues, between two events.
template <class Work>
double time_us(const Work& work) {
  static cudaEvent_t begin = nullptr, end = nullptr;
  if (begin == nullptr) {
    require(cudaEventCreate(&begin), "event");
    require(cudaEventCreate(&end), "event");
  }
  require(cudaEventRecord(begin), "record");
  work();
  require(cudaGetLastError(), "launch");
  require(cudaEventRecord(end), "record");
  require(cudaEventSynchronize(end), "synchronize");
  float ms = 0;
  require(cudaEventElapsedTime(&ms, begin, end), "elapsed");
  return ms * 1e3;
}

// The median of `count` times; the first of each is not among them.
template <class Work>
double median_us(const Work& work, int count) {
  std::vector<double> times;
  time_us(work);
  for (int i = 0; i < count; ++i) times.push_back(time_us(work));
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// Numbers between -1 and 1, the same in every run.
inline std::vector<float> random_floats(std::size_t count, unsigned seed) {
  std::vector<float> x(count);
  for (float& value : x) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(seed >> 8) / 8388608.f - 1.f;
  }
  return x;
}

inline float* on_device(const std::vector<float>& from) {
  float* to = nullptr;
  require(cudaMalloc(&to, from.size() * sizeof(float)), "malloc");
  require(cudaMemcpy(to, from.data(), from.size() * sizeof(float), cudaMemcpyHostToDevice), "copy");
  return to;
}
