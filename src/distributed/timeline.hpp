// When the products and the copies of a rank began and ended in one call, for a picture of it.
#pragma once

#include <vector>

#include "gpu/transfer.hpp"

namespace kw::distributed {

class Timeline {
 public:
  enum class Kind { product, copy };
  struct Span {
    Kind kind;
    int step;
    double begin_us, end_us;  // since `start`
  };

  explicit Timeline(Transfer& transfer) : transfer_(transfer) {}
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  Status start(Stream stream);
  Status begin(Kind kind, int step, Stream stream);
  Status end(Stream stream);  // of what began last
  // Once the streams have done all of it.
  Status spans(std::vector<Span>* found);

 private:
  struct Recorded {
    Kind kind;
    int step;
    Event begin, end;
  };
  Status recorded(Event* event, Stream stream);

  Transfer& transfer_;
  Event start_;
  std::vector<Recorded> all_;
  std::vector<Event> events_;
};

}  // namespace kw::distributed
