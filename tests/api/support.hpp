// What the tests of the public interface share: the devices that are here, matrices on them, and a
// look at what a call throws.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "api/context_state.hpp"
#include "backends.hpp"
#include "kernelwright/matrix.hpp"
#include "support/run_seed.hpp"

#ifdef KW_HAVE_HOST_SIMT
#include "host_simt/backend.hpp"
#endif

namespace kw::test {

inline constexpr float nan = std::numeric_limits<float>::quiet_NaN();

// Every family of devices that this build and this machine have, host SIMT included.
inline std::vector<DeviceKind> present_devices() {
#ifdef KW_HAVE_HOST_SIMT
  add_backend(host_simt::backend());
#endif
  std::vector<DeviceKind> kinds;
  for (const Backend& backend : backends()) {
    if (backend.device_count() > 0) kinds.push_back(backend.kind);
  }
  return kinds;
}

inline std::string device_test_name(const testing::TestParamInfo<DeviceKind>& info) {
  std::string name = to_string(info.param);
  for (char& c : name) {
    if (c == '-') c = '_';
  }
  return name;
}

// Bytes of an array with a workspace of `bytes` and something behind it, so many that it begins as
// a workspace must where the array is fenced (host_simt/fences.hpp), too.
constexpr std::size_t workspace_with_rest(std::size_t bytes) { return (bytes / 256 + 1) * 256; }

// An array on a context's device, with a copy of what was last put there.
template <class T>
class DeviceArray {
 public:
  DeviceArray(const Context& context, std::vector<T> values)
      : state_(detail::ContextAccess::state(context)), put_(std::move(values)) {
    void* data = nullptr;
    detail::throw_unless_ok(state_.runtime().allocate(&data, bytes()));
    data_ = static_cast<T*>(data);
    detail::throw_unless_ok(state_.runtime().copy(data_, put_.data(), bytes(), state_.stream()));
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { state_.runtime().release(data_); }

  T* data() const { return data_; }
  const std::vector<T>& put() const { return put_; }
  // Waits for the context's work.
  std::vector<T> get() const {
    std::vector<T> values(put_.size());
    detail::throw_unless_ok(state_.runtime().copy(values.data(), data_, bytes(), state_.stream()));
    return values;
  }
  // Bit for bit, so that NaN equals itself.
  bool unchanged() const {
    return put_.empty() || std::memcmp(get().data(), put_.data(), bytes()) == 0;
  }

 private:
  // NOLINTNEXTLINE(bugprone-sizeof-expression): elements may be pointers
  std::size_t bytes() const { return put_.size() * sizeof(T); }

  detail::ContextState& state_;
  std::vector<T> put_;
  T* data_ = nullptr;
};
using DeviceFloats = DeviceArray<float>;

inline std::vector<float> random_floats(std::int64_t count, unsigned seed) {
  std::mt19937 engine(seed_of(seed));
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = uniform(engine);
  return values;
}

inline std::optional<Error> error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

// The call throws, blames that argument, and its sentence contains every fragment.
inline void expect_error(const std::function<void()>& call, StatusCode code,
                         const std::string& argument, const std::vector<std::string>& fragments) {
  const std::optional<Error> error = error_of(call);
  ASSERT_TRUE(error) << "nothing was thrown";
  EXPECT_EQ(error->code(), code) << error->what();
  EXPECT_EQ(error->argument(), argument) << error->what();
  for (const std::string& fragment : fragments) {
    EXPECT_NE(std::string(error->what()).find(fragment), std::string::npos)
        << '"' << fragment << "\" is not in: " << error->what();
  }
}

}  // namespace kw::test
