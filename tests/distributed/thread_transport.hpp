// A transport between threads, for ranks that pretend to be on different nodes. A send is over
// once it has been received, as a large one of MPI is, so that whatever waits in a circle shows.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "kernelwright/transport.hpp"

namespace kw::test {

class ThreadNetwork {
 public:
  explicit ThreadNetwork(int ranks) : ranks_(ranks) {}
  int ranks() const { return ranks_; }

  // How many bytes each rank has sent to each, of data.
  std::map<std::pair<int, int>, std::size_t> sent;
  // A rank whose network is gone: neither sends nor receives.
  std::atomic<int> silent = -1;
  // A rank whose transport throws where it is to send data.
  int broken = -1;

 private:
  friend class ThreadTransport;
  struct Letter {
    std::vector<unsigned char> bytes;
    bool is_taken = false;
  };
  using Box = std::deque<std::shared_ptr<Letter>>;

  std::mutex mutex_;
  const int ranks_;
  std::map<std::tuple<int, int, int>, Box> boxes_;  // from, to, channel
};

class ThreadTransport final : public Transport {
 public:
  ThreadTransport(ThreadNetwork& network, int rank) : network_(network), rank_(rank) {}

  int rank() const override { return rank_; }
  int ranks() const override { return network_.ranks(); }

  int send(int to, int channel, const void* data, std::size_t bytes) override {
    const std::lock_guard<std::mutex> lock(network_.mutex_);
    if (network_.broken == rank_ && channel == 1) throw std::runtime_error("the cable is cut");
    auto letter = std::make_shared<ThreadNetwork::Letter>();
    const auto* const first = static_cast<const unsigned char*>(data);
    letter->bytes.assign(first, first + bytes);
    if (network_.silent != rank_) network_.boxes_[{rank_, to, channel}].push_back(letter);
    if (channel == 1) network_.sent[{rank_, to}] += bytes;
    requests_.push_back({letter, nullptr, 0, {}});
    return static_cast<int>(requests_.size()) - 1;
  }
  int receive(int from, int channel, void* data, std::size_t bytes) override {
    requests_.push_back({nullptr, data, bytes, {from, rank_, channel}});
    order_.push_back(static_cast<int>(requests_.size()) - 1);
    return order_.back();
  }
  bool is_done(int request) override {
    const std::lock_guard<std::mutex> lock(network_.mutex_);
    Request& its = requests_[static_cast<std::size_t>(request)];
    if (its.letter != nullptr) return its.letter->is_taken;
    deliver();
    return its.data == nullptr;
  }
  bool cancel(int request) noexcept override {
    std::erase(order_, request);
    return true;
  }
  bool take_any(int channel, void* data, std::size_t bytes) override {
    const std::lock_guard<std::mutex> lock(network_.mutex_);
    if (network_.silent == rank_) return false;
    for (int from = 0; from < network_.ranks(); ++from) {
      if (take({from, rank_, channel}, data, bytes)) return true;
    }
    return false;
  }
  void abandon() noexcept override {}

 private:
  struct Request {
    std::shared_ptr<ThreadNetwork::Letter> letter;  // of a send
    void* data;                                     // of a receive, until it is over
    std::size_t bytes;
    std::tuple<int, int, int> box;
  };

  bool take(const std::tuple<int, int, int>& box, void* data, std::size_t bytes) {
    ThreadNetwork::Box& letters = network_.boxes_[box];
    if (letters.empty()) return false;
    ThreadNetwork::Letter& letter = *letters.front();
    if (letter.bytes.size() != bytes) throw std::runtime_error("a message of another size");
    std::copy(letter.bytes.begin(), letter.bytes.end(), static_cast<unsigned char*>(data));
    letter.is_taken = true;
    letters.pop_front();
    return true;
  }
  // Receives in the order in which they were begun.
  void deliver() {
    if (network_.silent == rank_) return;
    for (auto number = order_.begin(); number != order_.end();) {
      Request& its = requests_[static_cast<std::size_t>(*number)];
      if (take(its.box, its.data, its.bytes)) {
        its.data = nullptr;
        number = order_.erase(number);
      } else {
        ++number;
      }
    }
  }

  ThreadNetwork& network_;
  const int rank_;
  std::vector<Request> requests_;
  std::deque<int> order_;
};

}  // namespace kw::test
