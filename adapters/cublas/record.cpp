// Tallies, lines and the two ways out: text for a reader, JSON for `kernelwright run`.
#include "record.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <ctime>
#include <vector>

namespace kw::cublas {

namespace {

__attribute__((format(printf, 1, 2))) std::string format(const char* pattern, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

// Names of devices and kernels, and words of a command line.
std::string quoted(const std::string& text) {
  std::string made = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') made += '\\';
    made += code < 0x20 ? format("\\u%04x", code) : std::string(1, c);
  }
  return made + "\"";
}

// In one go, so that lines of several processes do not mix.
void write_all(int file, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = write(file, text.data() + done, text.size() - done);
    if (wrote <= 0) return;
    done += static_cast<std::size_t>(wrote);
  }
}

std::string command_line() {
  std::string command;
  char buffer[4096];
  const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (file < 0) return command;
  for (ssize_t got; (got = read(file, buffer, sizeof buffer)) > 0;) {
    command.append(buffer, static_cast<std::size_t>(got));
  }
  close(file);
  while (!command.empty() && command.back() == '\0') command.pop_back();
  std::replace(command.begin(), command.end(), '\0', ' ');
  return command;
}

char letter(kwOp_t op) { return op == KW_OP_NONE ? 'n' : op == KW_OP_TRANSPOSE ? 't' : 'c'; }

// What a product does beside multiplying: "source" is a C apart from what is written.
std::string epilogue_of(const Product& p) {
  std::string text;
  const auto add = [&](bool has, const char* word) {
    if (has && !text.empty()) text += '+';
    if (has) text += word;
  };
  add(p.source != nullptr, "source");
  add(p.bias != nullptr, "bias");
  add(p.activation == KW_ACTIVATION_RELU, "relu");
  add(p.activation == KW_ACTIVATION_GELU_TANH, "gelu");
  return text;
}

std::string shape_of(const Product& p) {
  std::string shape = format("%c%c %" PRId64 "x%" PRId64 "x%" PRId64, letter(p.op_a),
                             letter(p.op_b), p.m, p.n, p.k);
  if (p.batch != 1) shape += format(" times %" PRId64, p.batch);
  const std::string epilogue = epilogue_of(p);
  return epilogue.empty() ? shape : shape + " with " + epilogue;
}

double microseconds(const std::atomic<std::uint64_t>& ns) {
  return 1e-3 * static_cast<double>(ns.load(std::memory_order_relaxed));
}

std::string row(const Tally& tally) {
  const bool taken = tally.reason == Reason::none;
  std::string made = "{\"symbol\":" + quoted(row_of(tally.symbol).name);
  made += format(",\"op_a\":\"%c\",\"op_b\":\"%c\",\"m\":%" PRId64 ",\"n\":%" PRId64
                 ",\"k\":%" PRId64 ",\"batch\":%" PRId64,
                 tally.op_a, tally.op_b, tally.m, tally.n, tally.k, tally.batch);
  made += ",\"epilogue\":" + quoted(tally.epilogue);
  made += format(",\"pedantic\":%s,\"taken\":%s", tally.pedantic ? "true" : "false",
                 taken ? "true" : "false");
  made += ",\"math\":" + quoted(name_of(tally.outlook.math));
  made += ",\"kernel\":" + quoted(tally.outlook.kernel);
  made += ",\"reason\":" + quoted(text_of(tally.reason));
  made += format(",\"calls\":%" PRIu64 ",\"captured\":%" PRIu64 ",\"host_us\":%.3f",
                 tally.calls.load(), tally.captured.load(), microseconds(tally.host_ns));
  made += format(",\"predicted_us\":%.3f,\"vendor_predicted_us\":%.3f", tally.outlook.time_us,
                 tally.outlook.vendor_time_us);
  made += format(",\"verified\":%" PRIu64 ",\"error\":%.3f,\"vendor_error\":%.3f}",
                 tally.verified.load(), 1e-3 * static_cast<double>(tally.worst.load()),
                 1e-3 * static_cast<double>(tally.vendor_worst.load()));
  return made;
}

}  // namespace

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{1000000000} * now.tv_sec + now.tv_nsec;
}

Record::Key Record::key_of(const Call& call, Reason reason, bool shared) {
  const auto kind = static_cast<std::int64_t>(call.symbol) << 8 | static_cast<std::int64_t>(reason);
  if (shared) return {kind, 0, 0, 0, 0, -1};
  const Product& p = call.product;
  const std::int64_t flags =
      epilogue_kind(p) << 6 | call.pedantic << 5 | p.layout << 4 | p.op_a << 2 | p.op_b;
  return {kind, p.m, p.n, p.k, p.batch, flags};
}

