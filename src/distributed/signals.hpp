// How far a rank's streams have come in its calls, as other ranks' streams wait for it. Between
// threads a signal is an event. Between processes it is a counter in the memory that they share
// (shared_file.hpp), which goes to the number of the call: a stream that waited for an event of a
// process that is gone would wait for ever, but whoever learns of the end can advance a counter.
#pragma once

#include "gpu/transfer.hpp"

namespace kw::distributed {

enum class Signal : int {
  inputs_ready = 0,  // what was on the rank's stream before the call is done
  copies_done = 1    // it copies no more from others
};
constexpr int signal_count = 2;

// So far a counter goes where no stream is to wait for it any longer.
constexpr std::uint32_t past_all_calls = std::uint32_t{1} << 30;

}  // namespace kw::distributed
