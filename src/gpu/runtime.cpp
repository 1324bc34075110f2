// What a Runtime does unless a kind of device does better.
#include "gpu/runtime.hpp"

#include <string>

namespace kw {

Status Runtime::capture(const std::function<Status(Stream)>&, Stream, std::unique_ptr<Graph>*) {
  return Status::failure(StatusCode::unsupported,
                         std::string("graphs do not exist on ") + to_string(device().kind));
}

Status Runtime::launch_again(const std::function<Status(Stream)>& work, Stream stream,
                             std::unique_ptr<KeptLaunches>*) {
  return work(stream);
}

}  // namespace kw
