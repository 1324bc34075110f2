// Sentences out of words and numbers, the same in every locale.
#pragma once

#include <locale>
#include <sstream>
#include <string>

namespace kw {

template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  out.imbue(std::locale::classic());
  (out << ... << parts);
  return out.str();
}

}  // namespace kw
