// A program that is not linked with cuBLAS and loads it while it runs, in the way that its first
// argument says. Prints what came of it: "sum 12 forwarded 0 version 13".
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

void* open_or_end(const std::string& name, int mode) {
  void* const handle = dlopen((std::string(KW_STAND_INS) + "/" + name).c_str(), mode);
  if (handle == nullptr) {
    std::printf("%s\n", dlerror());
    std::exit(9);
  }
  return handle;
}

template <class Function>
Function* find(void* handle, const char* name) {
  auto* const found = reinterpret_cast<Function*>(dlsym(handle, name));
  if (found == nullptr) std::exit(8);
  return found;
}

void use_plugin(void* plugin) {
  const float sum = find<float()>(plugin, "plugin_multiply")();
  std::printf("sum %g forwarded %ld version %s\n", static_cast<double>(sum),
              find<long()>(plugin, "plugin_forwarded")(),
              find<const char*()>(plugin, "plugin_version")());
}

// As JAX and TensorFlow do: every function by its name.
void use_looked_up(void* cublas) {
  using Sgemm = int(void*, int, int, int, int, int, const float*, const float*, int, const float*,
                    int, const float*, float*, int);
  void* handle = nullptr;
  const float a[] = {1, 1, 1, 1}, one = 1, zero = 0;
  float c[4] = {};
  find<int(void**)>(cublas, "cublasCreate_v2")(&handle);
  find<Sgemm>(cublas, "cublasSgemm_v2")(handle, 0, 0, 2, 2, 2, &one, a, 2, a, 2, &zero, c, 2);
  find<int(void*)>(cublas, "cublasDestroy_v2")(handle);
  std::printf("sum %g forwarded %ld version %s\n", static_cast<double>(c[0] + c[1] + c[2] + c[3]),
              find<long(const char*)>(cublas, "stand_in_calls")("cublasSgemm_v2"),
              find<const char*()>(cublas, "stand_in_version")());
}

// A triangle: each element is 1 * 2 + 3 * 1.
void use_triangle(void* cublas) {
  using Syrk =
      int(void*, int, int, int, int, const float*, const float*, int, const float*, float*, int);
  constexpr int n = 3700, k = 2;
  void* handle = nullptr;
  const std::vector<float> a(std::size_t{n} * k, 1);
  std::vector<float> c(std::size_t{n} * n, 1);
  const float one = 1, three = 3;
  find<int(void**)>(cublas, "cublasCreate_v2")(&handle);
  const int status = find<Syrk>(cublas, "cublasSsyrk_v2")(handle, 0, 0, n, k, &one, a.data(), n,
                                                          &three, c.data(), n);
  find<int(void*)>(cublas, "cublasDestroy_v2")(handle);
  long wrong = 0;
  for (std::size_t i = 0; i < c.size(); ++i) wrong += c[i] != (i % n >= i / n ? 5.0f : 1.0f);
  const auto calls = [&](const char* name) {
    return find<long(const char*)>(cublas, "stand_in_calls")(name);
  };
  std::printf("status %d wrong %ld forwarded %ld and %ld\n", status, wrong, calls("cublasSsyrk_v2"),
              calls("cublasSgemm_v2"));
}

