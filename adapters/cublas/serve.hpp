// A call's way: taken by the library, or forwarded to cuBLAS.
#pragma once

#include "call.hpp"

namespace kw::cublas {

// Makes the program's own call of cuBLAS, with its own handle and arguments, by a function that
// outlives it.
class Forward {
 public:
  template <class Function>
  explicit Forward(const Function& function)
      : function_(&function),
        run_([](const void* made) { return (*static_cast<const Function*>(made))(); }) {}
  Status operator()() const { return run_(function_); }

 private:
  const void* function_;
  Status (*run_)(const void*);
};

// True within a call that was forwarded: what cuBLAS calls then is its own business.
bool is_nested();

Status serve(Call& call, const Forward& forward);
// All groups or none, but where the library refuses one after it has computed others: then
// `forward` makes the call of those that are left.
Status serve_groups(GroupedCall& grouped, const Forward& forward);

// The same without a decision, for functions that are only followed.
Status pass_on(const Forward& forward);

}  // namespace kw::cublas
