// kernelwright-mpi: kernelwright whose `bench distributed` has its ranks where MPI started them, on
// one node or several: mpirun -n 4 kernelwright-mpi bench distributed --grid 2x2 --shape 16384.
#include <cstdio>

#include "commands/bench_distributed.hpp"
#include "kernelwright/mpi.hpp"
#include "program.hpp"

namespace {

int rank_on_host() {
  MPI_Comm host = MPI_COMM_NULL;
  int rank = 0;
  (void)MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  (void)MPI_Comm_rank(host, &rank);
  (void)MPI_Comm_free(&host);
  return rank;
}

kw::Group join(const kw::DistributedChoice& options, const kw::Grid& grid, bool is_cpu,
               const kw::GroupOptions& waits) {
  const int pretended = options.node_ranks;
  const std::string node =
      pretended > 0 ? "pretended-" + std::to_string(kw::started_rank().rank / pretended) : "";
  const int ordinal = options.ordinal < 0 ? rank_on_host() : options.ordinal;
  return is_cpu ? kw::join_mpi_cpu(grid, MPI_COMM_WORLD, waits, node)
                : kw::join_mpi_gpu(grid, MPI_COMM_WORLD, ordinal, waits, node);
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 0;
  // A rank calls from a thread of its own, one at a time.
  if (MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &threads) != MPI_SUCCESS ||
      threads < MPI_THREAD_SERIALIZED) {
    std::fputs("kernelwright-mpi: MPI has no MPI_THREAD_SERIALIZED\n", stderr);
    return kw::exit_failed;
  }
  kw::StartedRank& started = kw::started_rank();
  (void)MPI_Comm_rank(MPI_COMM_WORLD, &started.rank);
  started.join = join;
  const int exit_code = kw::run_program(argc, argv);
  // After a failure others may not come to the end.
  if (exit_code != kw::exit_fine && exit_code != kw::exit_not_verified) {
    (void)MPI_Abort(MPI_COMM_WORLD, exit_code);
  }
  (void)MPI_Finalize();
  return exit_code;
}
