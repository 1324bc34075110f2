// Places in shared memory, a word that processes wait for, and locks that end with a process.
#include "distributed/process_meeting.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <thread>

#include "distributed/shared_file.hpp"
#include "text.hpp"

namespace kw::distributed {

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* folder = "/dev/shm/";
constexpr std::chrono::milliseconds between_looks{10};  // at who lives, and at the clock

// Between processes. Returns when the word may have changed, and after `between_looks` at the
// latest.
void wait_while(std::atomic<unsigned>& word, unsigned value) {
  const timespec most{0, std::chrono::nanoseconds(between_looks).count()};
  (void)syscall(SYS_futex, reinterpret_cast<unsigned*>(&word), FUTEX_WAIT, value, &most, nullptr,
                0);
}

void wake_all(std::atomic<unsigned>& word) {
  (void)syscall(SYS_futex, reinterpret_cast<unsigned*>(&word), FUTEX_WAKE, INT_MAX, nullptr,
                nullptr, 0);
}

// Of an open file, not of a process: also between files that one process opened.
struct flock byte_of(int rank) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = rank;
  lock.l_len = 1;
  return lock;
}

bool lock_byte(int file, int rank) {
  struct flock lock = byte_of(rank);
  return fcntl(file, F_OFD_SETLK, &lock) == 0;
}

