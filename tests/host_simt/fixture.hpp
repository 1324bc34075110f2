// What the tests of host SIMT share: default options for each test, with the run's seed, and how a
// status is judged.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "gpu/gpu.hpp"

namespace KW_TARGET {

inline constexpr host_simt::Order orders[] = {host_simt::Order::forward, host_simt::Order::reverse,
                                              host_simt::Order::random};

class HostSimt : public testing::Test {
 protected:
  HostSimt() : before_(host_simt::options()) {
    options() = {};
    options().seed = before_.seed;  // the run's
  }
  ~HostSimt() override { options() = before_; }
  static host_simt::Options& options() { return host_simt::options(); }

  static void expect_fault(const Status& status, std::initializer_list<const char*> parts) {
    EXPECT_EQ(status.code, StatusCode::device_error);
    for (const char* part : parts) {
      EXPECT_NE(status.message.find(part), std::string::npos)
          << "\"" << part << "\" is missing in: " << status.message;
    }
  }
  static void expect_ok(const Status& status) { EXPECT_TRUE(status.ok()) << status.message; }

 private:
  host_simt::Options before_;
};

// "host_simt_fault_test.cpp:<line>", as reports name a line of the calling file.
inline std::string at_line(int line, host_simt::Site here = host_simt::Site::current()) {
  const std::string_view path = here.file_name();
  return std::string(path.substr(path.rfind('/') + 1)) + ":" + std::to_string(line);
}

}  // namespace KW_TARGET
