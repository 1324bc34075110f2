// Names of what is special about a case's elements.
#include "check/reduce/data.hpp"

namespace kw::check {

const char* to_string(Sprinkle sprinkle) {
  switch (sprinkle) {
    case Sprinkle::none: return "none";
    case Sprinkle::nan: return "nan";
    case Sprinkle::infinities: return "infinities";
    case Sprinkle::signed_zeros: return "signed_zeros";
    case Sprinkle::extremes: return "extremes";
    case Sprinkle::far_mean: return "far_mean";
    case Sprinkle::huge: return "huge";
    case Sprinkle::tiny: return "tiny";
  }
  return "unknown";
}

}  // namespace kw::check
