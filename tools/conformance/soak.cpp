// Many mixed FP32 products through cuBLAS's public functions, as several programs in one process
// would call them:
//
//   g++ -std=c++20 -O2 soak.cpp -o soak -l:libcublas.so.13 -l:libcublasLt.so.13 -l:libcudart.so.13
//   -pthread soak CALLS THREADS CALLS_A_ROUND SEED
//
// Each thread has a handle and three streams. Shapes come from a pool that every thread knows, some
// are new; sizes are 1 to 512, seldom 2048. Products go by every function with a single or batched
// form, with scalars of the host and of the device, plain, transposed, misaligned, with a bias
// through cublasLt, and into graphs that are captured, launched and let go. Now and then handles
// and streams are made anew. After each round all threads have ended, the device is idle, and a
// line of JSON says what the process has: {"calls":…, "device_bytes":…, "host_bytes":…, …}. Some
// results are compared with float64. soak.py builds and runs this, and judges what it prints.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <random>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "soak_declarations.hpp"

namespace {

constexpr int largest = 512, large = 2048, batch = 8, arrays = 64, streams = 3;
constexpr std::int64_t pool_floats = std::int64_t{1} << 24;
constexpr std::int64_t c_floats = std::int64_t{large} * large + batch * largest * largest;
constexpr std::size_t lt_workspace_bytes = std::size_t{4} << 20;

std::atomic<long> calls{0}, in_graphs{0}, launches{0}, verified{0}, wrong{0};
std::atomic<double> worst{0};
std::shared_mutex captures;

void check(int status, const char* what) {
  if (status == 0) return;
  std::printf("{\"error\":\"%s gives %d after %ld calls\"}\n", what, status, calls.load());
  std::fflush(stdout);
  std::_Exit(2);
}
#define CHECK(call) check(call, #call)

enum Kind { sgemm, sgemm_64, gemm_ex, strided, pointers, grouped, lt, lt_bias, kinds };

struct Shape {
  Kind kind = sgemm;
  int op_a = 0, op_b = 0, m = 1, n = 1, k = 1, misaligned = 0;
  bool scalars_on_device = false;
  float beta = 0;
};

bool has_pointers(const Shape& s) { return s.kind == pointers || s.kind == grouped; }
bool is_batched(const Shape& s) { return s.kind == strided || has_pointers(s); }

using Random = std::mt19937_64;

double uniform(Random& random) { return std::uniform_real_distribution<double>(0, 1)(random); }

int size_below(Random& random, int most) {
  return std::clamp(static_cast<int>(std::exp(uniform(random) * std::log(most + 1.0))), 1, most);
}

Shape draw(Random& random) {
  Shape s;
  s.kind = static_cast<Kind>(random() % kinds);
  s.op_a = static_cast<int>(random() % 2);
  s.op_b = static_cast<int>(random() % 2);
  s.m = size_below(random, largest);
  s.n = size_below(random, largest);
  s.k = size_below(random, largest);
  if (random() % 2000 == 0 && !is_batched(s)) s.m = s.n = s.k = large;
  s.misaligned = random() % 4 == 0 ? static_cast<int>(1 + random() % 3) : 0;
  s.scalars_on_device = s.kind < grouped && random() % 8 == 0;
  s.beta = s.kind != lt_bias && random() % 3 == 0 ? 0.5F : 0.0F;
  return s;
}

// What all threads read: numbers in [-1, 1], the same on the host; and scalars.
struct Shared {
  std::vector<float> host;
  float* device = nullptr;
  float* scalars = nullptr;  // 1, 0, 0.5
  std::vector<Shape> pool;
};

class Thread {
 public:
  Thread(const Shared& shared, std::uint64_t seed) : shared_(shared), random_(seed) {
    for (void*& stream : streams_) CHECK(cudaStreamCreateWithFlags(&stream, non_blocking));
    for (float*& c : c_) {
      CHECK(cudaMalloc(reinterpret_cast<void**>(&c), sizeof(float) * c_floats));
    }
    CHECK(cudaMalloc(&workspace_, lt_workspace_bytes));
    CHECK(cudaMalloc(reinterpret_cast<void**>(&pointers_), sizeof(void*) * 3 * batch * streams));
    open();
  }

  // Ends with nothing under way; whoever comes next may run in another thread. Handles are made
  // anew, and what the drop-in keeps for them goes: else the device's memory would be that of
  // whichever streams were used last.
  void make_calls(long number) {
    while (number > 0) number -= one_of(number);
    for (void* stream : streams_) CHECK(cudaStreamSynchronize(stream));
    begin_anew();
  }

 private:
  void open() {
    CHECK(cublasCreate_v2(&handle_));
    CHECK(cublasLtCreate(&lt_));
  }

