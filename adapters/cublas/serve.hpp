// A call's way: taken by the library, or forwarded to cuBLAS.
#pragma once

#include "call.hpp"

namespace kw::cublas {

// Makes a call of cuBLAS with the program's handle, by a function that outlives it.
template <class... Arguments>
class ForwardOf {
 public:
  template <class Function>
  explicit ForwardOf(const Function& function)
      : function_(&function), run_([](const void* made, Arguments... arguments) {
          return (*static_cast<const Function*>(made))(arguments...);
        }) {}
  Status operator()(Arguments... arguments) const { return run_(function_, arguments...); }

 private:
  const void* function_;
  Status (*run_)(const void*, Arguments...);
};
using Forward = ForwardOf<>;                    // the program's own call, with its own arguments
using ForwardPart = ForwardOf<const Product&>;  // a part of it: a smaller one, or a product

// True within a call that was forwarded: what cuBLAS calls then is its own business.
bool is_nested();

// A call of which one triangle is wanted comes with what forwards its parts.
Status serve(Call& call, const Forward& forward, const ForwardPart* forward_part = nullptr);

// The same without a decision, for functions that are only followed.
Status pass_on(const Forward& forward);

}  // namespace kw::cublas
