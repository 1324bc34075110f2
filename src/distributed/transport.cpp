// Of transports there is no more in the library than where their virtual functions are.
#include "kernelwright/transport.hpp"

namespace kw {

Transport::~Transport() = default;

}  // namespace kw
