// One single-precision product over several devices, of one host or of several.
//
// C = alpha * op(A) * op(B) + beta * C, where each matrix is dealt out in blocks over a grid of
// p x q ranks, as ScaLAPACK has it. A rank is a device with a context: all CPU, or one GPU each.
// All ranks belong to one process (`Group::cpu`, `Group::gpus`), or each to a process of its own
// (`Group::join_cpu`, `Group::join_gpu`), as MPI and torchrun start them. Ranks that span nodes
// reach each other by a transport: MPI's is kernelwright/mpi.hpp.
//
// Method     Stationary C: each rank computes its own part of C, in panels of k. The parts of A and
//            B that other ranks hold are copied into one of two buffers while the rank multiplies
//            the panel before; what it holds itself comes first. On GPUs the copies go from peer to
//            peer, by copy engines, on a stream of their own. After van de Geijn and Watts, SUMMA
//            (1997).
// Nodes      What comes from another node goes through host memory, by the host and copy engines,
//            into memory that all ranks of the node reach: once a node, however many of its ranks
//            need it. A call then returns when all that its rank sends has gone.
// Call       Every rank calls `sgemm_distributed`, each from a thread or a process of its own; the
//            overload without a rank starts these threads. The ranks wait for each other twice in a
//            call, on the host; not for the devices.
// Order      A call takes its place on each rank's stream: it begins after what is there on the
//            streams of all ranks, and what follows on a rank's stream may overwrite that rank's
//            parts. Results are there after `Group::synchronize`, or in the stream's own order.
// Same bits  The same call over the same grid on the same devices gives the same bits. Another grid
//            or panel_k adds up in another order.
// Errors     kw::Error. What is wrong with an argument is found before anything is copied, on all
//            ranks alike: invalid_argument, with the rank and the numbers. device_error with the
//            argument "rank" where another rank failed, or did not come within the group's time
//            limit. After a failure other than invalid_argument, parts of C may have been written
//            and the group is of no more use: its calls fail at once. Nothing waits longer than the
//            time limit. Of a process that ends, by whatever, the others learn within a tenth of a
//            second; a thread of each looks. What was put on their GPUs' streams then runs to its
//            end, without waiting for the rank that is gone and with whatever is in its place, so
//            streams, memory and device stay of use; C's parts are not.
// Memory     Each rank keeps up to two buffers for A and two for B, as large as the largest panel
// so
//            far, until the group ends. Between processes, GPUs read the parts of A and B where
//            they lie: memory of cudaMalloc or hipMalloc, or within it, which all ranks have opened
//            until `Group::close_memory`. Opening takes some 20 ms a GiB, once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernelwright/context.hpp"
#include "kernelwright/export.h"
#include "kernelwright/math.hpp"
#include "kernelwright/matrix.hpp"
#include "kernelwright/status.hpp"
#include "kernelwright/transport.hpp"

namespace kw {

/// p x q ranks. Rank r is in row r / q and column r % q.
struct Grid {
  int p = 1;
  int q = 1;

  int ranks() const { return p * q; }
  int row(int rank) const { return rank / q; }
  int col(int rank) const { return rank % q; }
  int rank(int row, int col) const { return row * q + col; }
};

/// How a matrix, as it is stored, is dealt out: block (i, j) of block_rows x block_cols elements
/// belongs to the rank in row (i + first_row) % p and column (j + first_col) % q. A rank's blocks
/// lie together as one matrix, in the order that they have in the whole.
struct Distribution {
  std::int64_t rows = 0, cols = 0;              ///< of the whole matrix
  std::int64_t block_rows = 0, block_cols = 0;  ///< 1 or more; blocks at the edge may be smaller
  int first_row = 0, first_col = 0;             ///< where block (0, 0) lies in the grid
};

/// One block a rank, all of one size but those at the edges.
KW_API Distribution block_distribution(std::int64_t rows, std::int64_t cols, const Grid& grid);
/// Rows and columns of a rank's own part.
KW_API std::int64_t local_rows(const Distribution& matrix, const Grid& grid, int rank);
KW_API std::int64_t local_cols(const Distribution& matrix, const Grid& grid, int rank);

/// A distributed matrix, as one rank passes it. `data` and `ld` are of that rank's own part, in the
/// memory of its device.
template <class T>
struct DistributedMatrix {
  Distribution whole;
  T* data = nullptr;
  std::int64_t ld = 0;
  Layout layout = Layout::row_major;  ///< of the rank's part; the same on all ranks
  Op op = Op::none;
};

/// What a ScaLAPACK array descriptor says: DTYPE_, CTXT_, M_, N_, MB_, NB_, RSRC_, CSRC_, LLD_. For
/// a BLACS grid of row-major order, in which rank r has the place that `Grid` gives it; the context
/// is not looked at. invalid_argument where DTYPE_ is not 1, a dense matrix.
KW_API Distribution scalapack_distribution(const int (&descriptor)[9]);

/// A rank's part of that matrix, stored by columns as ScaLAPACK has it. Whole matrices, not parts
/// of them (IA = JA = 1).
template <class T>
DistributedMatrix<T> scalapack_matrix(const int (&descriptor)[9], T* data, Op op = Op::none) {
  return {scalapack_distribution(descriptor), data, descriptor[8], Layout::col_major, op};
}

struct GroupOptions {
  double time_limit_s =
      60;  ///< how long a rank waits for the others, and `synchronize` for its own
};

namespace detail {
class GroupState;
struct GroupAccess;
}  // namespace detail

/// Ranks that compute together: those of this process, or one rank of it and those of others.
class KW_API Group {
 public:
  /// Every rank computes on this machine's CPU: for tests, and for programs that have no GPU.
  static Group cpu(const Grid& grid, const GroupOptions& options = {});
  /// Rank r computes on GPU ordinals[r], or on GPU r where none are given. no_device where one is
  /// not there; invalid_argument where one is named twice.
  static Group gpus(const Grid& grid, const std::vector<int>& ordinals = {},
                    const GroupOptions& options = {});