Tally& Record::tally(const Call& call, Reason reason, const Outlook& outlook) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto found = by_key_.find(key_of(call, reason, false));
  if (found != by_key_.end()) return *found->second;
  const bool shared = tallies_.size() >= most_shapes;
  const Key key = key_of(call, reason, shared);
  found = by_key_.find(key);
  if (found != by_key_.end()) return *found->second;
  Tally& made = tallies_.emplace_back();
  made.symbol = call.symbol;
  made.reason = reason;
  if (!shared) {
    const Product& p = call.product;
    made.pedantic = call.pedantic;
    made.op_a = letter(p.op_a);
    made.op_b = letter(p.op_b);
    made.m = p.m;
    made.n = p.n;
    made.k = p.k;
    made.batch = p.batch;
    made.epilogue = epilogue_of(p);
    made.outlook = outlook;
  }
  by_key_.emplace(key, &made);
  return made;
}

void Record::set_device(const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  device_ = name;
}

void Record::line(LogLevel level, const std::string& text) {
  if (policy_.log < level) return;
  const std::string whole = "kernelwright_cublas: " + text + "\n";
  if (policy_.log_file.empty()) {
    write_all(STDERR_FILENO, whole);
    return;
  }
  const int file = open(policy_.log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  write_all(file < 0 ? STDERR_FILENO : file, whole);
  if (file >= 0) close(file);
}

void Record::warn_once(const std::string& topic, const std::string& text) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!warned_.emplace(topic, true).second) return;
  }
  line(LogLevel::warnings, text);
}

void Record::call_line(const Call& call, Reason reason, const Outlook& outlook, bool captured,
                       double host_us) {
  const std::string how =
      reason == Reason::none
          ? std::string("taken, ") + name_of(outlook.math) + " by " + outlook.kernel
          : std::string("to ") + vendor_name(call.symbol) + ": " + text_of(reason);
  line(LogLevel::calls, std::string(row_of(call.symbol).name) + " " + shape_of(call.product) +
                            ", " + how + format(", %.1f us of host time", host_us) +
                            (captured ? ", captured" : ""));
}

std::string Record::json() {
  std::string made = "{\"schema\":1,\"pid\":" + std::to_string(getpid());
  made += ",\"command\":" + quoted(command_line());
  made += ",\"device\":" + quoted(device_) + ",\"calls\":[";
  bool first = true;
  for (const Tally& tally : tallies_) {
    if (tally.calls.load() == 0) continue;
    made += (first ? "\n" : ",\n") + row(tally);
    first = false;
  }
  return made + "\n]}\n";
}

// Under another name first: who reads sees a whole file.
void Record::write_file(bool now) {
  constexpr std::int64_t between = 2000000000;
  if (policy_.record_folder.empty()) return;
  std::int64_t before = written_ns_.load();
  const std::int64_t at = now_ns();
  if (!now && at - before < between) return;
  if (!written_ns_.compare_exchange_strong(before, at)) return;  // another thread writes
  const std::lock_guard<std::mutex> lock(mutex_);
  if (tallies_.empty()) return;
  const std::string path = policy_.record_folder + "/" + std::to_string(getpid()) + ".json";
  const int file = open((path + ".part").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return;
  write_all(file, json());
  close(file);
  static_cast<void>(std::rename((path + ".part").c_str(), path.c_str()));
}

void Record::write_summary() {
  if (policy_.log < LogLevel::summary) return;
  std::uint64_t taken = 0, forwarded = 0;
  double gained_us = 0;
  std::uint64_t by_reason[reason_count] = {};
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const Tally& tally : tallies_) {
      const std::uint64_t calls = tally.calls.load();
      by_reason[static_cast<std::size_t>(tally.reason)] += calls;
      (tally.reason == Reason::none ? taken : forwarded) += calls;
      if (tally.reason == Reason::none && tally.outlook.vendor_time_us > 0) {
        gained_us +=
            static_cast<double>(calls) * (tally.outlook.vendor_time_us - tally.outlook.time_us);
      }
    }
  }
  if (taken + forwarded == 0) return;
  line(LogLevel::summary,
       format("%" PRIu64 " calls taken, %" PRIu64 " to cuBLAS; about %.3g ms of device time gained",
              taken, forwarded, 1e-3 * gained_us));
  for (std::size_t reason = 1; reason < reason_count; ++reason) {
    if (by_reason[reason] == 0) continue;
    line(LogLevel::summary,
         format("%" PRIu64 " to cuBLAS: %s", by_reason[reason], reason_texts[reason]));
  }
}

}  // namespace kw::cublas
