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

// Words of a file in a message: bytes other than printable ASCII as \xNN, no more than `most` of
// them.
inline std::string escaped(const std::string& words, std::size_t most = 80) {
  constexpr const char* digits = "0123456789abcdef";
  std::string shown;
  for (std::size_t i = 0; i < words.size() && i < most; ++i) {
    const auto byte = static_cast<unsigned char>(words[i]);
    if (byte >= 0x20 && byte < 0x7F) {
      shown += words[i];
    } else {
      shown += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return words.size() > most ? shown + "..." : shown;
}

}  // namespace kw
