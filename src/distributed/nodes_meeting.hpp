// The meeting of ranks that span nodes, over a transport: rank 0 collects what they pass on and
// sends all of it along a tree. A rank that fails sends all others a notice. Those of one node also
// share a file, in which each learns of the other processes' end.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "distributed/nodes.hpp"
#include "distributed/process_meeting.hpp"
#include "kernelwright/transport.hpp"

namespace kw::distributed {

class NodesMeeting final : public Meeting {
 public:
  NodesMeeting(std::unique_ptr<Transport> transport, double limit_s);
  ~NodesMeeting() override;

  Status exchange(int rank, const void* own, std::size_t bytes, void* all) override;
  void abort(int rank, const Status& why) override;
  // Also looks for notices, and whether the node's other processes live.
  Status failure(int rank) override;

  // Once it is known who shares the node. Its ranks stand in ascending order in its own meeting.
  void join_node(Nodes nodes, std::unique_ptr<ProcessMeeting> node);
  const Transport& transport() const { return *transport_; }
  ProcessMeeting* node() { return node_.get(); }
  // A rank's place among those of its node.
  int place_in_node(int rank) const { return nodes_.place(rank); }

  // Of data, as Transport has them; what that throws is returned.
  Status send(int to, const void* data, std::size_t bytes, int* request);
  Status receive(int from, void* data, std::size_t bytes, int* request);
  Status is_done(int request, bool* done);
  bool cancel(int request) { return transport_->cancel(request); }
  // Returns once `is_over` says so, a failure is known, or nothing has `moved` for as long as the
  // limit, which `late` then says the reason of.
  Status wait(int rank, const std::function<Status(bool* is_over, bool* moved)>& look,
              const std::function<Status()>& late, double grace_s = 0);

 private:
  enum Channel { meetings = 0, data = 1, notices = 2 };
  struct Notice {
    int rank;  // or somebody_late
    int code;
    char argument[64];
    char message[952];
  };

  template <class Work>
  Status guarded(const Work& work);
  Status collect(std::size_t bytes);
  Status pass_on(int rank, std::size_t bytes);
  Status wait_for_all(int rank, const std::function<Status()>& late, double grace_s);
  bool cancel_pending();
  void learn(int rank, const Status& why);
  void tell_others(int rank, const Status& why);
  Status known(int rank) const;

  std::unique_ptr<Transport> transport_;
  Nodes nodes_;
  std::unique_ptr<ProcessMeeting> node_;
  // Of all ranks, in one meeting.
  std::unique_ptr<std::vector<unsigned char>> messages_ =
      std::make_unique<std::vector<unsigned char>>();
  struct Pending {
    int request, rank;
  };
  std::vector<Pending> pending_;
  std::unique_ptr<Notice> told_;
  std::vector<int> tellings_;
  int failed_rank_ = nobody;
  Status why_;
};

}  // namespace kw::distributed
