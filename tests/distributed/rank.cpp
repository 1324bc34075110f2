// One rank as a process of its own: kw_rank P Q RANK NAME LIMIT [WHAT]. Joins the group, computes
// its part of odd_problem and writes it to standard output, or the error that it gets.
// WHAT: "die" kills the process before its third step, "vanish" a moment after it has joined,
// "leave" ends the group before the product.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "distributed/problems.hpp"

namespace {

int run(const kw::Grid& grid, int rank, const std::string& name, double limit_s,
        const std::string& what) {
  kw::Group group = kw::Group::join_cpu(grid, rank, name, {limit_s});
  if (what == "leave") return 0;
  if (what == "vanish") {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    (void)std::raise(SIGKILL);
  }
  if (what == "die") {
    kw::detail::GroupAccess::state(group).before_step = [](int, int step) {
      if (step == 2) (void)std::raise(SIGKILL);
      return kw::Status::success();
    };
  }
  kw::test::DistributedProblem p = kw::test::odd_problem(grid);
  // What other ranks hold is theirs alone.
  for (kw::test::Dealing* matrix : {&p.a, &p.b, &p.c}) {
    for (std::size_t other = 0; other < matrix->parts.size(); ++other) {
      if (other != static_cast<std::size_t>(rank)) matrix->parts[other].clear();
    }
  }
  const kw::detail::DistributedCall c = kw::test::call_of(p, rank);
  kw::sgemm_distributed(group, rank, c.alpha, c.a, c.b, c.beta, c.c, c.options);
  group.synchronize(rank);
  const std::vector<float>& part = p.c.parts[static_cast<std::size_t>(rank)];
  std::fwrite(part.data(), sizeof(float), part.size(), stdout);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  try {
    return run({std::atoi(argv[1]), std::atoi(argv[2])}, std::atoi(argv[3]), argv[4],
               std::atof(argv[5]), argc > 6 ? argv[6] : "");
  } catch (const kw::Error& error) {
    std::printf("%d %s: %s\n", static_cast<int>(error.code()), error.argument().c_str(),
                error.what());
    return 1;
  }
}
