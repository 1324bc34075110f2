// The ELF symbol table of /proc/self/exe. The tags that __global__ and __shared__ add to their
// declarations (simt.hpp) are part of the mangled names, so nothing else is ever taken for either.
#include "host_simt/symbols.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string_view>
#include <type_traits>

#include "host_simt/host_simt.hpp"

// Known symbols: the difference of their address and their table entry is everybody's.
extern "C" {
void kw_host_simt_code_anchor() {}
constinit thread_local char kw_host_simt_thread_anchor = 0;
}

namespace kw::host_simt {
namespace {

constexpr std::string_view kernel_tag = "B9kw_kernel";
constexpr std::string_view shared_tag = "B9kw_shared";

template <class T>
std::vector<T> read_array(std::ifstream& file, std::uint64_t offset, std::size_t count) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::vector<T> data(count);
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(data.data()), static_cast<std::streamsize>(count * sizeof(T)));
  if (!file) data.clear();
  return data;
}

struct SymbolTable {
  std::vector<ElfW(Sym)> symbols;
  std::vector<char> names;
};

SymbolTable read_symbol_table() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const auto headers = read_array<ElfW(Ehdr)>(file, 0, 1);
  if (headers.empty()) return {};
  const auto sections = read_array<ElfW(Shdr)>(file, headers[0].e_shoff, headers[0].e_shnum);
  for (const ElfW(Shdr) & section : sections) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size()) continue;
    const ElfW(Shdr)& names = sections[section.sh_link];
    return {read_array<ElfW(Sym)>(file, section.sh_offset, section.sh_size / sizeof(ElfW(Sym))),
            read_array<char>(file, names.sh_offset, names.sh_size)};
  }
  return {};
}

void erase_all(std::string& text, std::string_view part) {
  for (std::size_t at; (at = text.find(part)) != std::string::npos;) text.erase(at, part.size());
}

// The first character at `depth` 0 of brackets from `from` on that is one of `wanted`.
std::size_t find_outside_brackets(const std::string& text, std::string_view wanted) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (depth == 0 && wanted.find(text[i]) != std::string_view::npos) return i;
    if (text[i] == '<') ++depth;
    if (text[i] == '>') --depth;
  }
  return std::string::npos;
}

}  // namespace

std::string short_name(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> demangled(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), std::free);
  if (!demangled) return symbol;
  std::string name = demangled.get();
  for (const char* noise :
       {"[abi:kw_kernel]", "[abi:kw_shared]", "(anonymous namespace)::", "kw::on_host::", "kw::"}) {
    erase_all(name, noise);
  }
  const bool is_array = symbol.find(shared_tag) != std::string::npos;
  if (is_array) return name.substr(name.rfind("::") + 2);
  if (name.rfind("void ", 0) == 0) name.erase(0, 5);  // a template's return type
  name.erase(std::min(name.size(), find_outside_brackets(name, "(")));
  for (std::size_t at; (at = find_outside_brackets(name, ":")) != std::string::npos;) {
    name.erase(0, at + 2);
  }
  return name;
}

bool is_of_kernel(const SharedSymbol& array) {
  return array.symbol.find(kernel_tag) != std::string::npos;
}

ProgramSymbols::ProgramSymbols() {
  const SymbolTable table = read_symbol_table();
  constexpr unsigned array_type = address_sanitizer ? STT_OBJECT : STT_TLS;
  for (const ElfW(Sym) & symbol : table.symbols) {
    if (symbol.st_name >= table.names.size() || symbol.st_shndx == SHN_UNDEF) continue;
    const std::string_view name = &table.names[symbol.st_name];
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if (name == "kw_host_simt_code_anchor") {
      load_bias_ = reinterpret_cast<std::uintptr_t>(&kw_host_simt_code_anchor) - symbol.st_value;
      found_ = true;
    } else if (name == "kw_host_simt_thread_anchor") {
      anchor_offset_ = symbol.st_value;
    } else if (type == array_type && name.rfind("_ZZ", 0) == 0 &&
               name.find(shared_tag) != std::string_view::npos) {
      arrays_.push_back({std::string(name), symbol.st_value, symbol.st_size});
    } else if (type == STT_FUNC && name.find(kernel_tag) != std::string_view::npos) {
      kernels_.push_back({symbol.st_value, std::string(name)});
    }
  }
}

const ProgramSymbols& ProgramSymbols::instance() {
  static const ProgramSymbols symbols;
  return symbols;
}

std::string ProgramSymbols::kernel_symbol(const void* kernel) const {
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(kernel) - load_bias_;
  for (const Function& function : kernels_) {
    if (function.offset == offset) return function.symbol;
  }
  return {};
}

std::vector<SharedSymbol> ProgramSymbols::reachable_from(const void* kernel) const {
  const std::string symbol = kernel_symbol(kernel);
  // An array's symbol is _Z Z <its function> E <its name>, a function's is _Z <function>.
  const std::string own = "_ZZ" + (symbol.empty() ? symbol : symbol.substr(2)) + "E";
  std::vector<SharedSymbol> reachable;
  for (const SharedSymbol& array : arrays_) {
    if (!is_of_kernel(array) || symbol.empty() || array.symbol.rfind(own, 0) == 0) {
      reachable.push_back(array);
    }
  }
  return reachable;
}

std::string ProgramSymbols::kernel_name(const void* kernel) const {
  const std::string symbol = kernel_symbol(kernel);
  if (!symbol.empty()) return short_name(symbol);
  return fmt::format("at {}", kernel);
}

char* ProgramSymbols::shared_base() const {
  // Through integers: the result is outside of the anchor.
  const std::uintptr_t base =
      address_sanitizer
          ? load_bias_
          : reinterpret_cast<std::uintptr_t>(&kw_host_simt_thread_anchor) - anchor_offset_;
  return reinterpret_cast<char*>(base);  // NOLINT(performance-no-int-to-ptr)
}

std::vector<SharedArray> shared_arrays(const void* kernel) {
  std::vector<SharedArray> arrays;
  for (const SharedSymbol& symbol : ProgramSymbols::instance().reachable_from(kernel)) {
    arrays.push_back({short_name(symbol.symbol), symbol.offset, symbol.bytes});
  }
  return arrays;
}

std::string poison_obstacle() {
  if (ProgramSymbols::instance().found()) return {};
  return "the program has no symbol table, so static __shared__ arrays are not filled with NaN "
         "before each block and kernels have no names in messages: build it without -s and do not "
         "strip it";
}

}  // namespace kw::host_simt
