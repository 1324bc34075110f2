// Memory of the host SIMT device, and a trace of what is launched.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "host_simt/host_simt.hpp"
#include "host_simt/runtime.hpp"
#include "trace/trace.hpp"

namespace kw::trace {

class TraceTest : public testing::Test {
 protected:
  TraceTest() : before_(host_simt::options()) {
    host_simt::options().order = host_simt::Order::forward;
    host_simt::options().fences = false;  // sectors are counted from where a GPU's memory begins
    host_simt::options().multiprocessors = 4;
    EXPECT_TRUE(host_simt::open(0, &runtime_).ok());
  }
  ~TraceTest() override {
    for (void* data : memory_) runtime_->release(data);
    host_simt::options() = before_;
  }

  // Zeros, 256-byte aligned.
  float* floats(std::int64_t count) {
    void* data = nullptr;
    const auto bytes = static_cast<std::size_t>(count) * sizeof(float);
    EXPECT_TRUE(runtime_->allocate(&data, bytes).ok());
    EXPECT_TRUE(runtime_->fill(data, 0, bytes, {}).ok());
    memory_.push_back(data);
    return static_cast<float*>(data);
  }
  const Device& device() const { return runtime_->device(); }

  static std::vector<LaunchCounts> traced(const std::function<Status()>& launch,
                                          std::uint64_t blocks = 0) {
    Trace trace({.blocks = blocks, .progress = {}});
    host_simt::options().observer = &trace;
    const Status status = launch();
    host_simt::options().observer = nullptr;
    EXPECT_TRUE(status.ok()) << status.message;
    return trace.launches();
  }
  static LaunchCounts traced_one(const std::function<Status()>& launch) {
    const std::vector<LaunchCounts> launches = traced(launch);
    EXPECT_EQ(launches.size(), 1u);
    return launches.empty() ? LaunchCounts{} : launches.front();
  }

  static void expect_counts(const LaunchCounts& launch, Kind kind, std::uint64_t requests,
                            std::uint64_t lanes, std::uint64_t units) {
    const AccessCounts counts = launch.total(kind);
    EXPECT_EQ(counts.requests, requests) << to_string(kind);
    EXPECT_EQ(counts.lanes, lanes) << to_string(kind);
    EXPECT_EQ(counts.units, units) << to_string(kind);
  }

 private:
  host_simt::Options before_;
  std::unique_ptr<Runtime> runtime_;
  std::vector<void*> memory_;
};

}  // namespace kw::trace