// Four groups of products, the third one empty: each element is 1 * 2 + 3 * 1.
void use_groups(void* cublas) {
  using Grouped = int(void*, const int*, const int*, const int*, const int*, const int*,
                      const float*, const float* const*, const int*, const float* const*,
                      const int*, const float*, float* const*, const int*, int, const int*);
  constexpr int groups = 4, products = 5;
  const int op[groups] = {}, m[] = {2, 7, 0, 3}, n[] = {3, 5, 4, 3}, k[] = {2, 2, 2, 2};
  const int ld[] = {7, 7, 7, 7}, size[] = {1, 2, 1, 1};
  const float one[] = {1, 1, 1, 1}, three[] = {3, 3, 3, 3};
  const std::vector<float> a(49, 1);
  std::vector<std::vector<float>> c(products, std::vector<float>(49, 1));
  std::vector<const float*> inputs(products, a.data());
  std::vector<float*> outputs;
  outputs.reserve(products);
  for (std::vector<float>& one_c : c) outputs.push_back(one_c.data());
  void* handle = nullptr;
  find<int(void**)>(cublas, "cublasCreate_v2")(&handle);
  const int status = find<Grouped>(cublas, "cublasSgemmGroupedBatched")(
      handle, op, op, m, n, k, one, inputs.data(), ld, inputs.data(), ld, three, outputs.data(), ld,
      groups, size);
  find<int(void*)>(cublas, "cublasDestroy_v2")(handle);
  long wrong = 0;
  for (int product = 0, group = 0, left = size[0]; product < products; ++product, --left) {
    while (left == 0) left = size[++group];
    for (int i = 0; i < 49; ++i) {
      const float right = i % 7 < m[group] && i / 7 < n[group] ? 5 : 1;
      wrong += c[static_cast<std::size_t>(product)][static_cast<std::size_t>(i)] != right;
    }
  }
  const auto calls = [&](const char* name) {
    return find<long(const char*)>(cublas, "stand_in_calls")(name);
  };
  std::printf("status %d wrong %ld forwarded %ld\n", status, wrong,
              calls("cublasSgemmGroupedBatched"));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string way = argc > 1 ? argv[1] : "";
  const std::string number = argc > 2 ? argv[2] : "0";
  if (way == "nothing") return std::atoi(number.c_str());
  if (way == "killed") return std::raise(std::atoi(number.c_str()));
  if (way == "driverless") {
    use_looked_up(open_or_end("libcublas.so.13", RTLD_NOW));
    return 0;
  }
  // Whoever uses cuBLAS has loaded the driver.
  open_or_end("libcuda.so.1", RTLD_NOW);
  if (way == "local") {
    use_plugin(open_or_end("libkw_plugin_13.so", RTLD_NOW | RTLD_LOCAL));
  } else if (way == "global") {
    use_plugin(open_or_end("libkw_plugin_13.so", RTLD_NOW | RTLD_GLOBAL));
  } else if (way == "old") {
    use_plugin(open_or_end("libkw_plugin_12.so", RTLD_NOW | RTLD_LOCAL));
  } else if (way == "both") {  // two versions of cuBLAS in one process
    use_plugin(open_or_end("libkw_plugin_13.so", RTLD_NOW | RTLD_LOCAL));
    use_plugin(open_or_end("libkw_plugin_12.so", RTLD_NOW | RTLD_LOCAL));
  } else if (way == "again") {  // unloaded, as far as the adapter lets it, and loaded anew
    for (int turn = 0; turn < 3; ++turn) {
      void* const plugin = open_or_end("libkw_plugin_13.so", RTLD_NOW | RTLD_LOCAL);
      use_plugin(plugin);
      dlclose(plugin);
    }
  } else if (way == "looked-up") {
    use_looked_up(open_or_end("libcublas.so.13", RTLD_NOW | RTLD_LOCAL));
  } else if (way == "triangle") {
    use_triangle(open_or_end("libcublas.so.13", RTLD_NOW | RTLD_LOCAL));
  } else if (way == "groups") {
    use_groups(open_or_end("libcublas.so.13", RTLD_NOW | RTLD_LOCAL));
  } else if (way == "default-scope") {
    std::printf("before %d", dlsym(RTLD_DEFAULT, "cublasSgemm_v2") != nullptr);
    const char* const why = dlerror();
    std::printf(" said %d", why != nullptr);
    open_or_end("libcublas.so.13", RTLD_NOW | RTLD_GLOBAL);
    std::printf(" after %d\n", dlsym(RTLD_DEFAULT, "cublasSgemm_v2") != nullptr);
  } else if (way == "children") {
    const pid_t child = fork();
    use_plugin(open_or_end("libkw_plugin_13.so", RTLD_NOW | RTLD_LOCAL));
    std::fflush(stdout);
    int state = 0;
    if (child > 0) waitpid(child, &state, 0);
    return state;
  } else {
    return 7;
  }
  return std::atoi(number.c_str());
}
