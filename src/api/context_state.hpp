// What a context is made of, behind the C++ and the C interface alike.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/attention_plans.hpp"
#include "api/cgemm_plans.hpp"
#include "api/ctrsm_plans.hpp"
#include "api/level3_plans.hpp"
#include "api/plan_cache.hpp"
#include "backends.hpp"
#include "kernelwright/context.hpp"
#include "select.hpp"
#include "tune_cache.hpp"

namespace kw::detail {

class ContextState {
 public:
  // With no stream given the context makes its own.
  static Status open(const Backend& backend, int ordinal, std::optional<Stream> stream,
                     std::unique_ptr<ContextState>* state);
  // The CPU, or whichever family of GPUs this library was built for.
  static Status open_cpu(std::unique_ptr<ContextState>* state);
  static Status open_gpu(int ordinal, std::optional<Stream> stream,
                         std::unique_ptr<ContextState>* state);

  ContextState(const ContextState&) = delete;
  ContextState& operator=(const ContextState&) = delete;
  ~ContextState();

  Runtime& runtime() { return *runtime_; }
  const Device& device() const { return runtime_->device(); }
  const KernelList<Sgemm>& sgemm_kernels() const { return sgemm_; }
  const KernelList<Level3>& level3_kernels() const { return level3_; }
  const KernelList<ScaleAdd>& scale_add_kernels() const { return scale_add_; }
  const KernelList<Reduce>& reduce_kernels() const { return reduce_; }
  const KernelList<Cgemm>& cgemm_kernels() const { return cgemm_; }
  const KernelList<Ctrsm>& ctrsm_kernels() const { return ctrsm_; }
  const KernelList<Rowwise>& rowwise_kernels() const { return rowwise_; }
  const KernelList<Attention>& attention_kernels() const { return attention_; }
  const TuneCache& tune_cache() const { return tune_cache_; }
  const std::string& tune_cache_report() const { return tune_cache_report_; }
  Stream stream() const { return stream_; }
  PlanCache& plans() { return plans_; }
  Level3Plans& level3_plans() { return level3_plans_; }
  CgemmPlans& cgemm_plans() { return cgemm_plans_; }
  CtrsmPlans& ctrsm_plans() { return ctrsm_plans_; }
  AttentionPlans& attention_plans() { return attention_plans_; }

  Status synchronize();
  Status set_stream(void* handle);
  Status set_workspace(void* data, std::size_t bytes);
  // The context's own workspace: at least so large from now on; never larger, unless it is already.
  Status reserve_workspace(std::size_t bytes);
  void limit_workspace(std::size_t bytes);
  std::size_t asked_workspace_limit() const { return asked_limit_; }
  // After a failure the context has no tune cache.
  Status load_tune_cache(const std::string& path);
  // Scratch memory of at least that size, and the context's tickets. The memory is the caller's
  // where it was set, else the context's own, which grows as needed. Where the device has no memory
  // left for that, the context's own grows by what there is, the limit below is lower from then on,
  // and the status is out_of_memory.
  Status workspace(std::size_t bytes, Workspace* found);
  // What a call in that arithmetic may plan with: the caller's whole workspace; else what the
  // context's own may grow to, in fp32_split up to a size from which sub-problems are as fast.
  std::size_t workspace_limit(Math math) const;
  // The same for a complex product, which has a real copy of an operand there too.
  std::size_t complex_workspace_limit(Math math) const;

 private:
  explicit ContextState(std::unique_ptr<Runtime> runtime) : runtime_(std::move(runtime)) {}
  Status make_stream();
  Status make_tickets();
  Status grow_workspace(std::size_t bytes);
  Status add_workspace(std::size_t bytes);
  void load_tune_cache_of_environment();

  std::unique_ptr<Runtime> runtime_;
  KernelList<Sgemm> sgemm_;
  KernelList<Level3> level3_;
  KernelList<ScaleAdd> scale_add_;
  KernelList<Reduce> reduce_;
  KernelList<Cgemm> cgemm_;
  KernelList<Ctrsm> ctrsm_;
  KernelList<Rowwise> rowwise_;
  KernelList<Attention> attention_;
  TuneCache tune_cache_;
  PlanCache plans_;  // made for this device, these kernels and this tune cache
  Level3Plans level3_plans_;
  CgemmPlans cgemm_plans_;
  CtrsmPlans ctrsm_plans_;
  AttentionPlans attention_plans_;
  std::string tune_cache_report_;
  Stream stream_;
  std::optional<Stream> own_stream_;
  unsigned* tickets_ = nullptr;
  std::optional<Workspace> callers_workspace_;
  std::vector<Workspace> own_workspaces_;  // the last one is the largest, and calls use it
  std::size_t own_limit_ = any_workspace;  // less once the device had no memory for more
  std::size_t asked_limit_ = any_workspace;
};

// Between a context and its state.
struct ContextAccess {
  static Context make(std::unique_ptr<ContextState> state) { return Context(std::move(state)); }
  // Throws where the context was moved from.
  static ContextState& state(const Context& context);
};

// A context on any family of devices, host SIMT included once its backend was added.
Context open_context(DeviceKind kind, int ordinal = 0);

inline void throw_unless_ok(const Status& status) {
  if (!status.ok()) throw Error(status.code, status.argument, status.message);
}

}  // namespace kw::detail
