// One process: threads, forks, handles, streams, captures, recursion, dlsym.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "support.hpp"

namespace kw::cublas {
namespace {

void* stream(std::uintptr_t number) { return reinterpret_cast<void*>(number << 8); }

TEST_F(Adapter, ThreadsWithHandlesOfTheirOwn) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned number = 0; number < 6; ++number) {
    threads.emplace_back([&wrong, number] {
      void* handle = nullptr;
      cublasCreate_v2(&handle);
      for (int turn = 0; turn < 12; ++turn) {
        Problem p(turn % 2, turn / 2 % 2, 5 + turn, 9, 17, 1, number);
        if (sgemm(p, handle) != status_success || !p.is_right()) ++wrong;
      }
      cublasDestroy_v2(handle);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(stand_in_calls("cublasSgemm_v2_64"), 0);
}

TEST_F(Adapter, ThreadsWithOneHandle) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned number = 0; number < 6; ++number) {
    threads.emplace_back([this, &wrong, number] {
      for (int turn = 0; turn < 12; ++turn) {
        Problem p(turn % 2, turn / 2 % 2, 5 + turn, 9, 17, 1, number);
        if (sgemm(p) != status_success || !p.is_right()) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(stand_in_calls("cublasSgemm_v2_64"), 0);
}

TEST_F(Adapter, AHandleDestroyedWhileOthersWork) {
  std::atomic<bool> stops{false};
  std::atomic<int> wrong{0};
  std::thread worker([&] {
    while (!stops) {
      Problem p(op_n, op_n, 6, 6, 6);
      if (sgemm(p) != status_success || !p.is_right()) ++wrong;
    }
  });
  for (int turn = 0; turn < 50; ++turn) {
    void* other = nullptr;
    cublasCreate_v2(&other);
    Problem p(op_n, op_t, 4, 5, 6);
    EXPECT_EQ(sgemm(p, other), status_success);
    EXPECT_TRUE(p.is_right());
    cublasDestroy_v2(other);
  }
  stops = true;
  worker.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Adapter, AForkedChildComputes) {
  Problem before(op_n, op_n, 7, 8, 9);
  EXPECT_EQ(sgemm(before), status_success);
  const pid_t child = fork();
  if (child == 0) {
    Problem p(op_t, op_n, 7, 8, 9);
    const bool right =
        sgemm(p) == status_success && p.is_right() && stand_in_calls("cublasSgemm_v2_64") == 0;
    _exit(right ? 0 : 1);
  }
  int state = -1;
  waitpid(child, &state, 0);
  EXPECT_EQ(state, 0);
  Problem after(op_n, op_t, 7, 8, 9);
  EXPECT_EQ(sgemm(after), status_success);
  EXPECT_TRUE(after.is_right());
}

// The thread opens lanes, decides and forwards, so that it holds each lock of the adapter now and
// then; but it computes nothing, for a CBLAS's own locks do not outlive a fork.
TEST_F(Adapter, AForkWhileAThreadCalls) {
  std::atomic<bool> stops{false};
  std::thread worker([&] {
    std::vector<float> data(64, 1.0f);
    const float one = 1, zero = 0;
    while (!stops) {
      void* handle = nullptr;
      cublasCreate_v2(&handle);
      // C over A, which the library refuses.
      EXPECT_EQ(cublasSgemm_v2(handle, op_n, op_n, 8, 8, 8, &one, data.data(), 8, data.data(), 8,
                               &zero, data.data(), 8),
                status_success);
      cublasDestroy_v2(handle);
    }
  });
  for (int turn = 0; turn < 20; ++turn) {
    const pid_t child = fork();
    if (child == 0) {
      // Of what other threads may have locked in the C library nothing is asked.
      alarm(20);
      static const float a[4] = {1, 0, 0, 1}, one = 1, zero = 0;
      static float c[4];
      const Status status =
          cublasSgemm_v2(handle_, op_n, op_n, 2, 2, 2, &one, a, 2, a, 2, &zero, c, 2);
      _exit(status == status_success && c[0] == 1 && c[3] == 1 ? 0 : 1);
    }
    int state = -1;
    waitpid(child, &state, 0);
    EXPECT_EQ(state, 0);
  }
  stops = true;
  worker.join();
}

TEST_F(Adapter, TwoHandlesAndManyStreams) {
  void* other = nullptr;
  cublasCreate_v2(&other);
  for (std::uintptr_t number = 1; number <= 200; ++number) {
    cublasSetStream_v2(handle_, stream(number));
    cublasSetStream_v2(other, stream(number % 3));
    Problem p(op_n, op_n, 3, 4, 5), q(op_t, op_t, 4, 3, 2);
    EXPECT_EQ(sgemm(p), status_success);
    EXPECT_EQ(sgemm(q, other), status_success);
    EXPECT_TRUE(p.is_right() && q.is_right());
  }
  EXPECT_EQ(stand_in_calls("cublasSgemm_v2_64"), 0);
  EXPECT_EQ(cublasDestroy_v2(other), status_success);
  Problem p(op_n, op_n, 3, 4, 5);
  EXPECT_EQ(sgemm(p), status_success);
  EXPECT_TRUE(p.is_right());
}

// Each call has a new shape, so that a lane with its lock held asks the session, which at the same
// time closes lanes for the new streams of other threads.
TEST_F(Adapter, ThreadsWithEverNewStreamsAndShapes) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::uintptr_t number = 0; number < 4; ++number) {
    threads.emplace_back([&wrong, number] {
      void* handle = nullptr;
      cublasCreate_v2(&handle);
      for (int turn = 0; turn < 400; ++turn) {
        const auto one_of_100 = static_cast<std::uintptr_t>(turn % 100);
        cublasSetStream_v2(handle, stream(10000 * (number + 1) + one_of_100));
        Problem p(op_n, op_n, 1 + turn % 23, 1 + turn / 23, 3);
        if (sgemm(p, handle) != status_success || !p.is_right()) ++wrong;
      }
      cublasDestroy_v2(handle);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(Adapter, GraphsThatEndWhileOthersOpenLanes) {
  std::atomic<int> wrong{0};
  std::atomic<bool> stops{false};
  std::thread opener([&] {
    void* handle = nullptr;
    cublasCreate_v2(&handle);
    for (std::uintptr_t turn = 0; !stops; ++turn) {
      cublasSetStream_v2(handle, stream(60000 + turn % 1000));
      Problem p(op_n, op_n, 3, 4, 5);
      if (sgemm(p, handle) != status_success || !p.is_right()) ++wrong;
    }
    cublasDestroy_v2(handle);
  });
  cublasSetStream_v2(handle_, stream(66));
  int taken = 0;
  for (std::uint64_t id = 5000; id < 5200; ++id) {
    stand_in_begin_capture(stream(66), id);
    Problem p(op_n, op_n, 6, 7, 8);
    if (sgemm(p) != status_success || !p.is_right()) ++wrong;
    stand_in_end_capture(stream(66));
    taken += stand_in_destroy_graph(id);
  }
  stops = true;
  opener.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(taken, 0);
}

TEST_F(Adapter, SeveralDevices) {
  for (int turn = 0; turn < 3; ++turn) {
    for (int device = 0; device < 4; ++device) {
      stand_in_set_device(device);
      Problem p(op_n, op_n, 3, 4, 5);
      EXPECT_EQ(sgemm(p), status_success);
      EXPECT_TRUE(p.is_right() && was_taken());
    }
  }
  stand_in_set_device(0);
}

TEST_F(Adapter, CapturesHaveAWorkspaceOfTheirOwn) {
  Problem before(op_n, op_n, 6, 7, 8);
  EXPECT_EQ(sgemm(before), status_success);  // whoever captures has warmed up
  cublasSetStream_v2(handle_, stream(77));
  stand_in_begin_capture(stream(77), 1001);
  for (int turn = 0; turn < 3; ++turn) {
    Problem p(op_n, op_n, 6, 7, 8);
    EXPECT_EQ(sgemm(p), status_success);
    EXPECT_TRUE(p.is_right());
    EXPECT_TRUE(was_taken() && contains(last_line(), "captured")) << last_line();
  }
  stand_in_end_capture(stream(77));
  Problem eager(op_n, op_n, 6, 7, 8);
  EXPECT_EQ(sgemm(eager), status_success);
  EXPECT_TRUE(was_taken() && !contains(last_line(), "captured")) << last_line();
  // What the graph used goes with it, and serves the next one.
  EXPECT_EQ(stand_in_destroy_graph(1001), 1);
  EXPECT_EQ(stand_in_destroy_graph(1001), 0);
}

TEST_F(Adapter, CaptureAfterCaptureIsTaken) {
  for (std::uint64_t id = 3000; id < 3020; ++id) {
    Problem eager(op_n, op_n, 6, 7, 8);
    EXPECT_EQ(sgemm(eager), status_success);
    cublasSetStream_v2(handle_, stream(88));
    stand_in_begin_capture(stream(88), id);
    Problem p(op_n, op_n, 6, 7, 8);
    EXPECT_EQ(sgemm(p), status_success);
    EXPECT_TRUE(p.is_right() && was_taken()) << last_line();
    stand_in_end_capture(stream(88));
    EXPECT_TRUE(id % 2 == 1 || stand_in_destroy_graph(id) == 1);
  }
  for (std::uint64_t id = 3001; id < 3020; id += 2) EXPECT_EQ(stand_in_destroy_graph(id), 1);
}

// An instance of one capture can be updated by another of the same calls only where both are the
// same kernels: so each is taken, however many graphs there are and whatever came before.
TEST_F(Adapter, EveryCaptureIsTaken) {
  constexpr std::uintptr_t streams = 40;
  for (std::uintptr_t number = 0; number < streams; ++number) {
    cublasSetStream_v2(handle_, stream(500 + number));
    stand_in_begin_capture(stream(500 + number), 2002 + number % 3);
    Problem p(op_n, op_n, 6, 7, 8);
    EXPECT_EQ(sgemm(p), status_success);
    EXPECT_TRUE(p.is_right() && was_taken()) << last_line();
  }
  for (std::uintptr_t number = 0; number < streams; ++number)
    stand_in_end_capture(stream(500 + number));
  EXPECT_EQ(
      stand_in_destroy_graph(2002) + stand_in_destroy_graph(2003) + stand_in_destroy_graph(2004),
      static_cast<int>(streams));
}

TEST_F(Adapter, ABrokenCaptureIsForwarded) {
  cublasSetStream_v2(handle_, stream(9));
  stand_in_break_capture(stream(9));
  Problem p(op_n, op_n, 6, 7, 8);
  EXPECT_EQ(sgemm(p), status_success);
  EXPECT_TRUE(contains(last_line(), "to cuBLAS: capture")) << last_line();
  stand_in_end_capture(stream(9));
}

TEST_F(Adapter, WhatTheVendorCallsItselfIsItsOwn) {
  stand_in_recurse(true);
  cublasSetMathMode(handle_, 3);  // forwarded, and then cublasGemmEx by the vendor
  Problem p(op_n, op_n, 6, 7, 8);
  EXPECT_EQ(cublasSgemm_v2(handle_, op_n, op_n, 6, 7, 8, &p.alpha, p.a.data(),
                           static_cast<int>(p.lda), p.b.data(), static_cast<int>(p.ldb), &p.beta,
                           p.c.data(), static_cast<int>(p.ldc)),
            status_success);
  stand_in_recurse(false);
  EXPECT_TRUE(p.is_right());
  EXPECT_EQ(stand_in_calls("cublasSgemm_v2"), 1);
  EXPECT_EQ(stand_in_calls("cublasGemmEx"), 1);
  EXPECT_TRUE(contains(last_line(), "cublasSgemm_v2 ")) << last_line();
}

TEST_F(Adapter, DlsymGivesTheHookOfEverySymbol) {
  void* const cublas = dlopen("libcublas.so.13", RTLD_NOW | RTLD_NOLOAD);
  void* const lt = dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NOLOAD);
  void* const cusolver = dlopen("libcusolver.so.12", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_TRUE(cublas != nullptr && lt != nullptr && cusolver != nullptr);
  const auto file_of = [](void* address) {
    Dl_info info{};
    return dladdr(address, &info) != 0 ? std::string(info.dli_fname) : std::string();
  };
  for (const SymbolRow& row : symbols) {
    void* const library = row.library == Library::cublas     ? cublas
                          : row.library == Library::cublasLt ? lt
                                                             : cusolver;
    EXPECT_TRUE(contains(file_of(dlsym(library, row.name)), "libkernelwright_cublas")) << row.name;
    EXPECT_TRUE(contains(file_of(dlsym(RTLD_DEFAULT, row.name)), "libkernelwright_cublas"));
  }
  EXPECT_TRUE(contains(file_of(dlsym(cublas, "cublasSetStream_v2")), "libcublas.so.13"));
  dlclose(cublas);
  dlclose(lt);
  dlclose(cusolver);
}

TEST_F(Adapter, DlsymIsTheCLibrarysForAllElse) {
  EXPECT_NE(dlsym(RTLD_DEFAULT, "malloc"), nullptr);
  // "Next" is what follows the one who asks: this program defines the first, and not the second.
  EXPECT_NE(dlsym(RTLD_NEXT, "getpid"), nullptr);
  dlerror();
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "cublasNoSuchFunction"), nullptr);
  EXPECT_NE(dlerror(), nullptr);
  EXPECT_EQ(dlsym(RTLD_NEXT, "kw_only_in_this_program"), nullptr);
  EXPECT_NE(dlsym(RTLD_DEFAULT, "kw_only_in_this_program"), nullptr);
}

}  // namespace
}  // namespace kw::cublas

extern "C" int kw_only_in_this_program() { return 1; }