  long one_of(long left) {
    const std::uint64_t dice = random_() % 100000;
    if (dice < 2) {
      begin_anew();
    } else if (dice < 22) {
      replace_stream();
    } else if (dice < 112 && left >= 4) {
      graph();
      return 4;
    }
    const bool is_new = random_() % 8 == 0;
    const Shape s = is_new ? draw(random_) : shared_.pool[random_() % shared_.pool.size()];
    on_ = static_cast<int>(random_() % streams);
    CHECK(cublasSetStream_v2(handle_, streams_[on_]));
    const bool verify = dice % 997 == 0;
    const std::int64_t offset = place(s);
    if (verify) reset_c(s);
    call(s, offset);
    if (verify) compare(s, offset);
    calls.fetch_add(1, std::memory_order_relaxed);
    return 1;
  }

  // cuBLAS waits for the whole device where it ends a handle, which makes captures of other threads
  // invalid, in any mode of theirs.
  void begin_anew() {
    const std::lock_guard<std::shared_mutex> lock(captures);
    CHECK(cublasDestroy_v2(handle_));
    CHECK(cublasLtDestroy(lt_));
    open();
  }

  void replace_stream() {
    void*& stream = streams_[random_() % streams];
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cublasSetStream_v2(handle_, nullptr));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaStreamCreateWithFlags(&stream, non_blocking));
  }

  // cuBLAS's own workspace is given to it, so that it allocates none in a capture.
  void graph() {
    on_ = static_cast<int>(random_() % streams);
    void *graph = nullptr, *instance = nullptr;
    CHECK(cublasSetStream_v2(handle_, streams_[on_]));
    CHECK(cublasSetWorkspace_v2(handle_, workspace_, lt_workspace_bytes));
    CHECK(cudaStreamSynchronize(streams_[on_]));
    {
      const std::shared_lock<std::shared_mutex> lock(captures);
      CHECK(cudaStreamBeginCapture(streams_[on_], thread_local_mode));
      for (int i = 0; i < 4; ++i) {
        Shape s = shared_.pool[random_() % shared_.pool.size()];
        if (has_pointers(s)) s.kind = strided;  // a copy from the host has no place in a graph
        call(s, place(s));
      }
      CHECK(cudaStreamEndCapture(streams_[on_], &graph));
    }
    CHECK(cudaGraphInstantiate(&instance, graph, 0));
    for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(instance, streams_[on_]));
    CHECK(cudaStreamSynchronize(streams_[on_]));
    CHECK(cudaGraphExecDestroy(instance));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cublasSetStream_v2(handle_, streams_[on_]));  // back to cuBLAS's own workspace
    calls += 4;
    in_graphs += 4;
    launches += 3;
  }

  // Where A and B begin in the pool.
  std::int64_t place(const Shape& s) {
    const std::int64_t most =
        pool_floats / 2 - 2 -
        std::int64_t{is_batched(s) ? batch : 1} * std::max(s.m * s.k, s.k * s.n) - 4;
    return (static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most)) & ~3) +
           s.misaligned;
  }

  const float* a(std::int64_t offset) const { return shared_.device + offset; }
  const float* b(std::int64_t offset) const { return shared_.device + pool_floats / 2 + offset; }
  float* c(const Shape& s) const { return c_[on_] + s.misaligned; }

  void reset_c(const Shape& s) {
    const std::size_t bytes = sizeof(float) * (is_batched(s) ? batch : 1) * s.m * s.n;
    CHECK(cudaMemcpyAsync(c(s), shared_.device, bytes, within_device, streams_[on_]));
  }

  void call(const Shape& s, std::int64_t offset) {
    const int lda = s.op_a != 0 ? s.k : s.m, ldb = s.op_b != 0 ? s.n : s.k, ldc = s.m;
    const long long a_step = s.m * s.k, b_step = s.k * s.n, c_step = s.m * s.n;
    const float one = 1, host_beta = s.beta;
    const float* alpha = &one;
    const float* beta = &host_beta;
    if (s.scalars_on_device) {
      alpha = shared_.scalars;
      beta = shared_.scalars + (s.beta == 0 ? 1 : 2);
      CHECK(cublasSetPointerMode_v2(handle_, on_device));
    }
    switch (s.kind) {
      case sgemm:
        CHECK(cublasSgemm_v2(handle_, s.op_a, s.op_b, s.m, s.n, s.k, alpha, a(offset), lda,
                             b(offset), ldb, beta, c(s), ldc));
        break;
      case sgemm_64:
        CHECK(cublasSgemm_v2_64(handle_, s.op_a, s.op_b, s.m, s.n, s.k, alpha, a(offset), lda,
                                b(offset), ldb, beta, c(s), ldc));
        break;
      case gemm_ex:
        CHECK(cublasGemmEx(handle_, s.op_a, s.op_b, s.m, s.n, s.k, alpha, a(offset), type_f32, lda,
                           b(offset), type_f32, ldb, beta, c(s), type_f32, ldc, compute_32f,
                           algo_default));
        break;
      case strided:
        CHECK(cublasSgemmStridedBatched(handle_, s.op_a, s.op_b, s.m, s.n, s.k, alpha, a(offset),
                                        lda, a_step, b(offset), ldb, b_step, beta, c(s), ldc,
                                        c_step, batch));
        break;
      case pointers: {
        const void* const* const there = copy_pointers(s, offset);
        CHECK(cublasSgemmBatched(handle_, s.op_a, s.op_b, s.m, s.n, s.k, alpha, as_inputs(there),
                                 lda, as_inputs(there + batch), ldb, beta, as_outputs(there), ldc,
                                 batch));
        break;
      }
      case grouped: {  // of one shape
        const void* const* const there = copy_pointers(s, offset);
        const int op_a[] = {s.op_a, s.op_a}, op_b[] = {s.op_b, s.op_b}, m[] = {s.m, s.m};
        const int n[] = {s.n, s.n}, k[] = {s.k, s.k}, size[] = {3, batch - 3};
        const int lines_a[] = {lda, lda}, lines_b[] = {ldb, ldb}, lines_c[] = {ldc, ldc};
        const float ones[] = {1, 1}, betas[] = {s.beta, s.beta};
        CHECK(cublasSgemmGroupedBatched(handle_, op_a, op_b, m, n, k, ones, as_inputs(there),
                                        lines_a, as_inputs(there + batch), lines_b, betas,
                                        as_outputs(there), lines_c, 2, size));
        break;
      }
      default: call_lt(s, offset, lda, ldb);
    }
    if (s.scalars_on_device) CHECK(cublasSetPointerMode_v2(handle_, 0));
  }

  // A batch's arrays, of A, B and C, to the device.
  const void* const* copy_pointers(const Shape& s, std::int64_t offset) {
    const void* host[3 * batch];
    for (int i = 0; i < batch; ++i) {
      host[i] = a(offset) + static_cast<std::int64_t>(i) * s.m * s.k;
      host[batch + i] = b(offset) + static_cast<std::int64_t>(i) * s.k * s.n;
      host[2 * batch + i] = c(s) + static_cast<std::int64_t>(i) * s.m * s.n;
    }
    void** const there = pointers_ + 3 * batch * on_;
    CHECK(cudaMemcpyAsync(there, host, sizeof host, to_device, streams_[on_]));
    return there;
  }
  static const float* const* as_inputs(const void* const* there) {
    return reinterpret_cast<const float* const*>(there);
  }
  static float* const* as_outputs(const void* const* there) {
    return reinterpret_cast<float* const*>(const_cast<void* const*>(there + 2 * batch));
  }

  // Descriptors for each call, as PyTorch makes them. The bias is the pool's beginning.
  void call_lt(const Shape& s, std::int64_t offset, int lda, int ldb) {
    void *product = nullptr, *layout_a = nullptr, *layout_b = nullptr, *layout_c = nullptr;
    CHECK(cublasLtMatmulDescCreate(&product, compute_32f, type_f32));
    CHECK(cublasLtMatmulDescSetAttribute(product, attribute_op_a, &s.op_a, sizeof s.op_a));
    CHECK(cublasLtMatmulDescSetAttribute(product, attribute_op_b, &s.op_b, sizeof s.op_b));
    if (s.kind == lt_bias) {
      const float* const bias = shared_.device;
      CHECK(cublasLtMatmulDescSetAttribute(product, attribute_epilogue, &epilogue_bias, 4));
      CHECK(cublasLtMatmulDescSetAttribute(product, attribute_bias, &bias, sizeof bias));
    }
    CHECK(cublasLtMatrixLayoutCreate(&layout_a, type_f32, s.op_a != 0 ? s.k : s.m,
                                     s.op_a != 0 ? s.m : s.k, lda));
    CHECK(cublasLtMatrixLayoutCreate(&layout_b, type_f32, s.op_b != 0 ? s.n : s.k,
                                     s.op_b != 0 ? s.k : s.n, ldb));
    CHECK(cublasLtMatrixLayoutCreate(&layout_c, type_f32, s.m, s.n, s.m));
    const float one = 1;
    CHECK(cublasLtMatmul(lt_, product, &one, a(offset), layout_a, b(offset), layout_b, &s.beta,
                         c(s), layout_c, c(s), layout_c, nullptr, nullptr, 0, streams_[on_]));
    CHECK(cublasLtMatrixLayoutDestroy(layout_a));
    CHECK(cublasLtMatrixLayoutDestroy(layout_b));
    CHECK(cublasLtMatrixLayoutDestroy(layout_c));
    CHECK(cublasLtMatmulDescDestroy(product));
  }

  // Some elements of C, of the last matrix of a batch.
  void compare(const Shape& s, std::int64_t offset) {
    const std::int64_t which = is_batched(s) ? batch - 1 : 0, lda = s.op_a != 0 ? s.k : s.m,
                       ldb = s.op_b != 0 ? s.n : s.k;
    const float* const in_a = shared_.host.data() + offset + which * s.m * s.k;
    const float* const in_b = shared_.host.data() + pool_floats / 2 + offset + which * s.k * s.n;
    CHECK(cudaStreamSynchronize(streams_[on_]));
    for (int i = 0; i < 8; ++i) {
      const auto row = static_cast<std::int64_t>(random_() % static_cast<unsigned>(s.m));
      const auto column = static_cast<std::int64_t>(random_() % static_cast<unsigned>(s.n));
      const std::int64_t at = which * s.m * s.n + column * s.m + row;
      double exact = static_cast<double>(s.beta) * shared_.host[at];
      double magnitude = std::abs(exact);
      if (s.kind == lt_bias) {
        exact += shared_.host[row];
        magnitude += std::abs(shared_.host[row]);
      }
      for (std::int64_t k = 0; k < s.k; ++k) {
        const double term = static_cast<double>(in_a[s.op_a != 0 ? row * lda + k : k * lda + row]) *
                            in_b[s.op_b != 0 ? k * ldb + column : column * ldb + k];
        exact += term;
        magnitude += std::abs(term);
      }
      float found = 0;
      CHECK(cudaMemcpy(&found, c(s) + at, sizeof found, to_host));
      const double allowed = 0x1p-24 * (8 + 2 * std::sqrt(s.k)) * magnitude + 1e-44;
      const double share = std::abs(found - exact) / allowed;
      if (!(share <= 1)) ++wrong;
      if (share > worst) worst = share;
    }
    ++verified;
  }

  const Shared& shared_;
  Random random_;
  void *handle_ = nullptr, *lt_ = nullptr, *workspace_ = nullptr;
  void* streams_[streams] = {};
  float* c_[streams] = {};
  void** pointers_ = nullptr;
  int on_ = 0;
};

