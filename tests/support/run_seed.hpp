// The seed of this run of the tests, which everything that they draw follows from.
#pragma once

#include <cstdint>

namespace kw {

// Environment variable KW_TEST_SEED where that is set, else another one each run.
std::uint64_t run_seed();

// The seed of one of a test's generators, which the test numbers: another one in each run.
unsigned seed_of(unsigned number);

}  // namespace kw
