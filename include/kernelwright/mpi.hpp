// Groups whose ranks are those of an MPI communicator, on one node or several. Header-only, so that
// it is compiled with the program's own MPI, whichever that is; the library itself links none.
//
//   MPI_Init_thread(..., MPI_THREAD_SERIALIZED, ...);
//   kw::Group group = kw::join_mpi_gpu({4, 4}, MPI_COMM_WORLD, local_gpu);
//   kw::sgemm_distributed(group, rank, 1.0f, a_part, b_part, 0.0f, c_part);
//   group.synchronize(rank);
//
// Threads   One thread at a time calls MPI and the group: MPI_THREAD_FUNNELED where that is the one
//           that initialised MPI, else MPI_THREAD_SERIALIZED.
// Errors    MPI's errors are returned, not fatal, on the group's own communicator. MPI's launcher
//           may end all processes of a job where one is killed (Open MPI's does, unless it is told
//           otherwise); then there is nobody left to get an error.
// End       The group is destroyed before MPI_Finalize. A group that has failed leaves its
//           communicator and the memory of messages that never went to the process's end.
#pragma once

#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "kernelwright/distributed.hpp"
#include "kernelwright/transport.hpp"

namespace kw {

/// The ranks of a communicator, by a copy of it. Collective over it.
class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(MPI_Comm comm) {
    check(MPI_Comm_dup(comm, &comm_), "MPI_Comm_dup");
    (void)MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(comm_, &ranks_), "MPI_Comm_size");
  }
  ~MpiTransport() override {
    int is_over = 0;
    (void)MPI_Finalized(&is_over);
    // A message that nobody received would come to the next communicator of its number.
    if (is_over == 0 && !is_abandoned_) (void)MPI_Comm_free(&comm_);
  }

  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }

  int send(int to, int channel, const void* data, std::size_t bytes) override {
    const int number = free_number();
    check(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, channel, comm_, &at(number)),
          "MPI_Isend");
    return number;
  }
  int receive(int from, int channel, void* data, std::size_t bytes) override {
    const int number = free_number();
    check(MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, from, channel, comm_, &at(number)),
          "MPI_Irecv");
    return number;
  }
  bool is_done(int request) override {
    int done = 0;
    check(MPI_Test(&at(request), &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
  }
  // Of a send MPI promises nothing before it is over.
  bool cancel(int request) noexcept override {
    MPI_Request& its = at(request);
    if (its == MPI_REQUEST_NULL) return true;
    int done = 0;
    (void)MPI_Cancel(&its);
    return MPI_Test(&its, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done != 0;
  }
  bool take_any(int channel, void* data, std::size_t bytes) override {
    int has_come = 0;
    MPI_Status status;
    check(MPI_Iprobe(MPI_ANY_SOURCE, channel, comm_, &has_come, &status), "MPI_Iprobe");
    if (has_come == 0) return false;
    check(MPI_Recv(data, static_cast<int>(bytes), MPI_BYTE, status.MPI_SOURCE, channel, comm_,
                   MPI_STATUS_IGNORE),
          "MPI_Recv");
    return true;
  }
  void abandon() noexcept override { is_abandoned_ = true; }

 private:
  static void check(int error, const char* function) {
    if (error == MPI_SUCCESS) return;
    char words[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    (void)MPI_Error_string(error, words, &length);
    throw Error(StatusCode::device_error, "", std::string(function) + ": " + words);
  }
  MPI_Request& at(int number) { return requests_[static_cast<std::size_t>(number)]; }
  int free_number() {
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i] == MPI_REQUEST_NULL) return static_cast<int>(i);
    }
    requests_.push_back(MPI_REQUEST_NULL);
    return static_cast<int>(requests_.size()) - 1;
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, ranks_ = 1;
  bool is_abandoned_ = false;
  std::vector<MPI_Request> requests_;
};

/// This process computes as its rank of `comm`, on its CPU or on one GPU. Collective over `comm`,
/// which has as many ranks as the grid. `node`: see Group::join_cpu.
inline Group join_mpi_cpu(const Grid& grid, MPI_Comm comm, const GroupOptions& options = {},
                          const std::string& node = {}) {
  return Group::join_cpu(grid, std::make_unique<MpiTransport>(comm), options, node);
}
inline Group join_mpi_gpu(const Grid& grid, MPI_Comm comm, int ordinal,
                          const GroupOptions& options = {}, const std::string& node = {}) {
  return Group::join_gpu(grid, std::make_unique<MpiTransport>(comm), ordinal, options, node);
}

}  // namespace kw
