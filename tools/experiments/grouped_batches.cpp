// What cuBLAS's grouped batches take, beside the library's products of one group after the other,
// and beside the drop-in's prediction for each group: adapters/cublas/vendor_time.hpp has what
// follows.
//
//   g++ -O2 -std=c++20 tools/experiments/grouped_batches.cpp adapters/cublas/vendor_time.cpp
//   -Iinclude
//     -I/usr/local/cuda/include -L build/cuda/src -lkernelwright -lcublas -lcudart -o
//     grouped_batches
//   ./grouped_batches SEED COUNT > grouped-batches.csv
//
// Of three kinds in turn: experts (one B's shape, other numbers of rows), blocks (small, many of
// each), and mixed shapes. All matrices are random and lie side by side; results are compared in
// norm.
#include <cublas_v2.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "../../adapters/cublas/vendor_time.hpp"
#include "harness.hpp"
#include "kernelwright/kernelwright.h"

namespace {

struct Group {
  int transposed_a, transposed_b, m, n, k, size;
};

class Draw {
 public:
  explicit Draw(unsigned seed) : engine_(seed) {}
  int log_uniform(double least, double most) {
    std::uniform_real_distribution<double> in(std::log(least), std::log(most + 1));
    return static_cast<int>(std::exp(in(engine_)));
  }
  int bit() { return static_cast<int>(engine_() & 1); }

 private:
  std::mt19937 engine_;
};

std::vector<Group> draw_groups(Draw& draw, int kind) {
  std::vector<Group> groups;
  const int ta = draw.bit(), tb = draw.bit();
  const int n = draw.log_uniform(64, 4096), k = draw.log_uniform(64, 4096);
  const int count = kind == 0 ? draw.log_uniform(4, 64) : draw.log_uniform(2, 16);
  for (int i = 0; i < count; ++i) {
    if (kind == 0) groups.push_back({ta, tb, n, draw.log_uniform(8, 2048), k, 1});
    if (kind == 1) {
      groups.push_back({ta, tb, draw.log_uniform(8, 160), draw.log_uniform(8, 160),
                        draw.log_uniform(8, 160), draw.log_uniform(8, 512)});
    }
    if (kind == 2) {
      groups.push_back({draw.bit(), draw.bit(), draw.log_uniform(32, 3000),
                        draw.log_uniform(32, 3000), draw.log_uniform(32, 3000),
                        draw.log_uniform(1, 8)});
    }
  }
  return groups;
}

// The arrays that cuBLAS takes, on the host; pointers on the device.
struct Problem {
  std::vector<cublasOperation_t> op_a, op_b;
  std::vector<int> m, n, k, lda, ldb, ldc, size;
  std::vector<float> alpha, beta;
  float** pointers[3] = {};
  float* data[3] = {};
  std::size_t elements[3] = {};