  /// This process computes as `rank`, on its CPU or on one GPU, in a group of as many processes of
  /// this host and user. They find each other by `name`, in /dev/shm: 1 to 200 letters, digits,
  /// '.', '_' or '-', the same for all ranks and for no other group at that time. Returns when all
  /// ranks have come; device_error with the argument "rank" where one does not within the time
  /// limit. GPUs must be able to read each other's memory, as those of one host with NVLink or PCIe
  /// peer access are. Its functions take this process's rank alone. On CPUs a rank's calls let the
  /// processes of its user read its memory from then on, where the system allows only some to
  /// (Linux: PR_SET_PTRACER).
  static Group join_cpu(const Grid& grid, int rank, const std::string& name,
                        const GroupOptions& options = {});
  static Group join_gpu(const Grid& grid, int rank, const std::string& name, int ordinal,
                        const GroupOptions& options = {});

  /// This process computes as the rank that `transport` says, in a group that may span nodes. Ranks
  /// that say the same `node`, by default their host's name, share one: they meet in its /dev/shm,
  /// where each takes 32 MiB if there are several nodes, and must be a rectangle of the grid
  /// (invalid_argument otherwise, with the ranks). device_error with the argument "rank" where one
  /// does not come within the time limit, which ranks other than 0 notice a quarter of a second
  /// later. A process that ends is noticed at once on its own node, which tells the others; a whole
  /// node that ends, by an error of the transport or at the time limit. The group calls the
  /// transport from the threads that call the group, `abort` and the group's end included.
  static Group join_cpu(const Grid& grid, std::unique_ptr<Transport> transport,
                        const GroupOptions& options = {}, const std::string& node = {});
  static Group join_gpu(const Grid& grid, std::unique_ptr<Transport> transport, int ordinal,
                        const GroupOptions& options = {}, const std::string& node = {});

  Group(Group&& other) noexcept;
  Group& operator=(Group&& other) noexcept;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group();

  const Grid& grid() const;
  /// The rank's context: its stream orders distributed calls among others.
  Context& context(int rank);

  /// Waits until the rank's work is done, no longer than the time limit.
  void synchronize(int rank);
  /// Closes the memory of other processes that calls have opened. Before memory that calls have
  /// read is freed, every rank calls `synchronize`, then this. Does nothing where all ranks are of
  /// this process.
  void close_memory(int rank);
  /// The group is of no more use: all ranks that wait, and all later calls, fail with this
  /// reason. For a program whose rank fails outside of a call. May be called by any thread, but
  /// where there is a transport.
  void abort(int rank, const std::string& reason);

 private:
  friend struct detail::GroupAccess;
  explicit Group(std::unique_ptr<detail::GroupState> state) noexcept;

  std::unique_ptr<detail::GroupState> state_;
};

struct DistributedOptions {
  Math math = Math::fp32;
  /// The most of k that is copied at a time; 0: as much as keeps a rank's buffers within 8 GiB, and
  /// no more than 16384.
  std::int64_t panel_k = 0;
};

/// The part of `rank`, which calls from a thread of its own. All ranks pass the same alpha, beta,
/// distributions, layouts, ops and options.
KW_API void sgemm_distributed(Group& group, int rank, float alpha,
                              const DistributedMatrix<const float>& a,
                              const DistributedMatrix<const float>& b, float beta,
                              const DistributedMatrix<float>& c,
                              const DistributedOptions& options = {});

/// All ranks, each in a thread that ends with the call: a, b and c have an entry a rank. For ranks
/// of this process.
KW_API void sgemm_distributed(Group& group, float alpha,
                              const std::vector<DistributedMatrix<const float>>& a,
                              const std::vector<DistributedMatrix<const float>>& b, float beta,
                              const std::vector<DistributedMatrix<float>>& c,
                              const DistributedOptions& options = {});

}  // namespace kw
