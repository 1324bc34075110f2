// A lane: a context of the library for the calls of one handle on one stream, with the decisions
// that were made for their shapes.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "call.hpp"
#include "library.hpp"
#include "policy.hpp"
#include "record.hpp"
#include "vendor_time.hpp"
#include "words.hpp"

namespace kw::cublas {

class Lane;
class Session;

// A device as far as calls on it are decided.
struct Device {
  Session* session = nullptr;
  int ordinal = 0;
  std::string why_not;  // a sentence where the library cannot use it
  std::string name;
  const VendorTimes* times = nullptr;         // null: cuBLAS was never measured there
  std::vector<std::shared_ptr<Lane>> unused;  // whose graphs are gone, for the next captures
};

// Whether calls of one kind are taken.
struct Decision {
  Reason reason = Reason::none;
  Outlook outlook;
  std::size_t workspace_bytes = 0;
  Tally* tally = nullptr;
};

class Lane {
 public:
  // Null, and a sentence, where there is none. It belongs to no stream yet, and never has more
  // workspace than so much.
  static std::shared_ptr<Lane> open(Device& device, const Policy& policy,
                                    std::size_t workspace_bytes, std::string* why_not);
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  Device& device() { return *device_; }
  // Frees what it has on the device, once nobody is in a call of it.
  void close();
  std::mutex& mutex() { return mutex_; }  // held by who calls what follows
  bool is_open() const { return handle_ != nullptr; }
  bool use_stream(Stream stream);
  // At least so much workspace, so that a call which takes it does not allocate.
  void reserve(std::size_t bytes);

  // The decision for calls like this one; new ones are handed to `is_new`, if only for the record.
  template <class IsNew>
  Decision& decision(const Call& call, const Policy& policy, const IsNew& is_new);
  // KW_STATUS_OK, or the library's word on why it did nothing, of which last_error has the
  // sentence.
  kwStatus_t multiply(const Product& product, Arithmetic math);
  const std::string& last_error() const { return last_error_; }

 private:
  using Key = Words<11>;  // all that a decision may depend on
  // The cache begins anew when it is full.
  static constexpr std::size_t most_decisions = 1024;

  Lane(Device& device, kwHandle_t handle);
  static Key key_of(const Call& call);
  Decision decide(const Call& call, const Policy& policy);
  bool make_plan(const Product& product, Arithmetic math, kwSgemmPlan* plan);
  bool set(const Product& product, Arithmetic math);
  bool set_epilogue(const Product& product);
  kwStatus_t compute(const Product& product, Arithmetic math);

  Device* device_;
  kwHandle_t handle_;
  std::mutex mutex_;
  kwPointerMode_t pointer_mode_ = KW_POINTER_MODE_HOST;
  Arithmetic math_ = Arithmetic::fp32;
  std::string last_error_;
  std::unordered_map<Key, Decision, MixedWords> decisions_;
};

template <class IsNew>
Decision& Lane::decision(const Call& call, const Policy& policy, const IsNew& is_new) {
  const Key key = key_of(call);
  const auto found = decisions_.find(key);
  if (found != decisions_.end()) return found->second;
  if (decisions_.size() >= most_decisions) decisions_.clear();
  Decision& made = decisions_.emplace(key, decide(call, policy)).first->second;
  is_new(made);
  return made;
}

}  // namespace kw::cublas