// By another open file. True where that cannot be told.
bool is_byte_locked(int file, int rank) {
  struct flock lock = byte_of(rank);
  return fcntl(file, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

Status file_error(const char* what, const std::string& path) {
  const int error = errno;
  return Status::failure(StatusCode::internal_error,
                         text("cannot ", what, " ", path, ": ", std::strerror(error)));
}

Status check_name(const std::string& name) {
  constexpr std::string_view letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  if (!name.empty() && name.size() <= 200 && name.find_first_not_of(letters) == std::string::npos) {
    return Status::success();
  }
  return Status::failure(
      StatusCode::invalid_argument,
      text("name is \"", escaped(name), "\": pass 1 to 200 letters, digits, '.', '_' or '-'"),
      "name");
}

}  // namespace

ProcessMeeting::ProcessMeeting(std::string path, int ranks, int rank, double limit_s,
                               std::size_t room)
    : Meeting(ranks, limit_s),
      path_(std::move(path)),
      rank_(rank),
      room_(room),
      bytes_(SharedFile::size(ranks, room)) {}

ProcessMeeting::~ProcessMeeting() {
  if (shared_ != nullptr) {
    SharedFile::Place& own = shared_->place(rank_);
    const bool is_forked = own.process.load() != getpid();
    // The thread that watches is the parent's.
    if (is_forked) (void)watch_.release();
    watch_ = nullptr;
    if (!is_forked) {
      own.presence.store(static_cast<int>(Presence::left), std::memory_order_release);
      wake_all(shared_->turn);
    }
    if (!keeps_memory_) (void)munmap(shared_, bytes_);
  }
  forget_name();
  if (file_ >= 0) (void)close(file_);
}

void ProcessMeeting::all_have_come() {
  forget_name();
  watch_ = std::make_unique<Watch>([this] { look(); }, between_looks);
}

void ProcessMeeting::look() {
  find_dead();
  if (shared_->has_failed.load(std::memory_order_acquire) == 0) return;
  // Again and again, since streams of ranks that live still set theirs to the calls before.
  for (int rank = 0; rank < ranks(); ++rank) {
    SharedFile::Place& its = shared_->place(rank);
    for (Counter& signal : its.signals) signal.store(its.calls.load() + past_all_calls);
  }
}

unsigned ProcessMeeting::begin_call() { return ++shared_->place(rank_).calls; }

Counter& ProcessMeeting::signal(int rank, Signal which) {
  return shared_->place(rank).signals[static_cast<int>(which)];
}

unsigned char* ProcessMeeting::room(int rank) { return shared_->room(rank, room_); }

std::atomic<int>& ProcessMeeting::landed(int rank) { return shared_->place(rank).landed; }

std::atomic<int>& ProcessMeeting::readers_left(int rank, int slot) {
  return shared_->place(rank).readers_left[slot];
}

int ProcessMeeting::number(int rank) const {
  return numbers_.empty() ? rank : numbers_[static_cast<std::size_t>(rank)];
}

void ProcessMeeting::forget_name() {
  if (has_name_) (void)unlink(path_.c_str());
  has_name_ = false;
}

Status ProcessMeeting::join(const std::string& name, int ranks, int rank, double limit_s,
                            std::unique_ptr<ProcessMeeting>* meeting, std::size_t room) {
  Status status = check_name(name);
  if (!status.ok()) return status;
  const std::string path = text(folder, "kernelwright-", getuid(), "-", name);
  std::unique_ptr<ProcessMeeting> joined(new ProcessMeeting(path, ranks, rank, limit_s, room));
  status = rank == 0 ? joined->create() : joined->open();
  if (status.ok()) *meeting = std::move(joined);
  return status;
}

Status ProcessMeeting::map(int file) {
  void* data = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (data == MAP_FAILED) return file_error("map", path_);
  shared_ = static_cast<SharedFile*>(data);
  return Status::success();
}

// Under a name of its own first, so that whoever finds the file finds it whole.
Status ProcessMeeting::create() {
  const std::string draft = text(path_, ".", getpid(), ".draft");
  file_ = ::open(draft.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file_ < 0) return file_error("create", draft);
  Status status;
  // A file with rooms takes its memory now: where there is none, later writes would be fatal.
  const auto length = static_cast<off_t>(bytes_);
  errno = room_ > 0 ? posix_fallocate(file_, 0, length) : 0;
  if (errno != 0 || ftruncate(file_, length) != 0) {
    status = file_error(text("have ", bytes_, " bytes of shared memory in").c_str(), draft);
  }
  if (status.ok()) status = map(file_);
  if (status.ok() && !lock_byte(file_, rank_)) status = file_error("lock", draft);
  if (status.ok()) {
    SharedFile::Place& own = shared_->place(rank_);
    shared_->ranks = ranks();
    own.process.store(getpid());
    own.presence.store(static_cast<int>(Presence::here));
    shared_->magic.store(SharedFile::current_magic, std::memory_order_release);
  }
  // A file of that name whose rank 0 lives is of a group that is about to meet.
  const auto end = Clock::now() + std::chrono::duration<double>(limit_s());
  while (status.ok()) {
    const int other = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
    const bool is_in_use = other >= 0 && is_byte_locked(other, 0);
    if (other >= 0) (void)close(other);
    if (!is_in_use) break;
    if (Clock::now() > end) {
      status = rank_failure(text("another group of the name ", path_,
                                 " waits for its ranks: pass a name of its own to each"));
    }
    std::this_thread::sleep_for(between_looks);
  }
  if (status.ok() && std::rename(draft.c_str(), path_.c_str()) != 0) {
    status = file_error("rename", draft);
  }
  has_name_ = status.ok();
  if (!has_name_) (void)unlink(draft.c_str());
  return status;
}

// What a process that is gone has left behind, or a group whose ranks have all come, is not what
// this one waits for.
Status ProcessMeeting::try_open(bool* is_open) {
  const int file = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return errno == ENOENT ? Status::success() : file_error("open", path_);
  struct stat facts = {};
  Status status;
  if (fstat(file, &facts) == 0 && facts.st_size >= static_cast<off_t>(sizeof(SharedFile)) &&
      is_byte_locked(file, 0)) {
    const std::size_t wanted = bytes_;
    bytes_ = static_cast<std::size_t>(facts.st_size);
    status = map(file);
    if (status.ok() &&
        shared_->magic.load(std::memory_order_acquire) == SharedFile::current_magic) {
      if (shared_->ranks != ranks() || bytes_ != wanted) {
        status = Status::failure(StatusCode::invalid_argument,
                                 text("grid has ", ranks(), " ranks, but that of rank 0 has ",
                                      shared_->ranks, ": pass the same on all ranks"),
                                 "grid");
      } else if (shared_->presence(rank_) == Presence::not_come && lock_byte(file, rank_)) {
        file_ = file;
        shared_->place(rank_).process.store(getpid());
        shared_->place(rank_).presence.store(static_cast<int>(Presence::here));
        *is_open = true;
        return status;
      }
    }
    if (shared_ != nullptr) (void)munmap(shared_, bytes_);
    shared_ = nullptr;
    bytes_ = wanted;
  }
  (void)close(file);
  return status;
}

Status ProcessMeeting::open() {
  const auto end = Clock::now() + std::chrono::duration<double>(limit_s());
  while (true) {
    bool is_open = false;
    Status status = try_open(&is_open);
    if (is_open || !status.ok()) return status;
    if (Clock::now() > end) {
      return rank_failure(text("rank 0 did not make ", path_, " within ", limit_s(), " s, or rank ",
                               rank_, " is there already: start every rank once, with one name"));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

Status ProcessMeeting::exchange(int rank, const void* own, std::size_t bytes, void* all) {
  Status failed = failure(rank);
  if (!failed.ok()) return failed;
  const unsigned turn = shared_->turn.load(std::memory_order_acquire);
  SharedFile::Place& place = shared_->place(rank);
  if (place.turn.load() == turn + 1) {
    return Status::failure(
        StatusCode::invalid_argument,
        text("rank ", rank, " is called by two threads at a time: call each rank from one"),
        "rank");
  }
  place.bytes[turn % 2] = static_cast<unsigned>(bytes);
  if (bytes > 0) std::memcpy(place.message[turn % 2], own, bytes);
  place.turn.store(turn + 1, std::memory_order_release);
  if (shared_->here.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<unsigned>(ranks())) {
    shared_->here.store(0, std::memory_order_relaxed);
    shared_->turn.store(turn + 1, std::memory_order_release);
    wake_all(shared_->turn);
  } else {
    Status status = wait(turn, rank);
    if (!status.ok()) return status;
  }
  for (int other = 0; other < ranks(); ++other) {
    const SharedFile::Place& its = shared_->place(other);
    if (its.bytes[turn % 2] != bytes) {
      return Status::failure(StatusCode::internal_error, "ranks pass messages of different sizes");
    }
    if (bytes == 0) continue;
    std::memcpy(static_cast<unsigned char*>(all) + bytes * static_cast<std::size_t>(other),
                its.message[turn % 2], bytes);
  }
  return Status::success();
}

// Until the meeting is over.
Status ProcessMeeting::wait(unsigned turn, int rank) {
  const auto end = Clock::now() + std::chrono::duration<double>(limit_s());
  const auto is_over = [&] { return shared_->turn.load(std::memory_order_acquire) != turn; };
  while (!is_over()) {
    wait_while(shared_->turn, turn);
    if (is_over()) break;
    find_left(turn);
    if (Status failed = failure(rank); !failed.ok()) return is_over() ? Status::success() : failed;
    if (Clock::now() <= end) continue;
    std::vector<int> missing;
    for (int other = 0; other < ranks(); ++other) {
      if (shared_->place(other).turn.load() != turn + 1) missing.push_back(other);
    }
    if (!missing.empty()) abort(somebody_late, late_ranks(missing, limit_s()));
  }
  return Status::success();
}

void ProcessMeeting::find_dead() {
  for (int other = 0; other < ranks(); ++other) {
    if (other == rank_ || shared_->presence(other) != Presence::here) continue;
    if (is_byte_locked(file_, other)) continue;
    if (shared_->presence(other) != Presence::here) continue;  // it left between the two
    abort(other,
          rank_failure(text("its process ", shared_->place(other).process.load(), " has ended")));
  }
}

void ProcessMeeting::find_left(unsigned turn) {
  for (int other = 0; other < ranks(); ++other) {
    if (shared_->presence(other) != Presence::left) continue;
    if (shared_->place(other).turn.load() == turn + 1) continue;
    if (shared_->turn.load() != turn) return;
    abort(other, rank_failure("it has left the group"));
  }
}

void ProcessMeeting::abort(int rank, const Status& why) {
  if (shared_->is_claimed.exchange(1) != 0) return;
  shared_->failed_rank = rank;
  shared_->code = static_cast<int>(why.code);
  keep(shared_->argument, sizeof(shared_->argument), why.argument);
  keep(shared_->message, sizeof(shared_->message), why.message);
  shared_->has_failed.store(1, std::memory_order_release);
  wake_all(shared_->turn);
}

Status ProcessMeeting::known_failure(int rank) const {
  if (shared_->has_failed.load(std::memory_order_acquire) == 0) return Status::success();
  if (shared_->failed_rank == rank || shared_->failed_rank == somebody_late) {
    return Status::failure(static_cast<StatusCode>(shared_->code), shared_->message,
                           shared_->argument);
  }
  return rank_failure(text("rank ", number(shared_->failed_rank), " failed: ", shared_->message));
}

Status ProcessMeeting::failure(int rank) {
  Status known = known_failure(rank);
  if (!known.ok()) return known;
  find_dead();
  return known_failure(rank);
}

}  // namespace kw::distributed