  Problem(const std::vector<Group>& groups, const float* from_a, const float* from_b, float* to_c) {
    std::vector<float*> at[3];
    for (const Group& g : groups) {
      op_a.push_back(g.transposed_a ? CUBLAS_OP_T : CUBLAS_OP_N);
      op_b.push_back(g.transposed_b ? CUBLAS_OP_T : CUBLAS_OP_N);
      m.push_back(g.m), n.push_back(g.n), k.push_back(g.k), size.push_back(g.size);
      lda.push_back(g.transposed_a ? g.k : g.m), ldb.push_back(g.transposed_b ? g.n : g.k);
      ldc.push_back(g.m), alpha.push_back(1), beta.push_back(0);
      const std::size_t lengths[3] = {std::size_t(g.m) * g.k, std::size_t(g.k) * g.n,
                                      std::size_t(g.m) * g.n};
      float* const bases[3] = {const_cast<float*>(from_a), const_cast<float*>(from_b), to_c};
      for (int i = 0; i < g.size; ++i) {
        for (int x = 0; x < 3; ++x) {
          at[x].push_back(bases[x] + elements[x]);
          elements[x] += lengths[x];
        }
      }
    }
    for (int x = 0; x < 3; ++x) {
      const std::size_t bytes = at[x].size() * sizeof(float*);
      require(cudaMalloc(&pointers[x], bytes), "malloc");
      require(cudaMemcpy(pointers[x], at[x].data(), bytes, cudaMemcpyHostToDevice), "copy");
    }
  }
  ~Problem() {
    for (float** p : pointers) cudaFree(p);
  }
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;
  int groups() const { return static_cast<int>(m.size()); }
};

void vendor(cublasHandle_t handle, const Problem& p) {
  const cublasStatus_t status = cublasSgemmGroupedBatched(
      handle, p.op_a.data(), p.op_b.data(), p.m.data(), p.n.data(), p.k.data(), p.alpha.data(),
      p.pointers[0], p.lda.data(), p.pointers[1], p.ldb.data(), p.beta.data(), p.pointers[2],
      p.ldc.data(), p.groups(), p.size.data());
  if (status != CUBLAS_STATUS_SUCCESS)
    std::fprintf(stderr, "cuBLAS: status %d\n", status), std::exit(1);
}

// Either computes, or adds up what the plans of all groups say, in microseconds.
double ours(kwHandle_t handle, const Problem& p, bool plan = false) {
  double planned_us = 0;
  std::size_t at = 0;
  for (int g = 0; g < p.groups(); ++g) {
    const auto op = [](cublasOperation_t from) {
      return from == CUBLAS_OP_N ? KW_OP_NONE : KW_OP_TRANSPOSE;
    };
    kwSgemmPlan planned = {};
    const auto call = [&](auto function, auto... last) {
      return function(handle, KW_COL_MAJOR, op(p.op_a[g]), op(p.op_b[g]), p.m[g], p.n[g], p.k[g],
                      &p.alpha[g], p.pointers[0] + at, p.lda[g], p.pointers[1] + at, p.ldb[g],
                      &p.beta[g], p.pointers[2] + at, p.ldc[g], p.size[g], last...);
    };
    const kwStatus_t status = plan ? call(kwPlanSgemmBatched, &planned) : call(kwSgemmBatched);
    planned_us += planned.time_us;
    if (status != KW_STATUS_OK)
      std::fprintf(stderr, "kw: %s\n", kwLastErrorMessage(handle)), std::exit(1);
    at += static_cast<std::size_t>(p.size[g]);
  }
  return planned_us;
}

std::vector<float> read(const float* from, std::size_t count) {
  std::vector<float> to(count);
  require(cudaMemcpy(to.data(), from, count * sizeof(float), cudaMemcpyDeviceToHost), "copy");
  return to;
}

double difference(const std::vector<float>& x, const std::vector<float>& y) {
  double apart = 0, size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    apart += std::pow(double(x[i]) - y[i], 2), size += std::pow(double(x[i]), 2);
  }
  return std::sqrt(apart / size);
}

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: %s SEED COUNT\n", argv[0]), 2;
  Draw draw(static_cast<unsigned>(std::stoul(argv[1])));
  const int count = std::stoi(argv[2]);
  cudaDeviceProp device;
  require(cudaGetDeviceProperties(&device, 0), "device");
  const kw::cublas::VendorTimes* const times = kw::cublas::vendor_times_of(device.name);
  cublasHandle_t cublas;
  cublasCreate(&cublas);
  kwHandle_t kw[2];
  for (int i = 0; i < 2; ++i) {
    if (kwCreateGpuOnStream(&kw[i], nullptr, 0) != KW_STATUS_OK)
      return std::fprintf(stderr, "no handle\n"), 1;
    kwSetMath(kw[i], i == 0 ? KW_MATH_FP32 : KW_MATH_FP32_SPLIT);
  }
  constexpr std::size_t room = std::size_t{1} << 28;
  const float* const a = on_device(random_floats(room, 1));
  const float* const b = on_device(random_floats(room, 2));
  float* c = nullptr;
  require(cudaMalloc(&c, room * sizeof(float)), "malloc");
  std::printf("# %s, seed %s\n", device.name, argv[1]);
  std::printf(
      "kind,groups,products,gflop,cublas_us,cublas_predicted_us,fp32_us,fp32_predicted_us,split_us,"
      "split_predicted_us,fp32_apart,split_apart,shapes\n");
  for (int i = 0; i < count; ++i) {
    const std::vector<Group> groups = draw_groups(draw, i % 3);
    const Problem p(groups, a, b, c);
    if (std::max({p.elements[0], p.elements[1], p.elements[2]}) > room) continue;
    std::vector<double> us[3];
    std::vector<float> result[3];
    for (int turn = 0; turn < 8; ++turn) {
      for (int who = 0; who < 3; ++who) {
        const double one = time_us([&] {
          if (who == 0) return vendor(cublas, p);
          ours(kw[who - 1], p);
        });
        if (turn == 0) result[who] = read(c, std::min<std::size_t>(p.elements[2], 1 << 22));
        if (turn > 0) us[who].push_back(one);
      }
    }
    double gflop = 0, products = 0;
    std::string shapes;
    std::vector<kw::cublas::Product> asked;
    for (const Group& g : groups) {
      kw::cublas::Product one;
      one.m = g.m, one.n = g.n, one.k = g.k, one.batch = g.size;
      asked.push_back(one);
      gflop += 2e-9 * g.m * g.n * g.k * g.size, products += g.size;
      char text[96];
      std::snprintf(text, sizeof text, "%s%c%c:%dx%dx%dx%d", shapes.empty() ? "" : " ",
                    "NT"[g.transposed_a], "NT"[g.transposed_b], g.m, g.n, g.k, g.size);
      shapes += text;
    }
    std::printf("%d,%zu,%.0f,%.4g,%.1f,%.1f,%.1f,%.1f,%.1f,%.1f,%.2e,%.2e,%s\n", i % 3,
                groups.size(), products, gflop, median(us[0]),
                times ? predict_grouped_us(*times, asked) : 0, median(us[1]), ours(kw[0], p, true),
                median(us[2]), ours(kw[1], p, true), difference(result[0], result[1]),
                difference(result[0], result[2]), shapes.c_str());
    std::fflush(stdout);
  }
  return 0;
}
