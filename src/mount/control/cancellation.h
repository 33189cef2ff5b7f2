// Tells jobs that wait at sockets to end, at once.
//
// Threads: every function from any thread.
// Failure: make() fails when the process has no descriptor left.
#pragma once

#include <poll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace dedupfs {

class Cancellation {
 public:
  static Result<Cancellation> make() {
    UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!event) return Error::from_errno(errno, "eventfd");
    return Cancellation(std::move(event));
  }

  void cancel() const { ::eventfd_write(event_.get(), 1); }
  bool is_cancelled() const {
    pollfd polled{event_.get(), POLLIN, 0};
    return ::poll(&polled, 1, 0) > 0;
  }
  // For poll(2): has input from cancel() on, for ever.
  int descriptor() const { return event_.get(); }

 private:
  explicit Cancellation(UniqueFd event) : event_(std::move(event)) {}
  UniqueFd event_;
};

}  // namespace dedupfs
