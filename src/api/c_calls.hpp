// What the C functions of a matrix operation do with its arguments: bring them into a call, make
// it, plan it, or ask for its workspace. `to_call` is the operation's own.
#pragma once

#include "api/c_handle.hpp"
#include "api/calls.hpp"

namespace kw::c_abi {

template <class Arguments, class Call>
using ToCall = Status(const kwContext& context, const Arguments& args, Call* call);

template <class Arguments, class Call>
kwStatus_t compute_call(kwHandle_t handle, const Arguments& args, ToCall<Arguments, Call>* to_call,
                        Status (*compute)(detail::ContextState&, const Call&)) {
  return with_handle(handle, [&](kwContext& context) {
    Call call;
    Status status = to_call(context, args, &call);
    return status.ok() ? compute(*context.state, call) : status;
  });
}

template <class Arguments, class Call>
kwStatus_t workspace_bytes_of_call(
    kwHandle_t handle, const Arguments& args, ToCall<Arguments, Call>* to_call,
    Status (*ask)(const detail::ContextState&, const Call&, std::size_t*), size_t* bytes) {
  return with_handle(handle, [&](kwContext& context) {
    if (bytes == nullptr)
      return detail::invalid("bytes is null: pass the address of a size_t", "bytes");
    *bytes = 0;
    Call call;
    Status status = to_call(context, args, &call);
    return status.ok() ? ask(*context.state, call, bytes) : status;
  });
}

template <class Arguments, class Call>
kwStatus_t plan_call(kwHandle_t handle, const Arguments& args, ToCall<Arguments, Call>* to_call,
                     Status (*ask)(detail::ContextState&, const Call&, detail::SgemmOutlook*),
                     kwSgemmPlan* plan) {
  return with_handle(handle, [&](kwContext& context) {
    if (plan == nullptr)
      return detail::invalid("plan is null: pass the address of a kwSgemmPlan", "plan");
    *plan = {nullptr, 0, 0};
    Call call;
    Status status = to_call(context, args, &call);
    detail::SgemmOutlook outlook;
    if (status.ok()) status = ask(*context.state, call, &outlook);
    if (status.ok()) *plan = {outlook.kernel, outlook.time_us, outlook.workspace_bytes};
    return status;
  });
}

}  // namespace kw::c_abi
