// The process-wide options and their environment variables.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <thread>

#include "host_simt/host_simt.hpp"

namespace kw::host_simt {
namespace {

struct Settings {
  Options options;
  Status status;
};

// Reads variable `name` with `parse(text) -> bool`; a value that it refuses becomes the status.
template <class Parse>
void read(Settings& settings, const char* name, const char* expected, Parse parse) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0' || parse(std::string_view(text))) return;
  settings.status =
      Status::failure(StatusCode::invalid_argument,
                      fmt::format("environment variable {} is \"{}\": set it to {} or unset it",
                                  name, text, expected),
                      name);
}

template <class Number>
bool parse_number(std::string_view text, Number* number) {
  const char* end = text.data() + text.size();
  Number value{};
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return false;
  *number = value;
  return true;
}

Settings from_environment() {
  Settings settings;
  Options& o = settings.options;
  read(settings, "KW_HOST_SIMT_WARP_SIZE", "32 or 64", [&](std::string_view text) {
    return parse_number(text, &o.warp_size) && (o.warp_size == 32 || o.warp_size == 64);
  });
  read(settings, "KW_HOST_SIMT_ORDER", "forward, reverse or random",
       [&](std::string_view text) { return parse_order(text, &o.order); });
  read(settings, "KW_HOST_SIMT_SEED", "a whole number from 0 on",
       [&](std::string_view text) { return parse_number(text, &o.seed); });
  const auto read_switch = [&](const char* name, bool* on) {
    read(settings, name, "0 or 1", [&](std::string_view text) {
      *on = text == "1";
      return text == "0" || text == "1";
    });
  };
  read_switch("KW_HOST_SIMT_POISON", &o.poison);
  read_switch("KW_HOST_SIMT_FENCES", &o.fences);
  read(settings, "KW_HOST_SIMT_WORKERS", "a number from 1 to 1024", [&](std::string_view text) {
    return parse_number(text, &o.workers) && o.workers >= 1 && o.workers <= 1024;
  });
  return settings;
}

Settings& settings() {
  static Settings settings = from_environment();
  return settings;
}

}  // namespace

const char* to_string(Order order) {
  switch (order) {
    case Order::forward: return "forward";
    case Order::reverse: return "reverse";
    case Order::random: return "random";
  }
  return "unknown";
}

bool parse_order(std::string_view name, Order* order) {
  for (const Order candidate : {Order::forward, Order::reverse, Order::random}) {
    if (name != to_string(candidate)) continue;
    *order = candidate;
    return true;
  }
  return false;
}

Options& options() { return settings().options; }

Status environment_status() { return settings().status; }

int worker_count(const Options& options) {
  if (address_sanitizer) return 1;  // __shared__ arrays are not thread-local then
  if (options.workers > 0) return options.workers;
  constexpr unsigned most = 16;
  const unsigned hardware = std::thread::hardware_concurrency();
  return static_cast<int>(std::clamp(hardware, 1u, most));
}

}  // namespace kw::host_simt