Shared share(std::uint64_t seed) {
  Shared shared;
  Random random(seed);
  shared.host.resize(pool_floats);
  for (float& value : shared.host) {
    value = static_cast<float>(static_cast<std::int64_t>(random() >> 40) - (1 << 23)) * 0x1p-23F;
  }
  CHECK(cudaMalloc(reinterpret_cast<void**>(&shared.device), sizeof(float) * pool_floats));
  CHECK(cudaMemcpy(shared.device, shared.host.data(), sizeof(float) * pool_floats, to_device));
  const float scalars[] = {1, 0, 0.5F};
  CHECK(cudaMalloc(reinterpret_cast<void**>(&shared.scalars), sizeof scalars));
  CHECK(cudaMemcpy(shared.scalars, scalars, sizeof scalars, to_device));
  for (int i = 0; i < 600; ++i) shared.pool.push_back(draw(random));
  shared.pool.front().kind = sgemm;  // one large product at least
  shared.pool.front().m = shared.pool.front().n = shared.pool.front().k = large;
  return shared;
}

std::size_t host_bytes() {
  std::ifstream stream("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  stream >> all >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

void say(double seconds) {
  std::size_t left = 0, all = 0;
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemGetInfo(&left, &all));
  std::printf(
      "{\"calls\":%ld,\"in_graphs\":%ld,\"launches\":%ld,\"verified\":%ld,\"wrong\":%ld,"
      "\"worst\":%.3f,\"device_bytes\":%zu,\"host_bytes\":%zu,\"seconds\":%.1f}\n",
      calls.load(), in_graphs.load(), launches.load(), verified.load(), wrong.load(),
      std::min(worst.load(), 1e30), all - left, host_bytes(), seconds);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("usage: soak CALLS THREADS CALLS_A_ROUND SEED\n", stderr);
    return 1;
  }
  const long wanted = std::atol(argv[1]), count = std::atol(argv[2]), round = std::atol(argv[3]);
  const auto seed = static_cast<std::uint64_t>(std::atoll(argv[4]));
  const auto began = std::chrono::steady_clock::now();
  const Shared shared = share(seed);
  std::vector<Thread> threads;
  threads.reserve(static_cast<std::size_t>(count));
  for (long i = 0; i < count; ++i) {
    threads.emplace_back(shared, seed + 1 + static_cast<std::uint64_t>(i));
  }
  while (calls < wanted) {
    std::vector<std::thread> running;
    for (Thread& thread : threads) {
      running.emplace_back([&thread, each = round / count] { thread.make_calls(each); });
    }
    for (std::thread& one : running) one.join();
    say(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  }
  return wrong == 0 ? 0 : 1;
}
